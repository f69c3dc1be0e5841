# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows as they will be after an upgrade, not saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import dataclasses
import types
from typing import Any

from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.resolve import requested

#: What a cluster takes along to another template.
_FIELDS = (
    "coe_version",
    "docker_volume_size",
    "fixed_network",
    "fixed_subnet",
    "floating_ip_enabled",
    "keypair",
    "master_lb_enabled",
    "name",
    "project_id",
    "stack_id",
    "user_id",
    "uuid",
)
_GROUP_FIELDS = (
    "docker_volume_size",
    "flavor_id",
    "image_id",
    "is_default",
    "max_node_count",
    "min_node_count",
    "name",
    "node_count",
    "node_labels",
    "node_taints",
    "role",
    "uuid",
)
_MASTER = "master"


@dataclasses.dataclass(frozen=True)
class Moved:
    """A cluster with another template.

    :param row: like Magnum's, with the nodegroups that are remade
    :param labels: those that the cluster's user gave
    :param moves: what the upgrade writes into the rows
    :param back: what takes them back
    """

    row: Any
    labels: Mapping[str, str]
    moves: desired_state.Moves
    back: desired_state.Moves


def whole(
    cluster: Any,
    nodegroups: Iterable[Any],
    template: Any,
    own: Any,
    scaled: Mapping[str, int],
) -> Moved:
    """The default groups, and each group with the old template's image.

    :param nodegroups: rows of the groups that ought to exist
    :param own: labels that the user gave; None: the row still says it
    :param scaled: UUIDs of groups of the autoscaler -> their machines
    """
    old = cluster.cluster_template
    chosen = [
        each
        for each in nodegroups
        if each.is_default or each.image_id in (None, old.image_id)
    ]
    changes = {
        each.uuid: {
            "image_id": template.image_id,
            "flavor_id": _flavor(each, old, template),
        }
        for each in chosen
    }
    return _moved(cluster, chosen, template, own, changes, scaled)


def single(
    cluster: Any, nodegroup: Any, own: Any, scaled: Mapping[str, int]
) -> Moved:
    """One group, with the image of the cluster's template."""
    template = cluster.cluster_template
    change = {"image_id": template.image_id, "flavor_id": nodegroup.flavor_id}
    changes = {nodegroup.uuid: change}
    return _moved(cluster, [nodegroup], template, own, changes, scaled)


def _flavor(nodegroup: Any, old: Any, new: Any) -> Any:
    """The new template's, unless the group had one of its own."""
    field = "master_flavor_id" if nodegroup.role == _MASTER else "flavor_id"
    inherited = nodegroup.flavor_id in (None, getattr(old, field))
    return getattr(new, field) if inherited else nodegroup.flavor_id


def _moved(
    cluster: Any,
    chosen: list[Any],
    template: Any,
    own: Any,
    changes: Mapping[str, Mapping[str, Any]],
    scaled: Mapping[str, int],
) -> Moved:
    labels = requested.own_labels(cluster) if own is None else own
    row = types.SimpleNamespace(
        **{name: getattr(cluster, name) for name in _FIELDS},
        labels=dict(labels),
        cluster_template=template,
        nodegroups=[
            _group(cluster, each, changes[each.uuid], scaled)
            for each in chosen
        ],
    )
    return Moved(
        row=row,
        labels=labels,
        moves=desired_state.Moves(template.uuid, changes),
        back=desired_state.Moves(
            cluster.cluster_template_id,
            {
                each.uuid: {
                    name: getattr(each, name) for name in changes[each.uuid]
                }
                for each in chosen
            },
        ),
    )


def _group(
    cluster: Any,
    nodegroup: Any,
    change: Mapping[str, Any],
    scaled: Mapping[str, int],
) -> Any:
    fields = {name: getattr(nodegroup, name, None) for name in _GROUP_FIELDS}
    labels = requested.own_labels_of_group(cluster, nodegroup)
    if nodegroup.is_default:
        # A copy of a label goes with the label.
        fields["min_node_count"] = requested.own_minimum(cluster, nodegroup)
    fields["node_count"] = scaled.get(nodegroup.uuid, nodegroup.node_count)
    return types.SimpleNamespace(**{**fields, **change, "labels": labels})


def fingerprint(
    rows: requested_groups.Rows, moves: desired_state.Moves
) -> str:
    """Of the rows, as they are once they are moved."""

    def moved(group: requested_groups.Group) -> requested_groups.Group:
        fields = dict(moves.groups.get(group.uuid, {}))
        count = fields.pop("node_count", group.count)
        return dataclasses.replace(group, count=count, **fields)

    groups = tuple(map(moved, rows.groups))
    return dataclasses.replace(rows, groups=groups).fingerprint()
