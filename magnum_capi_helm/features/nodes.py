# SPDX-License-Identifier: Apache-2.0

"""Machines: image, version, flavor, count, boot disk and node labels."""

from __future__ import annotations

import re

from oslo_config import types

from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import needs
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import node_types
from magnum_capi_helm.model import option_types


def _root_volume(key: str) -> tuple[str, ...]:
    """Where a key of the boot volume is in the values."""
    return tuple(
        f"{machine}.machineRootVolume.{key}"
        for machine in ("controlPlane", "nodeGroups[]")
    )


BOOT_VOLUME_SIZE: labels.Label[int | None] = labels.Label(
    name="boot_volume_size",
    type=option_types.Integer(min=0, max=65536),
    default=None,
    allowed="a size in GB up to 65536; 0 boots from the flavor's own disk",
    help="Boot each machine from a Cinder volume of this size. Default: "
    "[cinder] default_boot_volume_size.",
    scope=labels.Scope.NODEGROUP,
    becomes=_root_volume("diskSize"),
)
BOOT_VOLUME_TYPE: labels.Label[str | None] = labels.Label(
    name="boot_volume_type",
    type=types.String(),
    default=None,
    allowed="the name of a Cinder volume type",
    help="Type of the boot volume. Default: "
    "[cinder] default_boot_volume_type.",
    scope=labels.Scope.NODEGROUP,
    becomes=_root_volume("volumeType"),
)
BOOT_VOLUME_ZONE = labels.Label(
    name="boot_volume_availability_zone",
    type=types.String(),
    default="",
    allowed="the name of a Cinder availability zone",
    help="Availability zone of the boot volume and of the volume for "
    "containers. Default: the zone of the machine.",
    scope=labels.Scope.NODEGROUP,
    becomes=_root_volume("availabilityZone"),
)
KUBE_TAG = labels.Label(
    name="kube_tag",
    type=types.String(
        regex=r"\A(v?1\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?)?\Z"
    ),
    default="",
    allowed="a Kubernetes version",
    details="an example is v1.34.2",
    help="Kubernetes version that the image is expected to have; needed "
    "where the image has no property kube_version.",
    becomes=("kubernetesVersion",),
)
NODE_LABELS: labels.Label[node_types.Pairs] = labels.Label(
    name="node_labels",
    type=node_types.NodeLabels(),
    default=(),
    allowed="key=value pairs that a kubelet may set, separated by commas",
    help="Labels of the Kubernetes nodes of worker groups. Those of "
    "the nodegroup's own field node_labels are stronger.",
    scope=labels.Scope.NODEGROUP,
    becomes=("nodeGroups[].nodeLabels",),
)
NODE_TAINTS: labels.Label[node_types.Taints] = labels.Label(
    name="node_taints",
    type=node_types.NodeTaints(),
    default=(),
    allowed="key=value:effect or key:effect, separated by commas, with the "
    f"effects {', '.join(node_types.EFFECTS)}",
    help="Taints of the Kubernetes nodes of worker groups, which they have "
    "from the moment they join. Those of the nodegroup's own field "
    "node_taints are stronger.",
    scope=labels.Scope.NODEGROUP,
    becomes=(
        "nodeGroups[].kubeadmConfigSpec.joinConfiguration.nodeRegistration"
        ".taints",
    ),
)

#: Labels of nodes that the other Magnum drivers set.
_ROLE = "magnum.openstack.org/role"
_NODEGROUP = "magnum.openstack.org/nodegroup"

#: Minor versions that a kubelet may be behind the API server.
SKEW = 3
_KUBERNETES = re.compile(r"v?1\.(?P<minor>[0-9]+)\.")

#: Nova's limit for keys and values of metadata.
_METADATA_LIMIT = 255


def _machine(group: cluster_spec.NodeGroup) -> topic.Values:
    # Each group carries its own image and version, so that one group can
    # be upgraded while another keeps what it has.
    values: topic.Values = {
        "machineFlavor": group.flavor,
        "machineImageId": group.image.id,
        "kubernetesVersion": group.image.kube_version,
    }
    if group.boot_disk.size:
        values["machineRootVolume"] = volume(
            group, "diskSize", group.boot_disk
        )
    return values


def volume(
    group: cluster_spec.NodeGroup, size: str, disk: cluster_spec.Disk
) -> topic.Values:
    """A volume of a machine; without a zone it is made in the machine's.

    :param size: the chart's key of the size
    """
    values: topic.Values = {size: disk.size}
    if disk.type:
        values["volumeType"] = disk.type
    if zone := group.labels[BOOT_VOLUME_ZONE]:
        values["availabilityZone"] = zone
    return values


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    control_plane = cluster.control_plane
    values: topic.Values = {
        "kubernetesVersion": control_plane.image.kube_version,
        "machineImageId": control_plane.image.id,
        "osDistro": control_plane.image.os_distro,
        "controlPlane": {
            **_machine(control_plane),
            "machineCount": control_plane.count,
            "nodeLabels": {_ROLE: "master"},
        },
    }
    if metadata := _metadata(cluster):
        # At the top alone: the chart mixes up those of several groups.
        values["machineMetadata"] = metadata
    if cluster.keypair:
        values["machineSSHKeyName"] = cluster.keypair
    return values


def _metadata(cluster: cluster_spec.Cluster) -> dict[str, str]:
    """Nova metadata that tells a biller whose servers these are."""
    ours = {
        "magnum_cluster_uuid": cluster.uuid,
        "magnum_cluster_name": cluster.name,
        "magnum_template_name": cluster.template,
    }
    known = {key: text[:_METADATA_LIMIT] for key, text in ours.items() if text}
    return {**known, **dict(cluster.site.metadata)}


def _group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    values: topic.Values = {
        "name": group.name,
        **_machine(group),
        "nodeLabels": _node_labels(group),
    }
    if not autoscaling.scales(cluster, group):
        values["machineCount"] = group.count
    if group.taints:
        registration = {"taints": [_taint(each) for each in group.taints]}
        values["kubeadmConfigSpec"] = {
            "joinConfiguration": {"nodeRegistration": registration}
        }
    return values


def _node_labels(group: cluster_spec.NodeGroup) -> dict[str, str]:
    return {
        _ROLE: node_types.label_value(group.role),
        _NODEGROUP: node_types.label_value(group.magnum_name or group.name),
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
    """Refuse what is said of a volume that is not made."""
    found, boots = group.labels, group.boot_disk.size
    if not boots and needs.is_given(found, BOOT_VOLUME_TYPE):
        raise found.refused(
            BOOT_VOLUME_TYPE,
            f"it together with {BOOT_VOLUME_SIZE.name}, without which "
            "machines boot from the flavor's own disk",
        )
    no_volume = not boots and not group.container_disk.size
    if no_volume and needs.is_given(found, BOOT_VOLUME_ZONE):
        raise found.refused(
            BOOT_VOLUME_ZONE,
            f"it together with {BOOT_VOLUME_SIZE.name} or docker_volume_size",
        )


def _check_image(
    control_plane: cluster_spec.Image, workers: cluster_spec.Image
) -> None:
    """Refuse workers that can't join this control plane.

    The chart has one ``osDistro`` for a whole cluster, by which machines get
    cloud-init or Ignition. A kubelet is no newer than the API server and up
    to three minor versions older (Kubernetes' version skew policy).

    :raises InvalidInput: naming the image
    """
    name = errors.shown(workers.name)
    if workers.os_distro != control_plane.os_distro:
        raise errors.InvalidInput(
            "image_id: all machines of a cluster have one os_distro. Image "
            f"{name} has {workers.os_distro}, and this cluster's machines "
            f"are {control_plane.os_distro}"
        )
    minor = _minor(workers.kube_version)
    newest = _minor(control_plane.kube_version)
    if minor is None or newest is None:
        return
    if not newest - SKEW <= minor <= newest:
        raise errors.InvalidInput(
            "image_id: a control plane works with nodes of its own minor "
            f"version of Kubernetes or up to {SKEW} older ones. Image {name} "
            f"has {workers.kube_version}; the control plane has "
            f"{control_plane.kube_version}, with which nodes of "
            f"1.{newest - SKEW} to 1.{newest} work"
        )


def _minor(version: str) -> int | None:
    """The minor version of a Kubernetes 1.x; None: it is not known."""
    found = _KUBERNETES.match(version)
    return int(found["minor"]) if found else None


TOPIC = topic.Topic(
    name="Machines",
    labels=(
        BOOT_VOLUME_SIZE,
        BOOT_VOLUME_TYPE,
        BOOT_VOLUME_ZONE,
        KUBE_TAG,
        NODE_LABELS,
        NODE_TAINTS,
    ),
    cluster=_values,
    group=_group,
    check=_check,
)
