# SPDX-License-Identifier: Apache-2.0

"""Nodegroups: flavor, image, bounds, disks, node labels of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import operator
import re
from typing import Any

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import storage
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import network
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels

_NOT_LOOKED_UP = cluster_spec.Image("", "", "", "ubuntu")
_MASTER = "master"
#: Suffixes of Kubernetes' own pre-releases belong to the version.
_VERSION = re.compile(
    r"v?(?P<number>1\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)"
    r"(?:[-+][0-9A-Za-z.+-]+)?",
    re.ASCII,
)


def resolve(
    cluster: Any,
    row: Any,
    cloud: catalogue.Cloud,
    outlined: cluster_spec.Cluster,
) -> cluster_spec.NodeGroup:
    """Return one nodegroup, with every reference looked up.

    :param row: Magnum's row of the group
    :param outlined: the cluster, of which release and labels are used
    :raises InvalidInput: the user can correct it
    """
    if not row.flavor_id:
        raise errors.InvalidInput(
            "a nodegroup has no flavor; give one to the cluster or its "
            f"template. It is {errors.shown(row.name)}"
        )
    labels_of = requested_labels.nodegroup_labels
    group_labels = labels_of(cluster, outlined.labels, row)
    with errors.in_field("image_id"):
        glance_image = cloud.image(row.image_id)
    image = _image(row, glance_image, group_labels)
    master = row.role == _MASTER
    with errors.in_field("master_flavor_id" if master else "flavor_id"):
        flavor = cloud.flavor(row.flavor_id)
        _check_size(flavor, master)
    network.check_extra(group_labels, cloud)
    _check_references(row, group_labels, cloud)
    minimum, maximum = _bounds(row, group_labels)
    boot_disk = _boot_disk(group_labels)
    _check_root_disk(flavor, image, boot_disk)
    if master:
        _check_etcd_disk(flavor, group_labels)
    return dataclasses.replace(
        outline(row, group_labels, outlined.release),
        flavor=flavor.name,
        image=image,
        minimum=minimum,
        maximum=maximum,
        boot_disk=boot_disk,
        container_disk=_container_disk(cluster, row, group_labels),
        machine=flavor,
    )


def outline(
    row: Any, group_labels: labels.Values, release: str
) -> cluster_spec.NodeGroup:
    """Return a nodegroup without bounds and disks; nothing is looked up.

    :raises InvalidInput: the row has a label or taint that is not allowed
    """
    return cluster_spec.NodeGroup(
        name=names.node_group(row.name, release),
        flavor="",
        count=row.node_count,
        image=_NOT_LOOKED_UP,
        magnum_name=row.name,
        role=row.role,
        labels=group_labels,
        node_labels=_node_labels(row, group_labels),
        taints=_taints(row, group_labels),
        profile=operator_files.add_profiles(group_labels),
    )


def by_role(
    groups: Sequence[cluster_spec.NodeGroup],
) -> tuple[cluster_spec.NodeGroup, tuple[cluster_spec.NodeGroup, ...]]:
    """Return the control plane, and the workers.

    :raises InvalidInput: the control plane can't have such a size
    """
    master = [group for group in groups if group.role == _MASTER]
    if not master:
        raise errors.InvalidInput("the cluster has no master nodegroup")
    cluster_spec.check_control_plane_size(master[0].count, "master_count")
    workers = (group for group in groups if group.role != _MASTER)
    return master[0], tuple(workers)


def _bounds(row: Any, values: labels.Values) -> tuple[int, int | None]:
    """Return the autoscaler's bounds of a group.

    The labels give those of the default worker.

    An update of the row is later than the labels, so it wins. A missing
    bound is the node count; if nothing would be scaled then, the maximum of
    the default worker is one more, as in Magnum's Heat driver. Other groups
    without a maximum are not scaled. Magnum saves a minimum of 0 if none was
    given: beside a maximum it means 0, except in the default worker, whose
    minimum is a label.

    :raises InvalidInput: they contradict each other or the count
    """
    count = row.node_count
    minimum, maximum = row.min_node_count or None, row.max_node_count
    if not values[autoscaling.ENABLED] or row.role == _MASTER:
        return minimum or 0, None
    if row.is_default:
        if minimum is None:
            minimum = values[autoscaling.MINIMUM]
            if minimum is not None and maximum is not None:
                minimum = min(minimum, maximum)
        maximum = values[autoscaling.MAXIMUM] if maximum is None else maximum
    if minimum is None:
        minimum = count if row.is_default or maximum is None else 0
    if maximum is None:
        maximum = count + int(row.is_default and minimum == count)
    _check_bounds(row, minimum, maximum)
    return minimum, maximum


def _check_bounds(row: Any, minimum: int, maximum: int) -> None:
    """Refuse bounds that leave the count out, or everything.

    A bound that equals the count may be a default.
    """
    count = row.node_count
    if minimum > maximum and count not in (minimum, maximum):
        wrong = f"min_node_count {minimum} is above max_node_count {maximum}"
    elif count < minimum:
        wrong = f"node_count {count} is below min_node_count {minimum}"
    elif count > maximum:
        wrong = (
            f"node_count {count} is above max_node_count {maximum}: resize "
            "the nodegroup first"
        )
    else:
        return
    raise errors.InvalidInput(
        f"{wrong}. The nodegroup is {errors.shown(row.name)}"
    )


def _image(
    row: Any, image: cluster_spec.Image, group_labels: labels.Values
) -> cluster_spec.Image:
    """Return the image with the chart's names of version and distribution.

    :raises InvalidInput: it has none, or not those that the user expects
    """
    name = errors.shown(image.name)
    if image.os_distro not in names.DISTROS:
        raise errors.InvalidInput(
            "image_id: choose an image whose os_distro is one of "
            f"{', '.join(names.DISTROS)}. Image {name} has "
            f"{errors.shown(image.os_distro)}"
        )
    tag = group_labels[nodes.KUBE_TAG]
    if not image.kube_version and not tag:
        raise errors.InvalidInput(
            "image_id: the image has no property kube_version; set it, or "
            f"give the label kube_tag. It is {name}; to set it: `openstack "
            f"image set --property kube_version=v1.34.2 {image.id}`"
        )
    version = image.kube_version or _number(tag)
    if not _VERSION.fullmatch(version):
        raise errors.InvalidInput(
            "image_id: the image's property kube_version is no Kubernetes "
            f"version. Image {name} has {errors.shown(version)}; an "
            "example is v1.34.2"
        )
    # Other groups may have an older image than the cluster.
    if tag and row.is_default and _number(tag) != _number(version):
        raise group_labels.refused(
            nodes.KUBE_TAG,
            "the version of the image, or choose another image",
            f"image {name} has v{version}",
        )
    return dataclasses.replace(
        image, kube_version=version, os_distro=names.DISTROS[image.os_distro]
    )


def _number(version: str) -> str:
    """Return a version without ``v`` and without a builder's suffix."""
    match = _VERSION.fullmatch(version)
    return match["number"] if match else version


#: VCPUs and MiB without which kubeadm makes no control plane
#: (``ControlPlaneNumCPU`` and ``ControlPlaneMem`` of its constants).
_KUBEADM = (2, 1700)


def _check_size(flavor: cluster_spec.Flavor, master: bool) -> None:
    """Refuse a flavor that is too small; a deleted one is not known."""
    options = conf.CONF.capi_helm
    needed = (options.minimum_flavor_vcpus, options.minimum_flavor_ram)
    if master:
        needed = tuple(map(max, needed, _KUBEADM))
    size = (flavor.vcpus, flavor.ram)
    if flavor.vcpus and any(map(operator.lt, size, needed)):
        raise errors.InvalidInput(
            "the flavor is too small: "
            f"{'a control plane' if master else 'a node'} needs {needed[0]} "
            f"VCPUs and {needed[1]} MiB. Flavor {errors.shown(flavor.name)} "
            f"has {flavor.vcpus} VCPUs and {flavor.ram} MiB"
        )


def _check_root_disk(
    flavor: cluster_spec.Flavor,
    image: cluster_spec.Image,
    boot_disk: cluster_spec.Disk,
) -> None:
    name = errors.shown(flavor.name)
    of_flavor = ""
    if boot_disk.size:
        size, what = boot_disk.size, "boot_volume_size is"
    elif flavor.disk:
        size, what = flavor.disk, "the flavor's disk has"
        of_flavor = f"The flavor is {name}, and the"
    else:
        raise errors.InvalidInput(
            "the flavor has no disk; give the label boot_volume_size, or "
            f"choose another flavor. It is {name}"
        )
    if size < image.min_disk:
        raise errors.InvalidInput(
            f"{what} {size} GB, and the image needs {image.min_disk} GB. "
            f"{of_flavor or 'The'} image is {errors.shown(image.name)}"
        )


def _check_etcd_disk(
    flavor: cluster_spec.Flavor, group_labels: labels.Values
) -> None:
    """Refuse a local disk for etcd that Nova would not make."""
    if etcd.local_size(group_labels) > flavor.ephemeral:
        raise group_labels.refused(
            etcd.SIZE,
            f"at most the size of the flavor's ephemeral disk, or "
            f"{etcd.KIND.name}=volume",
            f"flavor {errors.shown(flavor.name)} has {flavor.ephemeral} GB",
        )


def _boot_disk(values: labels.Values) -> cluster_spec.Disk:
    cinder = conf.CONF.cinder
    size = values[nodes.BOOT_VOLUME_SIZE]
    return cluster_spec.Disk(
        size=cinder.default_boot_volume_size if size is None else size,
        type=values[nodes.BOOT_VOLUME_TYPE]
        or cinder.default_boot_volume_type
        or None,
    )


def _container_disk(
    cluster: Any, row: Any, group_labels: labels.Values
) -> cluster_spec.Disk:
    size = row.docker_volume_size or cluster.docker_volume_size
    if not size:
        return cluster_spec.Disk()
    default = conf.CONF.cinder.default_docker_volume_type
    return cluster_spec.Disk(
        size, group_labels[nodes.CONTAINER_VOLUME_TYPE] or default or None
    )


def _node_labels(row: Any, group_labels: labels.Values) -> label_types.Pairs:
    """Return the labels of nodes; the row's beat those of the label.

    :raises InvalidInput: the row has one that is not allowed
    """
    if row.role == _MASTER:
        return ()
    # Magnum before 23 has no such field.
    own = getattr(row, "node_labels", None) or {}
    with _in_row(row, "node_labels: a label"):
        checked = label_types.NodeLabels()(
            (str(key), str(value)) for key, value in own.items()
        )
    labelled = group_labels[nodes.NODE_LABELS]
    return tuple({**dict(labelled), **dict(checked)}.items())


def _taints(row: Any, group_labels: labels.Values) -> label_types.Taints:
    """Return the taints of nodes; the row's beat those of the label.

    :raises InvalidInput: the row has one that is not allowed
    """
    if row.role == _MASTER:
        return ()
    own = getattr(row, "node_taints", None) or []
    with _in_row(row, "node_taints: a taint"):
        checked = label_types.NodeTaints()(
            cluster_spec.Taint(
                key=str(each.get("key", "")),
                effect=str(each.get("effect", "")),
                value=str(each.get("value") or ""),
            )
            for each in own
        )
    merged = {
        (each.key, each.effect): each
        for each in (*group_labels[nodes.NODE_TAINTS], *checked)
    }
    return tuple(merged.values())


@contextlib.contextmanager
def _in_row(row: Any, item: str) -> Iterator[None]:
    """Name the nodegroup whose row has a label or taint that is refused."""
    try:
        yield
    except ValueError as error:
        raise errors.InvalidInput(
            f"{item} of a nodegroup is not allowed. It is nodegroup "
            f"{errors.shown(row.name)}: {error}"
        ) from error


#: Label -> the question to the cloud for its allowed values.
_OF_GROUPS: tuple[tuple[labels.Label[Any], str], ...] = (
    (nodes.ZONE, "availability zones of Nova"),
    (nodes.BOOT_VOLUME_ZONE, "availability zones of Cinder"),
    (nodes.BOOT_VOLUME_TYPE, "volume types"),
    (nodes.CONTAINER_VOLUME_TYPE, "volume types"),
    (nodes.EXTRA_VOLUMES, "volume types"),
)
_OF_CLUSTERS: tuple[tuple[labels.Label[Any], str], ...] = (
    (nodes.CONTROL_PLANE_ZONES, "availability zones of Nova"),
    (etcd.VOLUME_AZ, "availability zones of Cinder"),
    (etcd.VOLUME_TYPE, "volume types"),
    (storage.AVAILABILITY_ZONE, "availability zones of Cinder"),
)


def _check_references(
    row: Any, group_labels: labels.Values, cloud: catalogue.Cloud
) -> None:
    """Look up the zones and volume types that labels name.

    :raises LabelError: with those that there are
    """
    pairs = _OF_GROUPS
    if row.role == _MASTER:
        pairs += _OF_CLUSTERS
    for label, question in pairs:
        if group_labels.given(label) is None:
            continue
        wanted = group_labels[label]
        several = wanted if isinstance(wanted, list) else [wanted]
        if label is nodes.EXTRA_VOLUMES:
            volumes = nodes.extra_volumes(group_labels).values()
            several = [each.type for each in volumes]
        # A service is not asked about labels that name nothing.
        for name in filter(None, several):
            offered = cloud.choices(question)
            if name not in offered:
                raise group_labels.refused(
                    label,
                    label.allowed,
                    f"{errors.shown(name)} is none of those that are "
                    f"there ({', '.join(offered) or 'none'})",
                )
