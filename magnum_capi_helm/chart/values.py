# SPDX-License-Identifier: Apache-2.0

"""The values of a release, from the spec of a cluster.

Each topic writes its own leaves. Dictionaries merge; a second writer of one
leaf, or of a list, is an error of the program and raises at once: the last
one never wins silently.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
import copy
import dataclasses
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.chart import addon_templates
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import requested_groups

#: Annotation of the Cluster that says which intent it was made from.
INTENT_ANNOTATION = "magnum.openstack.org/intent"
#: Annotation of the Cluster that counts its upgrades: two templates may want
#: the same of the rows.
UPGRADE_ANNOTATION = "magnum.openstack.org/upgrade"


class TwoWritersError(Exception):
    """Two topics write the same leaf: a programming error."""


def check(cluster: cluster_spec.Cluster, spared: Collection[str] = ()) -> None:
    """Refuse what contradicts itself, or what the chart would ignore.

    :param spared: labels that nobody can change any more: the chart may
        ignore those
    :raises InvalidInput: the user can correct it
    """
    version = cluster.chart.version
    declared = [each for each in features.LABELS if each.name not in spared]
    labels.check_chart(declared, cluster.labels, version)
    for group in cluster.node_groups:
        labels.check_chart(declared, group.labels, version)
    for each in features.TOPICS:
        each.check(cluster)
    addon_templates.refuse(build(cluster).get("addons"), "addons")


def check_group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> None:
    """Refuse one more group that contradicts itself or a living cluster.

    The cluster's own labels are as they are: nobody can change them.

    :param cluster: an outline
    :raises InvalidInput: the user can correct it
    """
    declared = [
        each
        for each in features.LABELS
        if each.scope is labels.Scope.NODEGROUP
    ]
    labels.check_chart(declared, group.labels, cluster.chart.version)
    whole = dataclasses.replace(cluster, node_groups=(group,))
    for each in features.TOPICS:
        each.check(whole)


def build(cluster: cluster_spec.Cluster) -> topic.Values:
    """All values for ``cluster``, ready for helm."""
    values: topic.Values = {}
    for each in features.TOPICS:
        merge(values, each.cluster(cluster))
    for key, nodes in _SETUPS.items():
        if setup := _setup(cluster, nodes):
            merge(values, {key: {"kubeadmConfigSpec": setup}})
    values["nodeGroups"] = [
        node_group(cluster, group) for group in cluster.node_groups
    ]
    return values


def node_group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    """One item of ``nodeGroups``."""
    item: topic.Values = {}
    for each in features.TOPICS:
        merge(item, each.group(cluster, group))
    return item


#: Where the setup of machines belongs. A list in one group would replace the
#: list of the defaults, so workers have theirs in the defaults alone.
_SETUPS = {
    "controlPlane": topic.Nodes.CONTROL_PLANE,
    "nodeGroupDefaults": topic.Nodes.WORKERS,
}


def _setup(cluster: cluster_spec.Cluster, nodes: topic.Nodes) -> topic.Values:
    """The topics' files and commands, joined; without empty lists."""
    parts = [each.setup(cluster, nodes) for each in features.TOPICS]
    joined = {
        "files": [item for part in parts for item in part.files],
        "preKubeadmCommands": [item for part in parts for item in part.before],
        "postKubeadmCommands": [item for part in parts for item in part.after],
    }
    return {key: items for key, items in joined.items() if items}


def merge(target: topic.Values, source: Mapping[str, object]) -> None:
    """Add ``source`` to ``target`` in place.

    :raises TwoWritersError: when both hold a value at the same path
    """
    _merge(target, source, ())


def _merge(
    target: topic.Values, source: Mapping[str, object], path: tuple[str, ...]
) -> None:
    for key, value in source.items():
        here = (*path, key)
        if key not in target:
            target[key] = _copied(value)
        elif isinstance(target[key], dict) and isinstance(value, Mapping):
            _merge(target[key], value, here)
        else:
            raise TwoWritersError(".".join(here))


def _copied(value: Any) -> Any:
    """A copy in which no dictionary is in two places, unlike deepcopy's."""
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value


def upgrades(values: Mapping[str, Any]) -> str:
    """How often the cluster that has these values was upgraded."""
    annotations = values.get("clusterAnnotations") or {}
    return str(annotations.get(UPGRADE_ANNOTATION) or "0")


def upgraded(values: topic.Values, before: Mapping[str, Any]) -> topic.Values:
    """A copy that makes the live Cluster show one upgrade more.

    :param before: the values of the cluster so far
    """
    result = copy.deepcopy(values)
    annotations = result.setdefault("clusterAnnotations", {})
    annotations[UPGRADE_ANNOTATION] = str(int(upgrades(before)) + 1)
    return result


def stamped(values: topic.Values, fingerprint: str) -> topic.Values:
    """A copy that makes the live Cluster show which intent it has."""
    result = copy.deepcopy(values)
    annotations = result.setdefault("clusterAnnotations", {})
    annotations[INTENT_ANNOTATION] = fingerprint
    return result


def without_nulls(given: Any) -> Any:
    """Values without what is null, which helm need not write down."""
    if isinstance(given, list):
        return [without_nulls(each) for each in given]
    if not isinstance(given, dict):
        return given
    return {k: without_nulls(v) for k, v in given.items() if v is not None}


def stamp(values: topic.Values) -> str:
    """The fingerprint that values were stamped with; empty: with none."""
    annotations = values.get("clusterAnnotations") or {}
    return str(annotations.get(INTENT_ANNOTATION) or "")


def with_groups(
    values: topic.Values,
    rows: requested_groups.Rows,
    parked: desired_state.Parked,
) -> topic.Values:
    """A copy with the machines that the rows want.

    Of the control plane only the count changes. Node groups that are there
    stay in their places; of them only the count and what is parked for
    their settings change. New ones come after them in the order of the
    rows, and those that the rows don't want go. A group that was refused is
    left alone: it may have machines.

    :param rows: known by the names of the groups in ``values``
    """
    result = copy.deepcopy(values)
    ours = {each.chart_name: each for each in rows.workers}
    spared = {each.chart_name for each in rows.refused}
    kept = [
        each
        for each in result.get("nodeGroups") or []
        if each["name"] in ours or each["name"] in spared
    ]
    there = {each["name"] for each in kept}
    kept += [
        copy.deepcopy(parked.items[each.uuid])
        for name, each in ours.items()
        if name not in there and each.uuid in parked.items
    ]
    for item in kept:
        if item["name"] in ours:
            _update(item, ours[item["name"]], parked)
    if kept or "nodeGroups" in result:
        result["nodeGroups"] = kept
    if rows.master is not None:
        own = result.setdefault("controlPlane", {})
        own["machineCount"] = rows.master.count
    return result


def _update(
    item: topic.Values,
    group: requested_groups.Group,
    parked: desired_state.Parked,
) -> None:
    """Give an item of ``nodeGroups`` the settings and the count of a row.

    A group that the autoscaler owns has no ``machineCount`` and keeps that.
    """
    overlay(item, parked.change_of(group))
    if "machineCount" in item:
        item["machineCount"] = group.count


def overlay(target: topic.Values, change: Mapping[str, Any]) -> None:
    """Put ``change`` over ``target`` in place; None removes a key."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, Mapping):
            below = target.setdefault(key, {})
            overlay(below, value)
            if not below:
                del target[key]
        else:
            target[key] = _copied(value)


def group_names(values: Mapping[str, Any]) -> frozenset[str]:
    """The chart's names of the node groups that values hold."""
    return frozenset(
        str(group["name"]) for group in values.get("nodeGroups") or []
    )
