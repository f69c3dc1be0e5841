# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Machines: image, version, flavor, count and boot disk of each group."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import topic

BOOT_VOLUME_SIZE: labels.Label[int | None] = labels.Label(
    name="boot_volume_size",
    type=types.Integer(min=0),
    default=None,
    allowed="a size in GB; 0 boots from the flavor's own disk",
    help="Boot each machine from a Cinder volume of this size. Default: "
    "[cinder] default_boot_volume_size.",
    scope=labels.Scope.NODEGROUP,
    becomes=("machineRootVolume.diskSize",),
)
BOOT_VOLUME_TYPE: labels.Label[str | None] = labels.Label(
    name="boot_volume_type",
    type=types.String(),
    default=None,
    allowed="the name of a Cinder volume type",
    help="Type of the boot volume. Default: "
    "[cinder] default_boot_volume_type.",
    scope=labels.Scope.NODEGROUP,
    becomes=("machineRootVolume.volumeType",),
)


def _machine(group: spec.NodeGroup) -> topic.Values:
    # Each group carries its own image and version, so that one group can
    # be upgraded while another keeps what it has.
    values: topic.Values = {
        "machineFlavor": group.flavor,
        "machineImageId": group.image.id,
        "kubernetesVersion": group.image.kube_version,
    }
    if group.boot_disk.size:
        disk: topic.Values = {"diskSize": group.boot_disk.size}
        if group.boot_disk.type:
            disk["volumeType"] = group.boot_disk.type
        values["machineRootVolume"] = disk
    return values


def _values(cluster: spec.Cluster) -> topic.Values:
    control_plane = cluster.control_plane
    values: topic.Values = {
        "kubernetesVersion": control_plane.image.kube_version,
        "machineImageId": control_plane.image.id,
        "osDistro": control_plane.image.os_distro,
        "controlPlane": {
            **_machine(control_plane),
            "machineCount": control_plane.count,
        },
    }
    if cluster.keypair:
        values["machineSSHKeyName"] = cluster.keypair
    return values


def _group(cluster: spec.Cluster, group: spec.NodeGroup) -> topic.Values:
    values = {"name": group.name, **_machine(group)}
    if not autoscaling.scales(cluster, group):
        values["machineCount"] = group.count
    return values


TOPIC = topic.Topic(
    name="Machines",
    labels=(BOOT_VOLUME_SIZE, BOOT_VOLUME_TYPE),
    cluster=_values,
    group=_group,
)
