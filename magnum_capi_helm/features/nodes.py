# SPDX-License-Identifier: Apache-2.0

"""Machines: image, flavor, count, disks, node labels, zones, server groups."""

from __future__ import annotations

from collections.abc import Mapping
import copy
import re

from oslo_config import types

from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("Machines")

BOOT_VOLUME_SIZE: labels.Label[int | None] = TOPIC.label(
    "boot_volume_size",
    label_types.Integer(0, 65536, "a size in GB"),
    details="with 0, machines boot from the disk of the flavor",
    help="Size of the Cinder volume from which each machine boots. Default: "
    "[cinder] default_boot_volume_size.",
    scope=labels.Scope.NODEGROUP,
    becomes=paths.of_machines(f"{paths.ROOT_VOLUME}.diskSize"),
)
BOOT_VOLUME_TYPE: labels.Label[str | None] = TOPIC.label(
    "boot_volume_type",
    types.String(),
    allowed="the name of a Cinder volume type",
    help="Volume type of the boot volume. Default: "
    "[cinder] default_boot_volume_type.",
    scope=labels.Scope.NODEGROUP,
    becomes=paths.of_machines(f"{paths.ROOT_VOLUME}.volumeType"),
)
BOOT_VOLUME_ZONE = TOPIC.text(
    "boot_volume_availability_zone",
    "the name of a Cinder availability zone",
    help="Availability zone of a machine's volumes, except that for etcd. "
    "Default: the zone of the machine.",
    scope=labels.Scope.NODEGROUP,
    becomes=paths.of_machines(f"{paths.ROOT_VOLUME}.availabilityZone"),
)
#: The driver and the chart have volumes with the first two names, and CAPO
#: has one with the third (``AdditionalBlockDevice`` in its ``types.go``).
_EXTRA_VOLUME = re.compile(
    r"(?!(?:containers|etcd|root):)[a-z0-9][a-z0-9-]{0,31}"
    r":[1-9][0-9]{0,4}(?::[^,]+)?"
)
EXTRA_VOLUMES: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "extra_volumes",
    label_types.Listed(
        "volumes",
        _EXTRA_VOLUME.fullmatch,
        "NAME:GB or NAME:GB:TYPE, separated by commas, with names of a-z 0-9 "
        "and - that differ",
    ),
    details="an example is data:100,logs:20:fast; the names containers, etcd "
    "and root are taken",
    help="Further Cinder volumes of each worker, without a file system, and "
    "their volume types. Default of a type: as in Cinder.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{paths.EACH_GROUP}.{paths.DEVICES}",),
)
KUBE_TAG = TOPIC.text(
    "kube_tag",
    "a Kubernetes version",
    regex=r"\A(v?1\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?)?\Z",
    details="an example is v1.34.2",
    help="Kubernetes version of the image. The label is required if the "
    "image has no property kube_version.",
    becomes=(paths.KUBERNETES,),
)
NODE_LABELS: labels.Label[label_types.Pairs] = TOPIC.listed(
    "node_labels",
    label_types.NodeLabels(),
    help="Labels of the Kubernetes nodes of worker groups. The nodegroup's "
    "field node_labels overrides them.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{paths.EACH_GROUP}.{paths.NODE_LABELS}",),
)
NODE_TAINTS: labels.Label[label_types.Taints] = TOPIC.listed(
    "node_taints",
    label_types.NodeTaints(),
    help="Taints of the Kubernetes nodes of worker groups, from the moment "
    "they join. The nodegroup's field node_taints overrides them.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{paths.EACH_GROUP}.{paths.TAINTS}",),
)

#: Labels of nodes that the other Magnum drivers set.
_ROLE = "magnum.openstack.org/role"
_NODEGROUP = "magnum.openstack.org/nodegroup"

#: Minor versions that a kubelet may be behind the API server.
SKEW = 3

#: Nova's limit for keys and values of metadata.
_METADATA_LIMIT = 255


def extra_volumes(settings: labels.Values) -> dict[str, cluster_spec.Disk]:
    """Return the further volumes of each worker, by name."""
    volumes = (each.split(":", 2) for each in settings[EXTRA_VOLUMES])
    return {
        name: cluster_spec.Disk(int(size), *volume_type)
        for name, size, *volume_type in volumes
    }


def _machine(group: cluster_spec.NodeGroup) -> topic.Leaves:
    # Each group carries its own image and version, so that one group can
    # be upgraded while another keeps what it has.
    return {
        paths.FLAVOR: group.flavor,
        paths.IMAGE_ID: group.image.id,
        paths.KUBERNETES: group.image.kube_version,
        paths.ROOT_VOLUME: _volume(group, "diskSize", group.boot_disk),
    }


def _volume(
    group: cluster_spec.NodeGroup, size: str, disk: cluster_spec.Disk
) -> paths.Values:
    """Return a volume of a machine, by default in the machine's zone.

    :param size: the chart's key of the size
    """
    if not disk.size:
        return {}
    return topic.nest(
        {
            size: disk.size,
            "volumeType": disk.type,
            "availabilityZone": group.labels[BOOT_VOLUME_ZONE],
        }
    )


def _device(
    group: cluster_spec.NodeGroup, disk: cluster_spec.Disk
) -> paths.Values:
    return {**_volume(group, "size", disk), "type": "Volume"}


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    control_plane = cluster.control_plane
    return {
        paths.KUBERNETES: control_plane.image.kube_version,
        paths.IMAGE_ID: control_plane.image.id,
        paths.DISTRO: control_plane.image.os_distro,
        **topic.below(paths.CONTROL_PLANE, _machine(control_plane)),
        f"{paths.CONTROL_PLANE}.{paths.COUNT}": control_plane.count,
        f"{paths.CONTROL_PLANE}.{paths.NODE_LABELS}": {_ROLE: "master"},
        # At the top alone: the chart mixes up those of several groups.
        paths.METADATA: _metadata(cluster),
        paths.KEYPAIR: cluster.keypair,
    }


def _metadata(cluster: cluster_spec.Cluster) -> dict[str, str]:
    """Return Nova metadata that names the cluster, for billing."""
    ours = {
        "magnum_cluster_uuid": cluster.uuid,
        "magnum_cluster_name": cluster.name,
        "magnum_template_name": cluster.template,
    }
    metadata = {
        key: text[:_METADATA_LIMIT] for key, text in ours.items() if text
    }
    return {**metadata, **dict(cluster.site.metadata)}


def _group_leaves(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    scales = autoscaling.scales(cluster, group)
    return {
        "name": group.name,
        **_machine(group),
        paths.NODE_LABELS: _node_labels(group),
        paths.COUNT: None if scales else group.count,
        paths.TAINTS: [_taint(each) for each in group.taints],
        paths.DEVICES: {
            name: _device(group, disk)
            for name, disk in extra_volumes(group.labels).items()
        },
    }


def _node_labels(group: cluster_spec.NodeGroup) -> dict[str, str]:
    return {
        _ROLE: label_types.as_node_label_value(group.role),
        _NODEGROUP: label_types.as_node_label_value(
            group.magnum_name or group.name
        ),
        **dict(group.node_labels),
    }


def _taint(taint: cluster_spec.Taint) -> dict[str, str]:
    written = {"key": taint.key, "effect": taint.effect}
    return {**written, "value": taint.value} if taint.value else written


def _check(cluster: cluster_spec.Cluster) -> None:
    for key, value in cluster.site.metadata:
        if not 0 < len(key) <= _METADATA_LIMIT >= len(value):
            raise errors.NotConfigured(
                f"[capi_helm] server_metadata {key[:40]}: Nova takes keys "
                f"and values of up to {_METADATA_LIMIT} characters"
            )
    for group in (cluster.control_plane, *cluster.node_groups):
        _check_volume(group)
    for group in cluster.node_groups:
        _check_image(cluster.control_plane.image, group.image)


def _check_volume(group: cluster_spec.NodeGroup) -> None:
    """Refuse settings of a volume that is not made."""
    settings, boots = group.labels, group.boot_disk.size
    if not boots and topic.is_given(settings, BOOT_VOLUME_TYPE):
        raise settings.refused(
            BOOT_VOLUME_TYPE,
            f"it together with {BOOT_VOLUME_SIZE.name}, without which "
            "machines boot from the flavor's own disk",
        )
    volumes = extra_volumes(settings)
    if len(volumes) < len(settings[EXTRA_VOLUMES]):
        raise settings.refused(EXTRA_VOLUMES, "each name once")
    no_volume = not (boots or group.container_disk.size or volumes)
    if no_volume and topic.is_given(settings, BOOT_VOLUME_ZONE):
        raise settings.refused(
            BOOT_VOLUME_ZONE,
            f"it together with {BOOT_VOLUME_SIZE.name}, docker_volume_size "
            f"or {EXTRA_VOLUMES.name}",
        )


def _check_image(
    control_plane: cluster_spec.Image, workers: cluster_spec.Image
) -> None:
    """Refuse workers that can't join this control plane.

    The chart has one ``osDistro`` for a whole cluster, by which machines get
    cloud-init or Ignition. A new machine joins a control plane of its own
    minor version alone (``kubeadmVersionPreflightCheck`` in Cluster API's
    ``machineset_preflight.go``).

    :raises InvalidInput: naming the image
    """
    name = errors.shown(workers.name)
    if workers.os_distro != control_plane.os_distro:
        raise errors.InvalidInput(
            "image_id: all machines of a cluster have one os_distro. Image "
            f"{name} has {workers.os_distro}, and this cluster's machines "
            f"are {control_plane.os_distro}"
        )
    if not joins(workers.kube_version, control_plane.kube_version):
        raise errors.InvalidInput(
            "image_id: a new machine joins a control plane of its own minor "
            f"version of Kubernetes alone. Image {name} has "
            f"{workers.kube_version}, and the control plane has "
            f"{control_plane.kube_version}"
        )


def joins(kubelet: str, control_plane: str) -> bool:
    """Return whether a new machine can join, if both versions are known."""
    workers, newest = versions.number(kubelet), versions.number(control_plane)
    return not workers or not newest or workers[:2] == newest[:2]


def fits(kubelet: str, control_plane: str) -> bool:
    """Return whether a living machine may stay, if both versions are known.

    A kubelet is no newer than the API server and up to three minor versions
    older (Kubernetes' version skew policy).
    """
    workers, newest = versions.number(kubelet), versions.number(control_plane)
    return not workers or not newest or 0 <= newest[1] - workers[1] <= SKEW


TOPIC.leaves = _leaves
TOPIC.group_leaves = _group_leaves
TOPIC.check = _check


CONTAINER_STORAGE = topic.Topic("Container storage")

#: Name of the device, and so its tag, and label of its file system.
_CONTAINERS = "containers"
CONTAINER_VOLUME_TYPE = CONTAINER_STORAGE.text(
    "docker_volume_type",
    "the name of a Cinder volume type",
    help="Volume type of the volume for images and containers. Machines have "
    "that volume if docker_volume_size is set. Default: "
    "[cinder] default_docker_volume_type.",
    scope=labels.Scope.NODEGROUP,
    becomes=paths.of_machines(f"{paths.DEVICES}.{_CONTAINERS}.volumeType"),
)

#: Ubuntu mounts it in cloud-init's network stage, before sysinit.target and
#: so before containerd first starts; at later boots the option sees to that.
#: No command is needed, which all groups would share: one group more with a
#: volume leaves the machines of the others alone.
_MOUNT = [
    f"LABEL={_CONTAINERS}",
    "/var/lib/containerd",
    "ext4",
    "defaults,nofail,x-systemd.before=containerd.service",
]


def _container_leaves(group: cluster_spec.NodeGroup) -> topic.Leaves:
    if not group.container_disk.size:
        return {}
    filesystem = {
        "device": f"/dev/disk/openstack/by-tag/{_CONTAINERS}",
        "filesystem": "ext4",
        "label": _CONTAINERS,
    }
    return {
        f"{paths.DEVICES}.{_CONTAINERS}": _device(group, group.container_disk),
        f"{paths.KUBEADM}.diskSetup.filesystems": [filesystem],
        f"{paths.KUBEADM}.mounts": [_MOUNT],
    }


def _check_container_disks(cluster: cluster_spec.Cluster) -> None:
    for group in (cluster.control_plane, *cluster.node_groups):
        settings, size = group.labels, group.container_disk.size
        if size and group.image.os_distro == "flatcar":
            raise errors.InvalidInput(
                f"docker_volume_size={size}: machines of flatcar can't find "
                "the volume at their first boot; use an image of ubuntu, or "
                "a larger boot volume"
            )
        if not size and topic.is_given(settings, CONTAINER_VOLUME_TYPE):
            raise settings.refused(
                CONTAINER_VOLUME_TYPE, "it together with docker_volume_size"
            )


CONTAINER_STORAGE.leaves = lambda cluster: topic.below(
    paths.CONTROL_PLANE, _container_leaves(cluster.control_plane)
)
CONTAINER_STORAGE.group_leaves = lambda _, group: _container_leaves(group)
CONTAINER_STORAGE.check = _check_container_disks


PLACEMENT = topic.Topic("Placement")

ZONE = PLACEMENT.text(
    "availability_zone",
    "the name of a Nova availability zone",
    help="Availability zone of the machines. It applies to the control plane "
    "too, unless control_plane_availability_zones is set.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{paths.EACH_GROUP}.{paths.ZONE}", paths.PLANE_ZONES),
)
CONTROL_PLANE_ZONES: labels.Label[list[str]] = PLACEMENT.label(
    "control_plane_availability_zones",
    types.List(item_type=types.String(max_length=255)),
    [],
    allowed="names of Nova availability zones, separated by commas",
    help="Availability zones over which Cluster API spreads the machines of "
    "the control plane.",
    becomes=(paths.PLANE_ZONES, f"{paths.CONTROL_PLANE}.omitFailureDomain"),
)
SERVER_GROUP_POLICY = PLACEMENT.choice(
    "server_group_policies",
    ("soft-anti-affinity", "anti-affinity", "soft-affinity", "affinity"),
    help="Policy of the Nova server groups. The driver makes one for the "
    "control plane and one for each nodegroup. Default: no server groups.",
    scope=labels.Scope.NODEGROUP,
    becomes=paths.of_machines(paths.SERVER_GROUP),
)


def control_plane_zones(
    control_plane: cluster_spec.NodeGroup,
) -> tuple[str, ...]:
    """Return the zones of the control plane; empty: Nova chooses."""
    zones = [
        each for each in control_plane.labels[CONTROL_PLANE_ZONES] if each
    ]
    if not zones and control_plane.labels[ZONE]:
        zones = [control_plane.labels[ZONE]]
    return tuple(dict.fromkeys(zones))


def server_groups(
    groups: tuple[cluster_spec.NodeGroup, ...],
) -> dict[str, str]:
    """Return the policies of server groups, by the chart's group name."""
    return {
        group.name: group.labels[SERVER_GROUP_POLICY]
        for group in groups
        if group.labels[SERVER_GROUP_POLICY]
    }


def with_server_group_ids(
    values: paths.Values, cluster: cluster_spec.Cluster, ids: Mapping[str, str]
) -> paths.Values:
    """Return the values of a cluster with its new server groups.

    An overlay may have given the control plane another one.

    :param values: made of the cluster, before it had server groups
    :param ids: the chart's name of a group -> ID
    """
    if not ids:
        return values
    result = copy.deepcopy(values)
    if own := ids.get(cluster.control_plane.name):
        result[paths.CONTROL_PLANE].setdefault(paths.SERVER_GROUP, own)
    for item in result[paths.GROUPS]:
        if item["name"] in ids:
            item[paths.SERVER_GROUP] = ids[item["name"]]
    return result


def _placement_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    zones = control_plane_zones(cluster.control_plane)
    domains, omits_domain = CONTROL_PLANE_ZONES.becomes
    return {
        SERVER_GROUP_POLICY.becomes[0]: cluster.control_plane.server_group_id,
        domains: zones,
        omits_domain: False if zones else None,
    }


def _placement_group_leaves(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    return {
        paths.SERVER_GROUP: group.server_group_id,
        paths.ZONE: group.labels[ZONE],
    }


PLACEMENT.leaves = _placement_leaves
PLACEMENT.group_leaves = _placement_group_leaves
