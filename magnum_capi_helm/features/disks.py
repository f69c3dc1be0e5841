# SPDX-License-Identifier: Apache-2.0

"""A volume of its own for images and containers.

It is formatted and mounted by cloud-init, by the link that images for this
chart make of a device's tag, as the chart itself does with etcd's disk.
"""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import needs
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

VOLUME_TYPE = labels.Label(
    name="docker_volume_type",
    type=types.String(),
    default="",
    allowed="the name of a Cinder volume type",
    help="Cinder type of the volume for images and containers, which "
    "machines have if docker_volume_size is given. Default: "
    "[cinder] default_docker_volume_type.",
    scope=labels.Scope.NODEGROUP,
    becomes=(
        "controlPlane.additionalBlockDevices.containers.volumeType",
        "nodeGroups[].additionalBlockDevices.containers.volumeType",
    ),
)

#: Name of the device, and so its tag, and label of its file system.
_NAME = "containers"
_FOLDER = "/var/lib/containerd"

#: Ubuntu mounts it in cloud-init's network stage, before sysinit.target and
#: so before containerd first starts; at later boots the option sees to that.
#: No command is needed, which all groups would share: one group more with a
#: volume leaves the machines of the others alone.
_MOUNT = [
    f"LABEL={_NAME}",
    _FOLDER,
    "ext4",
    "defaults,nofail,x-systemd.before=containerd.service",
]


def _has_disk(group: cluster_spec.NodeGroup) -> bool:
    return bool(group.container_disk.size)


def _machine(group: cluster_spec.NodeGroup) -> topic.Values:
    if not _has_disk(group):
        return {}
    device = nodes.volume(group, "size", group.container_disk)
    filesystem = {
        "device": f"/dev/disk/openstack/by-tag/{_NAME}",
        "filesystem": "ext4",
        "label": _NAME,
    }
    return {
        "additionalBlockDevices": {_NAME: {**device, "type": "Volume"}},
        "kubeadmConfigSpec": {
            "diskSetup": {"filesystems": [filesystem]},
            "mounts": [list(_MOUNT)],
        },
    }


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    machine = _machine(cluster.control_plane)
    return {"controlPlane": machine} if machine else {}


def _group(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    return _machine(group)


def _check(cluster: cluster_spec.Cluster) -> None:
    for group in (cluster.control_plane, *cluster.node_groups):
        if _has_disk(group) and group.image.os_distro == "flatcar":
            raise errors.InvalidInput(
                f"docker_volume_size={group.container_disk.size}: machines "
                "of flatcar can't find the volume at their first boot; use "
                "an image of ubuntu, or a larger boot volume"
            )
        found = group.labels
        if not _has_disk(group) and needs.is_given(found, VOLUME_TYPE):
            raise found.refused(
                VOLUME_TYPE, "it together with docker_volume_size"
            )


TOPIC = topic.Topic(
    name="Container storage",
    labels=(VOLUME_TYPE,),
    cluster=_values,
    group=_group,
    check=_check,
)
