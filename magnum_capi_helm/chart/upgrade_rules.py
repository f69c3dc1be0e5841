# SPDX-License-Identifier: Apache-2.0

"""The rules of an upgrade: versions, and fields that keep their values.

The webhook of Cluster API's OpenStack provider forbids to change most of an
OpenStackCluster (``openstackcluster_webhook.go``: all but identityRef,
bastion, security group rules, allowed CIDRs, the control plane's zones, from
0.13 on DNS servers, and the load balancer's monitor). Ranges of pods and
services and the network plugin of a living cluster can't be changed at all,
nor a StorageClass but for ``allowVolumeExpansion``. These keep the values that
the cluster has; where it has none, they are left to the chart.
"""

from __future__ import annotations

from collections.abc import Mapping
import copy
import dataclasses
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

#: The chart's default.
CHARTS_DISTRO = "ubuntu"


def check_template(
    driver: str | None, coe: str, server_type: str, name: str
) -> None:
    """Refuse a template of another kind of cluster.

    :param driver: None: an old template, whose driver Magnum chooses
    :param name: of the template
    """
    wanted = {"coe": (coe, "kubernetes"), "server_type": (server_type, "vm")}
    if driver:
        wanted["driver"] = (driver, names.DRIVER)
    for field, (actual, allowed) in wanted.items():
        if actual != allowed:
            raise errors.NotSupported(
                f"a cluster of the driver {names.DRIVER} takes a template "
                f"with {field}={allowed}. Cluster template "
                f"{errors.shown(name)} has {errors.shown(actual)}"
            )


def check_kubernetes(old: str, new: str, nodegroup: str = "") -> None:
    """Refuse an older Kubernetes.

    :param old: empty: not known
    :param nodegroup: Magnum's name of the group whose versions they are;
        empty: they are those of the cluster
    """
    what, it = "the cluster", "It"
    if nodegroup:
        what = "a nodegroup"
        it = f"Nodegroup {errors.shown(nodegroup)}"
    if versions.is_older(new, old):
        raise errors.NotSupported(
            f"{what} can't go back to an older Kubernetes: choose a template "
            f"whose image has the version that it runs, or a later one. {it} "
            f"runs v{_bare(old)}, and the new image has v{_bare(new)}"
        )


def check_kept(name: str, kubelet: str, control_plane: str) -> None:
    """Refuse a control plane that the kubelet of a kept group does not fit.

    :param name: Magnum's name of the group
    """
    if nodes.fits(kubelet, control_plane):
        return
    raise errors.NotSupported(
        "upgrade or delete the nodegroup that keeps its image first: a "
        "control plane works with nodes of its own minor version of "
        f"Kubernetes or up to {nodes.SKEW} older ones. Nodegroup "
        f"{errors.shown(name)} has v{_bare(kubelet)}, and the control "
        f"plane gets v{_bare(control_plane)}"
    )


def check_growth(name: str, kubelet: str, control_plane: str) -> None:
    """Refuse more machines than a kept group has, if none of them can join.

    :param name: Magnum's name of the group
    """
    if not nodes.joins(kubelet, control_plane):
        raise errors.NotSupported(
            f"upgrade nodegroup {errors.shown(name)} first: a new machine "
            "joins a control plane of its own minor version of Kubernetes "
            f"alone. The nodegroup has v{_bare(kubelet)}, and the control "
            f"plane has v{_bare(control_plane)}"
        )


def check_chart(
    old: str, new: str, asked: str = "the label capi_helm_chart_version"
) -> None:
    """Refuse an older version of the chart.

    :param asked: the label or option that names the new version
    """
    if versions.is_older(new, old):
        raise errors.NotSupported(
            "the cluster can't go back to an older chart: give the version "
            f"that it has, or a later one. It has {old}, and {asked} is {new}"
        )


def newer_chart(one: str, other: str) -> str:
    """Return the newer of two versions of the chart."""
    first, second = versions.number(one), versions.number(other)
    return one if first and second and first >= second else other


def check_pair(
    chart: str,
    kubernetes: str,
    advice: str = "choose a template with another image, or with another "
    "label capi_helm_chart_version",
) -> None:
    """Refuse a Kubernetes version outside of those that the chart supports.

    :param advice: what to do about it
    """
    if outside := _outside(chart, kubernetes):
        raise errors.NotSupported(
            "the chart is not made for the Kubernetes of the image: "
            f"{advice}. {outside}, and the image has v{_bare(kubernetes)}"
        )


def chart_of_hop(
    new: cluster_spec.Chart, old: cluster_spec.Chart, kubernetes: str
) -> cluster_spec.Chart:
    """Return the chart that takes a version on the way.

    :param new: preferred
    :param old: of the cluster
    """
    outside = [_outside(each.version, kubernetes) for each in (new, old)]
    if all(outside):
        raise errors.NotSupported(
            "no chart takes a Kubernetes version on the way: choose a "
            "template with another label capi_helm_chart_version first. "
            f"{outside[0]}, {outside[1].replace('C', 'c', 1)}, and the "
            f"version is v{_bare(kubernetes)}"
        )
    return old if outside[0] else new


def _outside(chart: str, kubernetes: str) -> str:
    """Return the versions that a chart takes, if this is none of them."""
    release, version = versions.find_tested(chart), versions.number(kubernetes)
    if release is None or version is None:
        return ""
    first, last = release.kubernetes
    if _minor(first) <= version[1] <= _minor(last):
        return ""
    return f"Chart {chart} takes {first} to {last}"


#: Versions of Cluster API that don't support Kubernetes 1.36: they set a
#: feature gate that it does not have (Cluster API's book, "Kubernetes version
#: support").
_OLD_CLUSTER_API = (
    versions.Range(until="1.12.7"),
    versions.Range("1.13.0", "1.13.0"),
)


def needs_cluster_api(kubernetes: str) -> bool:
    """Return whether not every Cluster API supports a Kubernetes version."""
    return kubernetes in versions.Range("1.36.0")


def check_cluster_api(installed: str, kubernetes: str) -> None:
    """Refuse a version of Kubernetes that Cluster API does not support."""
    is_old = versions.applies(_OLD_CLUSTER_API, installed)
    if is_old and needs_cluster_api(kubernetes):
        raise errors.NotSupported(
            "the management cluster's Cluster API is too old for the "
            "Kubernetes of an image: ask the operator to upgrade it. It is "
            f"{installed}, and Kubernetes v{_bare(kubernetes)} needs 1.12.8 "
            "or 1.13.1"
        )


def check_encryption(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse a change that makes encrypted data in etcd unreadable.

    :param old: values of the cluster so far
    :param new: those that it is to get
    """
    before, after = (
        paths.value_at(each, paths.ENCRYPTION) or {} for each in (old, new)
    )
    if not before.get("enabled"):
        return
    if not after.get("enabled"):
        label, actual, allowed = "etcd_encryption_enabled", "false", "true"
    elif after.get("provider") != before.get("provider"):
        label, actual = "etcd_encryption_provider", str(after.get("provider"))
        allowed = str(before.get("provider"))
    else:
        return
    raise errors.NotSupported(
        f"label {label}: give {allowed}. It is {errors.shown(actual)}; "
        "what the cluster has encrypted in etcd could not be read any more"
    )


def check_cni_version(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse an older version of the network plugin.

    :param old: values of the cluster so far
    :param new: those that it is to get
    """
    for label in (networking.CALICO_VERSION, networking.CILIUM_VERSION):
        before, after = (
            str(paths.value_at(each, label.becomes[0]) or "")
            for each in (old, new)
        )
        if versions.is_older(after, before):
            raise errors.NotSupported(
                f"label {label.name}: give the version that the cluster has, "
                f"{before}, or a later one. It is {errors.shown(after)}"
            )


def distribution(content: Mapping[str, Any]) -> str:
    """Return the kind of operating system of all machines in the values."""
    return str(content.get(paths.DISTRO) or CHARTS_DISTRO)


def check_distribution(kept: str, old: Mapping[str, Any], new: str) -> None:
    """Refuse another kind of operating system beside a group that stays.

    :param kept: Magnum's name of the group
    :param old: values of the cluster so far
    :param new: ``osDistro`` of the new image
    """
    before = distribution(old)
    if before != new:
        raise errors.NotSupported(
            "all machines of a cluster have one os_distro: choose a template "
            f"whose image is {before}, not {new}. Nodegroup "
            f"{errors.shown(kept)} keeps its own image of {before}"
        )


def control_plane_version(values: Mapping[str, Any]) -> str:
    """Return the Kubernetes version of the control plane, or ""."""
    own = values.get(paths.CONTROL_PLANE) or {}
    version = own.get(paths.KUBERNETES) or values.get(paths.KUBERNETES)
    return _bare(str(version or ""))


def kubelet(content: Mapping[str, Any], name: str) -> str:
    """Return the Kubernetes version of a node group; empty: not known.

    :param content: all values
    :param name: the chart's name of the group
    """
    item = values.items_by_name(content).get(name)
    if item is None:
        return ""
    return str(pinned(item, content).get(paths.KUBERNETES) or "")


def pinned(
    item: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an item of ``nodeGroups`` with its own version and image.

    1.4.0's groups have neither version nor image of their own.
    """
    below = {**values, **(values.get(paths.GROUP_DEFAULTS) or {})}
    inherited = {
        key: below[key]
        for key in (paths.KUBERNETES, paths.IMAGE, paths.IMAGE_ID)
        if below.get(key)
    }
    if item.get(paths.IMAGE) or item.get(paths.IMAGE_ID):
        inherited.pop(paths.IMAGE, None)
        inherited.pop(paths.IMAGE_ID, None)
    return {**inherited, **item}


def batched(item: Mapping[str, Any], size: int | None) -> dict[str, Any]:
    """Return an item of ``nodeGroups`` that replaces so many machines at once.

    One that gets additional machines meanwhile stays as it is.

    :param size: None or 1: as chart and operator have it
    """
    if paths.value_at(item, f"{paths.ROLLING}.maxSurge"):
        return dict(item)
    settings = {k: v for k, v in item.items() if k != paths.ROLLOUT}
    count = item.get(paths.COUNT, item.get(paths.MAXIMUM))
    size = min(size or 1, max(1, int(count or 1)))
    if size == 1:
        return settings
    paths.put(settings, f"{paths.ROLLING}.maxUnavailable", size)
    return settings


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def _bare(version: str) -> str:
    return version.removeprefix("v")


#: Charts whose provider lets DNS servers change: since CAPO 0.13.
_FREE_NAME_SERVERS = versions.Range(since="0.24.0")

_EXPANSION = "allowVolumeExpansion"


#: Labels that come with the image, or need a server group of Nova.
WITH_MACHINES = (nodes.KUBE_TAG, nodes.SERVER_GROUP_POLICY)


def is_fixed(label: labels.Label[Any]) -> bool:
    """Return whether no request for labels alone changes this one."""
    if (
        label in WITH_MACHINES
        or not label.becomes
        or label.scope is labels.Scope.TEMPLATE
    ):
        return True
    path = label.becomes[0]
    if path.startswith(f"{paths.CINDER_CLASS}."):
        return not path.endswith(_EXPANSION)
    return _is_kept(label)


def _is_kept(label: labels.Label[Any]) -> bool:
    path = f"{label.becomes[0] if label.becomes else ''}."
    return path.startswith(tuple(f"{each}." for each in paths.KEPT))


#: Kept labels of which old values may have none: those of the cluster stay.
_OF_CLUSTER = (api_server.LB_PROVIDER, networking.FIXED_SUBNET_CIDR)


def keep_fields(
    new: paths.Values,
    old: Mapping[str, Any],
    version: str,
    live: Mapping[str, Any] | None,
) -> paths.Values:
    """Return the new values with the immutable fields of the old ones.

    :param version: of the chart that gets the new values
    :param live: the OpenStackCluster; None: there is none
    """
    result = copy.deepcopy(new)
    for path in paths.KEPT:
        paths.put(result, path, paths.value_at(old, path))
    _keep_name_servers(result, version, live)
    _keep_classes(result, old)
    return result


def _keep_name_servers(
    new: paths.Values, version: str, live: Mapping[str, Any] | None
) -> None:
    """Keep the DNS servers that the OpenStackCluster has.

    Old charts ignored the value.
    """
    if version in _FREE_NAME_SERVERS:
        return
    subnets = paths.value_at(live, "spec.managedSubnets") or [{}]
    servers = subnets[0].get("dnsNameservers")
    applies = versions.applies(networking.NAME_SERVERS, version)
    paths.put(new, paths.NAME_SERVERS, servers if applies else None)


def _keep_classes(new: paths.Values, old: Mapping[str, Any]) -> None:
    """Keep the classes of the old values, before those of the new ones."""
    if not paths.value_at(new, paths.CINDER) or any(
        paths.value_at(each, paths.CINDER_ENABLED) is False
        for each in (old, new)
    ):
        return
    default, *more = _classes(old)
    if default is None and not more:
        return
    wanted = {each["name"]: each for each in _classes(new) if _name(each)}
    names = {_name(each) for each in (default, *more)}
    kept = [_kept_class(each, wanted.get(_name(each))) for each in more]
    kept += [
        {**each, "isClusterDefault": False}
        for name, each in wanted.items()
        if name not in names
    ]
    default = _kept_class(default, wanted.get(_name(default)))
    paths.put(new, paths.CINDER_CLASS, default)
    paths.put(new, paths.CINDER_CLASSES, kept)


def _name(storage_class: Mapping[str, Any] | None) -> str:
    return str((storage_class or {}).get("name") or "")


def _kept_class(old: Any, new: Mapping[str, Any] | None) -> Any:
    """Return a class with the one field that Kubernetes lets change."""
    if not new or _EXPANSION not in new:
        return old
    return {**old, _EXPANSION: new[_EXPANSION]}


def _classes(values: Mapping[str, Any]) -> list[Any]:
    """Return the default class, which may be None, and the others."""
    more = paths.value_at(values, paths.CINDER_CLASSES) or []
    return [paths.value_at(values, paths.CINDER_CLASS), *more]


def living(
    cluster: cluster_spec.Cluster, old: Mapping[str, Any]
) -> cluster_spec.Cluster:
    """Return the cluster with the immutable fields of its present values.

    The checks and values of the topics then fit the values that it keeps.
    """
    cni = paths.value_at(old, paths.CNI)
    api = cluster_spec.ApiServer(
        paths.value_at(old, paths.API_BALANCER) is not False,
        paths.value_at(old, paths.API_HAS_FLOATING_IP) is not False,
        paths.value_at(old, paths.API_PORT),
    )
    lasting: dict[str, Any] = {api_server.FLOATING_IP.name: api.floating_ip}
    for label in filter(_is_kept, features.LABELS):
        value = paths.value_at(old, label.becomes[0])
        if value or label not in _OF_CLUSTER:
            value = tuple(value) if isinstance(value, list) else value
            lasting.setdefault(label.name, value or label.default)
    return dataclasses.replace(
        cluster,
        cni=cni if cni in networking.CNIS else cluster.cni,
        labels=labels.Values(lasting).overriding(cluster.labels),
        network=_network(cluster.network, old),
        api=api,
    )


def _network(
    network: cluster_spec.Network, old: Mapping[str, Any]
) -> cluster_spec.Network:
    chosen = paths.value_at(old, paths.NODE_NETWORK) or {}
    subnet = paths.value_at(old, paths.NODE_SUBNET) or {}
    if chosen or subnet:
        return dataclasses.replace(
            network,
            fixed_id=chosen.get("id") or network.fixed_id or str(chosen),
            fixed_subnet_id=subnet.get("id") or network.fixed_subnet_id,
        )
    return dataclasses.replace(
        network, fixed_id=None, fixed_subnet_id=None, subnet_cidrs=()
    )
