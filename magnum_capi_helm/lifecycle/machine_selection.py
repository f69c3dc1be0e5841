# SPDX-License-Identifier: Apache-2.0

"""Which nodes a smaller group loses, where the user chooses.

A Machine that is marked goes first when its group shrinks, whatever else the
group would choose by (Cluster API's ``machineset_deletion_order.go``). The
mark alone removes nothing, so it needs no Lease; but it has to be there
before the count falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

ANNOTATION = "cluster.x-k8s.io/delete-machine"
#: Its value where we set it; others may set it by hand.
_OURS = "magnum"

#: Nodes that a text names at most.
_SHOWN = 20


def choose(
    nodes: Sequence[str], seen: view.View, group: requested_groups.Group
) -> list[str]:
    """Names of the Machines that the user wants to go.

    :param nodes: IDs of servers, names of nodes or of Machines
    :param group: as it is wanted, with the name of its live objects
    :raises InvalidInput: one is not in the group, or they are too many
    """
    machines = [
        each
        for each in seen.machines_of(group.chart_name)
        if not view.deleting(each)
    ]
    known = {
        name: view.name_of(each) for each in machines for name in _names(each)
    }
    there = f"nodegroup {errors.shown(group.name)}"
    if strange := [each for each in nodes if each not in known]:
        shown = ", ".join(map(errors.shown, strange))
        raise errors.InvalidInput(
            f"nodes_to_remove: {there} has no {shown}; its nodes are "
            f"{_listed(machines)}"
        )
    chosen = [known[each] for each in nodes]
    if twice := [each for each in chosen if chosen.count(each) > 1]:
        raise errors.InvalidInput(
            f"nodes_to_remove names {twice[0]} more than once"
        )
    live = view.spec_of(seen.deployment(group.chart_name))
    now = int(live.get("replicas") or 0)
    left = now - len(chosen)
    if group.count > left:
        raise errors.InvalidInput(
            f"nodes_to_remove: {there} has {now} nodes, and without those "
            f"that are to go node_count is at most {left}, not {group.count}"
        )
    return chosen


def _names(machine: view.Object) -> Iterator[str]:
    """All that a user may call a node by."""
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
    rt: runtime.Runtime, namespace: str, machines: Sequence[str]
) -> Iterator[None]:
    """Mark Machines; take it back when the block raises.

    :raises CapiHelmError: one could not be marked; none is
    """
    try:
        for name in machines:
            _mark(rt, namespace, name, _OURS)
        yield
    except errors.CapiHelmError:
        for name in machines:
            _unmark_if_possible(rt, namespace, name)
        raise


def _mark(
    rt: runtime.Runtime, namespace: str, name: str, value: str | None
) -> None:
    change = {"metadata": {"annotations": {ANNOTATION: value}}}
    rt.management.patch(kinds.MACHINE, namespace, name, change)


def _unmark_if_possible(
    rt: runtime.Runtime, namespace: str, name: str
) -> None:
    problem = ""
    try:
        _mark(rt, namespace, name, None)
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        # A later resize that removes nothing takes it away (withdraw).
        LOG.warning("Machine %s stays marked to go: %s", name, problem)


def withdraw(
    rt: runtime.Runtime, scope: snapshot.Scope, rows_now: requested_groups.Rows
) -> None:
    """Take back the marks in groups that are not to shrink any more.

    A count that was put up again before it was applied must not cost those
    Machines their lives at the next occasion.
    """
    namespace, release = scope
    owned = f"{view.CLUSTER_NAME_LABEL}={release}"
    machines = [
        each
        for each in rt.management.list(
            kinds.MACHINE, namespace, owned, metadata_only=True
        )
        if not view.deleting(each)
    ]
    ours = [
        each
        for each in machines
        if view.annotations_of(each).get(ANNOTATION) == _OURS
    ]
    for owner in sorted({_owner(each) for each in ours}):
        there = sum(_owner(each) == owner for each in machines)
        if _shrinks(rt, scope, rows_now, owner, there):
            continue
        for each in ours:
            if _owner(each) == owner:
                _mark(rt, namespace, view.name_of(each), None)


def _owner(machine: client.Object) -> str:
    return view.labels_of(machine).get(view.DEPLOYMENT_LABEL, "")


def _shrinks(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    rows_now: requested_groups.Rows,
    owner: str,
    there: int,
) -> bool:
    """Whether a group has, or is told to have, more than it is to have."""
    namespace, release = scope
    known = rows_now.known_as({owner.removeprefix(f"{release}-")})
    counts = {
        names.machine_deployment(release, each.chart_name): each.count
        for each in known.workers
    }
    live = rt.management.get(kinds.MACHINE_DEPLOYMENT, namespace, owner)
    if live is None or owner not in counts:
        return True
    told = int(view.spec_of(live).get("replicas") or 0)
    return max(told, there) > counts[owner]
