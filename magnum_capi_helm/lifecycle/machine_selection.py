# SPDX-License-Identifier: Apache-2.0

"""Choose the nodes that a smaller group loses.

A Machine that is marked goes first when its group shrinks (Cluster API's
``machineset_deletion_order.go``). The mark alone removes nothing, so it needs
no Lease; but it has to be there before the count falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib

from oslo_log import log

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

ANNOTATION = "cluster.x-k8s.io/delete-machine"
#: Its value where we set it; others may set it by hand.
_OURS = "magnum"

#: Nodes that a text names at most.
_SHOWN = 20


def choose(
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
        name: view.name_of(each) for each in machines for name in _names(each)
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


def _names(machine: view.Object) -> Iterator[str]:
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
    shown = [list(_names(each))[:2][-1] for each in machines]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


@contextlib.contextmanager
def marked(
    operation: operations.Operation, machines: Sequence[str]
) -> Iterator[None]:
    """Mark Machines for deletion; take the marks back if the block raises.

    :raises CapiHelmError: a Machine could not be marked
    """
    try:
        for name in machines:
            _mark(operation, name, _OURS)
        yield
    except errors.CapiHelmError:
        for name in machines:
            _unmark_if_possible(operation, name)
        raise


def _mark(
    operation: operations.Operation, name: str, value: str | None
) -> None:
    change = {"metadata": {"annotations": {ANNOTATION: value}}}
    operation.runtime.management.patch(
        kinds.MACHINE, operation.namespace, name, change
    )


def _unmark_if_possible(operation: operations.Operation, name: str) -> None:
    problem = ""
    try:
        _mark(operation, name, None)
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        # A later resize that removes no node takes it away (withdraw).
        LOG.warning("Machine %s stays marked to go: %s", name, problem)


def withdraw(
    operation: operations.Operation, rows_now: requested_groups.Rows
) -> None:
    """Remove the marks in groups that will not shrink any more.

    A count that was raised again before it was applied must not delete those
    Machines at the next occasion.
    """
    owned = f"{view.CLUSTER_NAME_LABEL}={operation.release}"
    machines = [
        each
        for each in operation.runtime.management.list(
            kinds.MACHINE, operation.namespace, owned, metadata_only=True
        )
        if not view.deleting(each)
    ]
    marked_machines = [
        each
        for each in machines
        if view.annotations_of(each).get(ANNOTATION) == _OURS
    ]
    for owner in sorted({_owner(each) for each in marked_machines}):
        existing = sum(_owner(each) == owner for each in machines)
        if _shrinks(operation, rows_now, owner, existing):
            continue
        for each in marked_machines:
            if _owner(each) == owner:
                _mark(operation, view.name_of(each), None)


def _owner(machine: client.Object) -> str:
    return view.labels_of(machine).get(view.DEPLOYMENT_LABEL, "")


def _shrinks(
    operation: operations.Operation,
    rows_now: requested_groups.Rows,
    owner: str,
    existing: int,
) -> bool:
    """Return whether a group has more machines than the rows want."""
    release = operation.release
    named = rows_now.known_as({owner.removeprefix(f"{release}-")})
    counts = {
        names.machine_deployment(release, each.chart_name): each.count
        for each in named.workers
    }
    live = operation.runtime.management.get(
        kinds.MACHINE_DEPLOYMENT, operation.namespace, owner
    )
    if live is None or owner not in counts:
        return True
    replicas = int(view.spec_of(live).get("replicas") or 0)
    return max(replicas, existing) > counts[owner]
