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

"""Storage classes of the Cinder CSI driver, one per volume type."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

#: Topology key of the Cinder CSI driver (cloud-provider-openstack).
_ZONE_KEY = "topology.cinder.csi.openstack.org/zone"

AVAILABILITY_ZONE = labels.Label(
    name="csi_cinder_availability_zone",
    type=types.String(),
    default="nova",
    allowed="the name of a Cinder availability zone",
    help="Availability zone of persistent volumes.",
    former=("csi_cinder_availability_zone",),
)
RECLAIM_POLICY = labels.Label(
    name="csi_cinder_reclaim_policy",
    type=types.String(choices=["Retain", "Delete"]),
    default="Retain",
    allowed="Retain or Delete",
    help="What becomes of a volume when its claim is deleted.",
    former=("csi_cinder_reclaim_policy",),
)
BINDING_MODE = labels.Label(
    name="csi_cinder_volume_binding_mode",
    type=types.String(choices=["WaitForFirstConsumer", "Immediate"]),
    default="WaitForFirstConsumer",
    allowed="WaitForFirstConsumer or Immediate",
    help="When a claim gets its volume.",
    former=("csi_cinder_volume_binding_mode",),
)
FSTYPE = labels.Label(
    name="csi_cinder_fstype",
    type=types.String(regex=r".+"),
    default="ext4",
    allowed="the name of a file system, such as ext4 or xfs",
    help="File system of persistent volumes.",
    former=("csi_cinder_fstype",),
)
EXPANSION = labels.Label(
    name="csi_cinder_allow_volume_expansion",
    type=types.Boolean(),
    default=True,
    allowed="true or false",
    help="Let claims grow.",
    former=("csi_cinder_allow_volume_expansion",),
)


def _topologies(zones: tuple[str, ...]) -> list[topic.Values]:
    if not zones:
        return []
    expression = {"key": _ZONE_KEY, "values": list(zones)}
    return [{"matchLabelExpressions": [expression]}]


def _class(
    cluster: spec.Cluster, item: spec.StorageClass, default: bool
) -> topic.Values:
    return {
        "enabled": True,
        "name": item.name,
        "isClusterDefault": default,
        "reclaimPolicy": cluster.labels[RECLAIM_POLICY],
        "allowVolumeExpansion": cluster.labels[EXPANSION],
        "volumeBindingMode": cluster.labels[BINDING_MODE],
        "allowedTopologies": _topologies(cluster.allowed_zones),
        "fstype": cluster.labels[FSTYPE],
        "availabilityZone": cluster.labels[AVAILABILITY_ZONE],
        "volumeType": item.volume_type,
    }


def _values(cluster: spec.Cluster) -> topic.Values:
    if not cluster.storage_classes:
        # A cloud without Cinder types: the chart's own class stays off.
        csi: topic.Values = {"defaultStorageClass": {"enabled": False}}
    else:
        first, *others = cluster.storage_classes
        csi = {
            "defaultStorageClass": _class(cluster, first, default=True),
            "additionalStorageClasses": [
                _class(cluster, item, default=False) for item in others
            ],
        }
    return {"addons": {"openstack": {"csiCinder": csi}}}


TOPIC = topic.Topic(
    name="Persistent volumes",
    labels=(
        AVAILABILITY_ZONE,
        RECLAIM_POLICY,
        BINDING_MODE,
        FSTYPE,
        EXPANSION,
    ),
    cluster=_values,
)
