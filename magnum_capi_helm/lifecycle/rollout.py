# SPDX-License-Identifier: Apache-2.0

"""A chart or values of the operator's for a cluster that lives.

It goes the way of an upgrade, without a template: all that can be refused is
looked at, under the Lease, then one write of the intent accepts it, and what
helm leaves is for the polls. The rows say UPDATE_IN_PROGRESS while it goes
on, for Magnum polls nothing else; no other field changes.

Whoever is stopped half way asks again. A cluster has an order, wholly or not
at all, when its intent is what the order makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import diff
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.lifecycle import dry_run
from magnum_capi_helm.lifecycle import rollout_spec as orders
from magnum_capi_helm.lifecycle import upgrade
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import manifest
from magnum_capi_helm.operations import operation

#: How long it waits for helm, seconds: who asks has all the time.
_PATIENCE = 600.0


@dataclasses.dataclass(frozen=True)
class Found:
    """What an order comes to for one cluster.

    :param now: the chart that the cluster has
    :param wanted: what is to be wanted of the release; None: it is so
    :param changes: what differs from what is installed
    :param going_on: the cluster has the order, and is not complete yet
    """

    now: str
    wanted: desired_state.Intent | None = None
    changes: tuple[diff.Change, ...] = ()
    going_on: bool = False


def look(rt: runtime.Runtime, row: Any, order: orders.Order) -> Found:
    """What there is to do; nothing is written.

    :param row: read just now
    :raises CapiHelmError: it can't be done, or not now
    """
    _check_status(row)
    subject = current_state.read(rt, row, settle=False)
    found = Found(subject.base.chart.version)
    scope = operation.scope_of(row)
    with rt.turns.turn(_PATIENCE):
        wanted = orders.wanted(rt, subject, order)
        if rows.in_progress(row.status):
            if wanted is not None:
                raise _not_complete(row)
            return dataclasses.replace(found, going_on=True)
        if wanted is None:
            return found
        before, after = _manifests(rt, scope, wanted)
    changes = diff.changes(before, after)
    _check_machines(scope, changes, order)
    return dataclasses.replace(found, wanted=wanted, changes=changes)


def apply(
    rt: runtime.Runtime, context: Any, row: Any, order: orders.Order
) -> str:
    """Do it; what helm left to the polls, if anything.

    :raises CapiHelmError: it was refused, or could not be written: then at
        most the status was, which the polls put right
    """
    scope = operation.scope_of(row)
    labels = location.object_labels(row, scope[1])
    with (
        # The turn first: nobody waits for a turn that has the Lease.
        rt.turns.turn(_PATIENCE),
        operation.patient(rt, scope, labels, command=True) as hold,
    ):
        fresh = _living(context, row, hold)
        subject = current_state.read(rt, fresh)
        wanted = orders.wanted(rt, subject, order)
        if wanted is None:
            return ""
        _try(rt, scope, wanted, order)
        upgrade.accept(rt, fresh, wanted)
        try:
            rows_now, _ = rows.read(fresh)
            operation.apply(rt, fresh, rows_now, hold)
        except errors.CapiHelmError as error:
            return str(error)
    return ""


def going_on(context: Any, row: Any) -> str:
    """What is still waited for; empty: it is complete.

    :raises CapiHelmError: it failed, or the cluster goes
    """
    fresh = rows.fresh(context, row)
    if fresh is None or rows.action(fresh.status) == "DELETE":
        raise errors.CapiHelmError("the cluster was deleted meanwhile")
    reason = fresh.status_reason or ""
    if rows.failed(fresh.status):
        raise errors.CapiHelmError(f"{fresh.status}: {reason}")
    return (reason or fresh.status) if rows.in_progress(fresh.status) else ""


def _check_status(row: Any) -> None:
    """Refuse what is neither complete nor may have the order already."""
    if rows.action(row.status) == "DELETE" or rows.doomed(row):
        raise errors.NotSupported("the cluster is being deleted")
    updating = row.status == rows.Status.UPDATE_IN_PROGRESS
    if not updating and not row.status.endswith("_COMPLETE"):
        raise _not_complete(row)
    if not row.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)


def _not_complete(row: Any) -> errors.CapiHelmError:
    why = f" ({row.status_reason})" if row.status_reason else ""
    return errors.NotSupported(
        f"the cluster is {row.status}{why}: what is rolled out goes to "
        "complete clusters alone"
    )


def _living(context: Any, row: Any, hold: Any) -> Any:
    """The row under the Lease, of a cluster that nobody changes."""
    fresh = rows.fresh(context, row)
    hold.orphaned = fresh is None
    if fresh is None or hold.marked_deleted:
        raise errors.NotSupported("the cluster is being deleted")
    _check_status(fresh)
    if rows.in_progress(fresh.status):
        raise _not_complete(fresh)
    return fresh


def _manifests(
    rt: runtime.Runtime, scope: snapshot.Scope, wanted: desired_state.Intent
) -> tuple[tuple[dry_run.Object, ...], tuple[dry_run.Object, ...]]:
    """What is installed, and what would be."""
    return dry_run.installed(rt, scope), manifest.rendered(rt, scope, wanted)


def _try(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: desired_state.Intent,
    order: orders.Order,
) -> None:
    """Let everybody see it who may refuse it.

    :raises NotSupported: somebody does
    """
    before, after = _manifests(rt, scope, wanted)
    _check_machines(scope, diff.changes(before, after), order)
    objects = dry_run.changed(before, after)
    dry_run.dry_run(rt, scope, objects, "what is rolled out")


def _check_machines(
    scope: snapshot.Scope,
    changes: Iterable[diff.Change],
    order: orders.Order,
) -> None:
    """Refuse to replace machines, unless that is ordered, too."""
    groups = [
        f"{each.name.removeprefix(f'{scope[1]}-')} ({each.replaced})"
        for each in changes
        if each.replaced
    ]
    if groups and not order.replacing:
        raise errors.NotSupported(
            f"machines would be replaced, in {', '.join(groups)}: "
            "--allow-replacement lets them be"
        )
