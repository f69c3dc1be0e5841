# SPDX-License-Identifier: Apache-2.0

"""The values of a release, from the spec of a cluster.

Each topic writes its own leaves. Dictionaries merge; a second writer of one
leaf, or of a list, is an error of the program and raises at once: the last
one never wins silently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
import copy
import dataclasses
import re
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups

#: Annotation of the Cluster with the number of accepted changes that rows do
#: not show: upgrades, rollbacks, rollouts, steps of plans. Two templates may
#: want the same rows, and the driver must recognize an older state.
UPGRADE_ANNOTATION = "magnum.openstack.org/upgrade"


def checked(
    cluster: cluster_spec.Cluster, ignorable: Collection[str] = ()
) -> paths.Values:
    """Check a cluster and build its values.

    :param ignorable: labels that the chart may ignore, because they can't be
        changed any more
    :raises InvalidInput: settings contradict each other, or the chart would
        ignore one
    """
    version = cluster.chart.version
    declared = [each for each in features.LABELS if each.name not in ignorable]
    labels.check_chart(declared, cluster.labels, version)
    for group in cluster.node_groups:
        labels.check_chart(declared, group.labels, version)
    for each in features.TOPICS:
        each.check(cluster)
    values = build(cluster)
    refuse_templates(values.get(paths.ADDONS), paths.ADDONS)
    return values


def check_group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> None:
    """Refuse one more group that contradicts itself or a living cluster.

    The cluster's own labels are not checked: they can't be changed.

    :param cluster: an outline
    :raises InvalidInput: the user can correct it
    """
    declared, version = features.LABELS_OF_GROUPS, cluster.chart.version
    labels.check_chart(declared, group.labels, version)
    whole = dataclasses.replace(cluster, node_groups=(group,))
    for each in features.TOPICS:
        each.check(whole)


def build(cluster: cluster_spec.Cluster) -> paths.Values:
    """Return all values for ``cluster``, ready for helm."""
    values: paths.Values = {}
    for each in features.TOPICS:
        topic.merge(values, each.cluster(cluster))
    values[paths.GROUPS] = [
        node_group(cluster, group) for group in cluster.node_groups
    ]
    return values


def node_group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> paths.Values:
    """Return one item of ``nodeGroups``."""
    item: paths.Values = {}
    for each in features.TOPICS:
        topic.merge(item, each.group(cluster, group))
    overlay(item, group.profile)
    return item


def generation(values: Mapping[str, Any]) -> int:
    """Return the number of the last change in the values; 0: none."""
    return live_generation(values.get(paths.ANNOTATIONS) or {})


def live_generation(annotations: Mapping[str, Any]) -> int:
    """Return the number of the last change in the Cluster's annotations."""
    text = str(annotations.get(UPGRADE_ANNOTATION) or 0)
    return int(text) if text.isdecimal() else 0


def upgraded(values: paths.Values, before: Mapping[str, Any]) -> paths.Values:
    """Return values with the next number of a change.

    :param before: the values of the cluster so far
    """
    count = str(generation(before) + 1)
    return _annotated(values, UPGRADE_ANNOTATION, count)


def stamped(values: paths.Values, fingerprint: str) -> paths.Values:
    """Return values that write the fingerprint on the Cluster.

    :param fingerprint: of the rows; empty: there are none yet
    """
    if not fingerprint:
        return values
    annotation = requested_groups.FINGERPRINT_ANNOTATION
    return _annotated(values, annotation, fingerprint)


def stamp(values: paths.Values) -> str:
    """Return the fingerprint in the values, or ""."""
    return _annotation(values, requested_groups.FINGERPRINT_ANNOTATION)


def is_hibernated(values: Mapping[str, Any]) -> bool:
    """Return whether the workers of a cluster are away."""
    return bool(_annotation(values, requested_groups.HIBERNATED_ANNOTATION))


def with_hibernation(
    values: paths.Values, hibernated: bool | None
) -> paths.Values:
    """Return values of a cluster whose workers are away, or are back.

    :param hibernated: None: as before
    """
    name = requested_groups.HIBERNATED_ANNOTATION
    if hibernated is None or hibernated == is_hibernated(values):
        return values
    if hibernated:
        return _annotated(values, name, "true")
    notes = {**values[paths.ANNOTATIONS]}
    del notes[name]
    return {**values, paths.ANNOTATIONS: notes}


def in_effect(values: paths.Values) -> paths.Values:
    """Return the values that the chart gets: without workers, if hibernated.

    The desired state keeps the counts, and what the autoscaler may do.
    """
    if not is_hibernated(values):
        return values
    items = [
        {
            **{k: v for k, v in each.items() if k not in paths.AUTOSCALED},
            paths.COUNT: 0,
        }
        for each in values.get(paths.GROUPS) or ()
    ]
    return {**values, paths.GROUPS: items}


def _annotation(values: Mapping[str, Any], name: str) -> str:
    return str((values.get(paths.ANNOTATIONS) or {}).get(name) or "")


def _annotated(values: paths.Values, name: str, text: str) -> paths.Values:
    annotations = values.get(paths.ANNOTATIONS) or {}
    return {**values, paths.ANNOTATIONS: {**annotations, name: text}}


def without_nulls(content: Any) -> Any:
    """Return values without what is null, which helm need not write down."""
    if isinstance(content, list):
        return [without_nulls(each) for each in content]
    if not isinstance(content, dict):
        return content
    return {k: without_nulls(v) for k, v in content.items() if v is not None}


def with_groups(
    values: paths.Values,
    rows: requested_groups.Rows,
    pending: desired_state.PendingRequests,
) -> paths.Values:
    """Return a copy with the machines that the rows request.

    Only the count of the control plane changes. Present node groups keep
    their places; their counts and pending settings change. New groups follow
    in the order of the rows, and groups without a row are removed. A refused
    group stays, because it may have machines.

    :param rows: known by the names of the groups in ``values``
    """
    result = copy.deepcopy(values)
    requested = {each.chart_name: each for each in rows.workers}
    refused = {each.chart_name for each in rows.refused}
    items = [
        each
        for each in result.get(paths.GROUPS) or []
        if each["name"] in requested or each["name"] in refused
    ]
    present = {each["name"] for each in items}
    items += [
        copy.deepcopy(pending.items[each.uuid])
        for name, each in requested.items()
        if name not in present and each.uuid in pending.items
    ]
    for item in items:
        if group := requested.get(item["name"]):
            overlay(item, pending.change_of(group))
            # A group that the autoscaler owns has none and keeps that.
            if paths.COUNT in item:
                item[paths.COUNT] = group.count
    if items or paths.GROUPS in result:
        result[paths.GROUPS] = items
    if rows.master is not None:
        own = result.setdefault(paths.CONTROL_PLANE, {})
        own[paths.COUNT] = rows.master.count
    return result


def overlay(target: paths.Values, change: Mapping[str, Any]) -> None:
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
            target[key] = paths.copied(value)


#: The path of a leaf of the values, and its new value; none: it has to go.
Change = Sequence[Any]


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Change]:
    """Return the leaves of values that differ; groups are known by name."""
    return list(_differences(_keyed(before), _keyed(after), ()))


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[Change]:
    for key in {**old, **new}:
        here, before, after = (*path, key), old.get(key), new.get(key)
        if key not in new:
            yield [here]
        elif isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, here)
        elif key not in old or before != after:
            # An explicit null removes a default of the chart.
            yield [here, after]


def changed(
    before: Mapping[str, Any], leaves: Iterable[Change]
) -> paths.Values:
    """Return values with changes; those of groups that are gone have none.

    :param before: may have other counts and groups than those of the changes
    """
    result = _keyed(copy.deepcopy(before))
    for path, *value in leaves:
        if path[0] == paths.GROUPS and path[1] not in result[paths.GROUPS]:
            continue
        inner = result
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner.pop(path[-1], None)
        if value:
            inner[path[-1]] = paths.copied(value[0])
    return {**result, paths.GROUPS: list(result[paths.GROUPS].values())}


def _keyed(content: Mapping[str, Any]) -> dict[str, Any]:
    return {**content, paths.GROUPS: items_by_name(content)}


def patched(
    applied: paths.Values,
    old: paths.Values,
    new: paths.Values,
    of_labels: Iterable[str],
) -> paths.Values:
    """Return the applied values with the difference between two others.

    :param of_labels: paths. With the same default of the operator the two do
        not differ there, and the cluster may be older
    """
    result = changed(applied, changes(old, new))
    for path in of_labels:
        value, there = paths.value_at(new, path), paths.value_at(result, path)
        # Other labels and files of the operator have a part in maps and lists.
        if not isinstance(value or there, Mapping | list):
            paths.put(result, path, value)
    return result


def items_by_name(values: Mapping[str, Any]) -> dict[str, paths.Values]:
    """Return the items of the value ``nodeGroups``, by name."""
    return {str(each["name"]): each for each in values.get(paths.GROUPS) or []}


def group_names(values: Mapping[str, Any]) -> frozenset[str]:
    """Return the chart's names of the node groups that values hold."""
    return frozenset(items_by_name(values))


#: Settings of a node group that change no machine.
_COUNTS = frozenset({paths.COUNT, *paths.AUTOSCALED})


def changed_groups(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> frozenset[str]:
    """Return the node groups of both values whose settings differ.

    Counts are no settings: they change no machine.
    """
    old, new = _settings(before), _settings(after)
    return frozenset(
        name for name in old.keys() & new.keys() if old[name] != new[name]
    )


def _settings(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: without_nulls({k: each[k] for k in each.keys() - _COUNTS})
        for name, each in items_by_name(values).items()
    }


_OPENING = re.compile(r"\{[{%#]")


def refuse_templates(values: Any, path: str) -> None:
    """Refuse text that Jinja2 would take for more than text.

    :param path: where the values are, for the message
    :raises InvalidInput: with the path and the text
    """
    if isinstance(values, Mapping):
        for key, item in values.items():
            refuse_templates(str(key), path)
            refuse_templates(item, f"{path}.{key}")
    elif isinstance(values, list):
        for item in values:
            refuse_templates(item, path)
    elif isinstance(values, str) and _OPENING.search(values):
        raise errors.InvalidInput(
            "give text without {{, {% and {# in values of addons. It is "
            f"{path}={values!r}"
        )
