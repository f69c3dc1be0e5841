# SPDX-License-Identifier: Apache-2.0

"""What a topic is: its labels and its share of the values."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import enum
from typing import Any, TypeAlias

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

#: Chart values, or a part of them.
Values: TypeAlias = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Setup:
    """What machines get at their first boot, beside what the chart adds.

    Lists of several topics are joined in the order of the topics; in values
    of a topic's own a list has one writer.

    :param files: ``files`` of a KubeadmConfigSpec
    :param before: ``preKubeadmCommands``
    :param after: ``postKubeadmCommands``
    """

    files: tuple[Values, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Nodes(enum.Enum):
    """Whose setup it is."""

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
