# SPDX-License-Identifier: Apache-2.0

"""A topic: its labels, its checks and its part of the chart values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import dataclasses
import enum
from typing import Any, TypeAlias

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

#: Chart values, or a part of them.
Values: TypeAlias = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Setup:
    """Files and commands of machines, in addition to those of the chart.

    Lists of several topics are joined in the order of the topics; in values
    of a topic's own a list has one writer.

    :param files: ``files`` of a KubeadmConfigSpec
    :param before: ``preKubeadmCommands``
    :param after: ``postKubeadmCommands``
    """

    files: tuple[Values, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def machine_file(path: str, content: str, permissions: str) -> Values:
    """Return an item of ``files`` that root owns."""
    return {
        "path": path,
        "owner": "root:root",
        "permissions": permissions,
        "content": content,
    }


class Nodes(enum.Enum):
    """The machines that a setup is for."""

    CONTROL_PLANE = "control plane"
    WORKERS = "workers"


def _no_cluster_values(_: cluster_spec.Cluster) -> Values:
    return {}


def _no_group_values(
    _: cluster_spec.Cluster, __: cluster_spec.NodeGroup
) -> Values:
    return {}


def _no_setup(_: cluster_spec.Cluster, __: Nodes) -> Setup:
    return Setup()


def _no_check(_: cluster_spec.Cluster) -> None:
    return None


@dataclasses.dataclass(frozen=True)
class Topic:
    """One feature of a cluster, declared in one file.

    :param name: the heading of its labels in the documentation
    :param labels: labels that belong to this topic
    :param cluster: the topic's values for the whole cluster
    :param group: the topic's keys in one item of ``nodeGroups``
    :param setup: files and commands of the machines; those of the workers
        go to ``nodeGroupDefaults``
    :param check: raises InvalidInput for what contradicts itself
    """

    name: str
    labels: tuple[labels.Label[Any], ...] = ()
    cluster: Callable[[cluster_spec.Cluster], Values] = _no_cluster_values
    group: Callable[[cluster_spec.Cluster, cluster_spec.NodeGroup], Values] = (
        _no_group_values
    )
    setup: Callable[[cluster_spec.Cluster, Nodes], Setup] = _no_setup
    check: Callable[[cluster_spec.Cluster], None] = _no_check


def check_dependents(
    settings: labels.Values,
    switches: Iterable[labels.Label[Any]],
    dependent: Iterable[labels.Label[Any]],
    wanted: str,
) -> None:
    """Refuse labels of a feature that is off.

    Otherwise a user would believe that the feature is on. Defaults of the
    operator do not count, nor labels beside an explicit "off".

    :param switches: one of them is enough
    :param wanted: what to give with such a label, in words
    :raises LabelError: for the first one
    """
    if any(settings[each] or settings.given(each) for each in switches):
        return
    for label in dependent:
        if is_given(settings, label):
            raise settings.refused(label, f"it together with {wanted}")


def is_given(settings: labels.Values, label: labels.Label[Any]) -> bool:
    """Return whether a user gave the label a value.

    Labels that can't change any more are no reason to refuse a request.
    """
    setting = settings.given(label)
    return (
        setting is not None
        and not settings.lasts(label)
        and bool(setting[1].strip())
    )


def switch_values(
    cluster: cluster_spec.Cluster,
    switches: Iterable[labels.Label[bool]],
    *,
    below: str = "addons",
    always: bool = False,
) -> Values:
    """Return the values of addons that can be switched on or off.

    A switch is sent if it was given or differs from its default, so that
    overlays of the operator win otherwise. It is never sent to a chart
    version that does not have the addon.

    :param switches: each becomes the path ``<below>.<addon>.enabled``
    :param always: send them whatever their values are
    """
    return {
        _addon_of(label, below): {"enabled": cluster.labels[label]}
        for label in switches
        if versions.applies(label.charts, cluster.chart.version)
        and (always or _is_turned(cluster.labels, label))
    }


def _is_turned(settings: labels.Values, label: labels.Label[bool]) -> bool:
    return (
        settings.given(label) is not None or settings[label] != label.default
    )


def _addon_of(label: labels.Label[bool], below: str) -> str:
    path = label.becomes[0]
    return path.removeprefix(f"{below}.").removesuffix(".enabled")
