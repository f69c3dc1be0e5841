# SPDX-License-Identifier: Apache-2.0

"""Machines that a user chooses, by the names of their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view

#: Nodes that a text names at most.
_SHOWN = 20


def chosen(
    nodes: Sequence[str], objects: view.View, group: requested_groups.Group
) -> list[str]:
    """Return the names of the Machines that the user wants to lose.

    :param nodes: IDs of servers, names of nodes or of Machines
    :param group: with the new count and the name of its live objects
    :raises InvalidInput: one is not in the group, or they are too many
    """
    machines = [
        each
        for each in objects.machines_of(group.chart_name)
        if not view.deleting(each)
    ]
    by_name = {
        name: view.name_of(each)
        for each in machines
        for name in _names_of(each)
    }
    subject = f"nodegroup {errors.shown(group.name)}"
    if strange := [each for each in nodes if each not in by_name]:
        shown = ", ".join(map(errors.shown, strange))
        raise errors.InvalidInput(
            f"nodes_to_remove: {subject} has no {shown}; its nodes are "
            f"{_listed(machines)}"
        )
    chosen = [by_name[each] for each in nodes]
    if twice := [each for each in chosen if chosen.count(each) > 1]:
        raise errors.InvalidInput(
            f"nodes_to_remove names {twice[0]} more than once"
        )
    live = view.spec_of(objects.deployment(group.chart_name))
    now = int(live.get("replicas") or 0)
    left = now - len(chosen)
    if group.count > left:
        raise errors.InvalidInput(
            f"nodes_to_remove: {subject} has {now} nodes, and without those "
            f"that are to go node_count is at most {left}, not {group.count}"
        )
    return chosen


def _names_of(machine: view.Object) -> Iterator[str]:
    """Yield each name that a user may give to a node."""
    yield view.name_of(machine)
    if node := view.status_of(machine).get("nodeRef"):
        yield str(node["name"])
    if provider := view.spec_of(machine).get("providerID"):
        # openstack:///<id>, or openstack://<region>/<id>
        yield str(provider).rpartition("/")[2]


def _listed(machines: Sequence[view.Object]) -> str:
    if not machines:
        return "none"
    shown = [list(_names_of(each))[:2][-1] for each in machines]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more
