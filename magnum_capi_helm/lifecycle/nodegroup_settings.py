# SPDX-License-Identifier: Apache-2.0

"""What an update of a nodegroup changes in the values.

Bounds, node labels and node taints: nothing else of a living group can be
updated. Only what the user changed is changed, and OpenStack is not asked.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import registration
from magnum_capi_helm.resolve import requested

#: Fields of a nodegroup's row that an update may change. Magnum before 23
#: has no labels and taints of nodes.
FIELDS = ("min_node_count", "max_node_count", "node_labels", "node_taints")

#: Keys of an item of ``nodeGroups`` that belong to the bounds.
_BOUNDS = ("autoscale", "machineCountMin", "machineCountMax", "machineCount")
_LABELS = "nodeLabels"
_NOT_LOOKED_UP = cluster_spec.Image("", "", "", "ubuntu")


def change(
    cluster: Any,
    new: Any,
    old: Any,
    *,
    known: desired_state.Intent,
    item: topic.Values,
    pending: topic.Values,
) -> topic.Values:
    """Keys of the group's item that change; a key that is None has to go.

    :param new: the row as the user wants it, not saved
    :param old: the row as it is saved
    :param known: what was last wanted of the release
    :param item: the group's item of ``nodeGroups`` so far
    :param pending: what the saved row changes in it and is not applied yet
    :raises InvalidInput: the user can correct it
    """
    release = str(cluster.stack_id)
    ours, theirs = rows.group(new, release), rows.group(old, release)
    if ours.settings == theirs.settings:
        return {}
    asked = requested.living_labels(cluster, known.labels)
    group = _group(cluster, asked, new, ours, theirs, {**item, **pending})
    outline = resolve_cluster.outline(cluster, asked, known.chart, release)
    made = values.node_group(outline, group)
    found = dict(pending)
    if (ours.minimum, ours.maximum) != (theirs.minimum, theirs.maximum):
        found.update({key: made.get(key) for key in _BOUNDS})
    if ours.node_labels != theirs.node_labels:
        there = {**item.get(_LABELS, {}), **pending.get(_LABELS, {})}
        found[_LABELS] = {**dict.fromkeys(there), **made[_LABELS]}
    if ours.node_taints != theirs.node_taints:
        found["kubeadmConfigSpec"] = _registration(made)
    return found


def _registration(made: topic.Values) -> topic.Values:
    """The taints alone, which may be none."""
    taints = (
        made.get("kubeadmConfigSpec", {})
        .get("joinConfiguration", {})
        .get("nodeRegistration", {})
        .get("taints")
    )
    return {"joinConfiguration": {"nodeRegistration": {"taints": taints}}}


def _group(
    cluster: Any,
    asked: labels.Values,
    row: Any,
    ours: requested_groups.Group,
    theirs: requested_groups.Group,
    item: topic.Values,
) -> cluster_spec.NodeGroup:
    """The group, as far as an update concerns it.

    A bound that the user left alone is what it was: a label may have given
    it, and the row does not show that.
    """
    minimum, maximum = ours.minimum, ours.maximum
    if minimum == theirs.minimum:
        minimum = item.get("machineCountMin") or minimum
    if maximum == theirs.maximum:
        maximum = item.get("machineCountMax") or maximum
    found = requested.nodegroup_labels(cluster, asked, row)
    return cluster_spec.NodeGroup(
        name=ours.chart_name,
        flavor="",
        count=ours.count,
        image=_NOT_LOOKED_UP,
        minimum=minimum,
        maximum=maximum,
        magnum_name=ours.name,
        role=row.role,
        labels=found,
        node_labels=registration.node_labels(row, found),
        taints=registration.taints(row, found),
    )
