# SPDX-License-Identifier: Apache-2.0

"""Checks of an upgrade that need only versions and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import versions

_COE = "kubernetes"


def check_template(
    driver: str | None, coe: str, server_type: str, name: str
) -> None:
    """Refuse a template of another kind of cluster.

    :param driver: None: an old template, whose driver Magnum chooses
    :param name: of the template
    """
    wanted = {"coe": (coe, _COE), "server_type": (server_type, "vm")}
    if driver:
        wanted["driver"] = (driver, names.DRIVER)
    for field, (actual, allowed) in wanted.items():
        if actual != allowed:
            raise errors.NotSupported(
                f"a cluster of the driver {names.DRIVER} takes a template "
                f"with {field}={allowed}. Cluster template "
                f"{errors.shown(name)} has {errors.shown(actual)}"
            )


def check_batch(size: object) -> None:
    """Refuse a batch of no machines."""
    if size is not None and (not isinstance(size, int) or size < 1):
        raise errors.InvalidInput(
            f"max_batch_size: give 1 or more. It is {errors.shown(size)}"
        )


def check_kubernetes(old: str, new: str, nodegroup: str = "") -> None:
    """Refuse an older Kubernetes, and one that skips a minor version.

    :param old: empty: not known
    :param nodegroup: Magnum's name of the group whose versions they are;
        empty: they are those of the cluster
    """
    what, it = "the cluster", "It"
    if nodegroup:
        what = "a nodegroup"
        it = f"Nodegroup {errors.shown(nodegroup)}"
    before, after = versions.number(old), versions.number(new)
    if before is None or after is None:
        return
    if after < before:
        raise errors.NotSupported(
            f"{what} can't go back to an older Kubernetes: choose a template "
            f"whose image has the version that it runs, or a later one. {it} "
            f"runs v{_bare(old)}, and the new image has v{_bare(new)}"
        )
    if after[:2] > (before[0], before[1] + 1):
        raise errors.NotSupported(
            f"{what} can't skip a minor version of Kubernetes: choose a "
            "template whose image has the same minor version or the next "
            f"one. {it} runs v{_bare(old)}, and the new image has "
            f"v{_bare(new)}"
        )


def check_kept(name: str, kubelet: str, control_plane: str) -> None:
    """Refuse a control plane that the kubelet of a kept group does not fit.

    :param name: Magnum's name of the group
    """
    if nodes.fits(kubelet, control_plane):
        return
    raise errors.NotSupported(
        "upgrade or delete the nodegroup with an image of its own first: a "
        "control plane works with nodes of its own minor version of "
        f"Kubernetes or up to {nodes.SKEW} older ones. Nodegroup "
        f"{errors.shown(name)} has v{_bare(kubelet)}, and the control "
        f"plane gets v{_bare(control_plane)}"
    )


def check_chart(
    old: str, new: str, asked: str = "the label capi_helm_chart_version"
) -> None:
    """Refuse an older version of the chart.

    :param asked: the label or option that names the new version
    """
    before, after = versions.number(old), versions.number(new)
    if before and after and after < before:
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
    release, version = versions.find_tested(chart), versions.number(kubernetes)
    if release is None or version is None:
        return
    first, last = release.kubernetes
    if _minor(first) <= version[1] <= _minor(last):
        return
    raise errors.NotSupported(
        f"the chart is not made for the Kubernetes of the image: {advice}. "
        f"Chart {chart} takes {first} to {last}, and the image has "
        f"v{_bare(kubernetes)}"
    )


def check_encryption(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse a change that makes encrypted data in etcd unreadable.

    :param old: values of the cluster so far
    :param new: those that it is to get
    """
    before, after = (
        topic.value_at(each, "etcd.encryption") or {} for each in (old, new)
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


def check_distribution(
    kept: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    """Refuse another kind of operating system beside groups that stay.

    :param kept: Magnum's name of such a group; empty: there is none
    """
    before = old.get("osDistro") or "ubuntu"
    after = new.get("osDistro") or "ubuntu"
    if kept and before != after:
        raise errors.NotSupported(
            "all machines of a cluster have one os_distro: choose a template "
            f"whose image is {before}, not {after}. Nodegroup "
            f"{errors.shown(kept)} keeps its own image of {before}"
        )


def control_plane_version(values: Mapping[str, Any]) -> str:
    """Return the Kubernetes version of the control plane, or ""."""
    own = topic.value_at(values, "controlPlane.kubernetesVersion")
    return _bare(str(own or values.get("kubernetesVersion") or ""))


def pinned(
    item: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an item of ``nodeGroups`` with its own version and image.

    1.4.0's groups have neither version nor image of their own.
    """
    below = {**values, **(values.get("nodeGroupDefaults") or {})}
    inherited = {
        key: below[key]
        for key in ("kubernetesVersion", "machineImage", "machineImageId")
        if below.get(key)
    }
    if item.get("machineImage") or item.get("machineImageId"):
        inherited.pop("machineImage", None)
        inherited.pop("machineImageId", None)
    return {**inherited, **item}


def batched(item: Mapping[str, Any], size: int | None) -> dict[str, Any]:
    """Return an item of ``nodeGroups`` that replaces so many machines at once.

    :param size: None or 1: as chart and operator have it
    """
    settings = {k: v for k, v in item.items() if k != "rolloutStrategy"}
    count = item.get("machineCount", item.get("machineCountMax"))
    size = min(size or 1, max(1, int(count or 1)))
    if size == 1:
        return settings
    rolling = {"rollingUpdate": {"maxUnavailable": size}}
    return {**settings, "rolloutStrategy": rolling}


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def _bare(version: str) -> str:
    return version.removeprefix("v")
