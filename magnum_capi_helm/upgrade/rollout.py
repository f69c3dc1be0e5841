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

from magnum_capi_helm import exceptions
from magnum_capi_helm import intent
from magnum_capi_helm import runtime
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.operations import manifest
from magnum_capi_helm.operations import operation
from magnum_capi_helm.records import rows
from magnum_capi_helm.rendering import difference
from magnum_capi_helm.resolve import location
from magnum_capi_helm.upgrade import order as orders
from magnum_capi_helm.upgrade import request
from magnum_capi_helm.upgrade import subjects
from magnum_capi_helm.upgrade import trial

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
    wanted: intent.Intent | None = None
    changes: tuple[difference.Change, ...] = ()
    going_on: bool = False


def look(rt: runtime.Runtime, row: Any, order: orders.Order) -> Found:
    """What there is to do; nothing is written.

    :param row: read just now
    :raises CapiHelmError: it can't be done, or not now
    """
    _check_status(row)
    subject = subjects.read(rt, row, settle=False)
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
    changes = difference.changes(before, after)
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
        subject = subjects.read(rt, fresh)
        wanted = orders.wanted(rt, subject, order)
        if wanted is None:
            return ""
        _try(rt, scope, wanted, order)
        request.accept(rt, fresh, wanted)
        try:
            rows_now, _ = rows.read(fresh)
            operation.apply(rt, fresh, rows_now, hold)
        except exceptions.CapiHelmError as error:
            return str(error)
    return ""


def going_on(context: Any, row: Any) -> str:
    """What is still waited for; empty: it is complete.

    :raises CapiHelmError: it failed, or the cluster goes
    """
    fresh = rows.fresh(context, row)
    if fresh is None or rows.action(fresh.status) == "DELETE":
        raise exceptions.CapiHelmError("the cluster was deleted meanwhile")
    reason = fresh.status_reason or ""
    if rows.failed(fresh.status):
        raise exceptions.CapiHelmError(f"{fresh.status}: {reason}")
    return (reason or fresh.status) if rows.in_progress(fresh.status) else ""


def _check_status(row: Any) -> None:
    """Refuse what is neither complete nor may have the order already."""
    if rows.action(row.status) == "DELETE" or rows.doomed(row):
        raise exceptions.NotSupported("the cluster is being deleted")
    updating = row.status == rows.Status.UPDATE_IN_PROGRESS
    if not updating and not row.status.endswith("_COMPLETE"):
        raise _not_complete(row)
    if not row.stack_id:
        raise exceptions.NotSupported(operation.NO_RELEASE)


def _not_complete(row: Any) -> exceptions.CapiHelmError:
    why = f" ({row.status_reason})" if row.status_reason else ""
    return exceptions.NotSupported(
        f"the cluster is {row.status}{why}: what is rolled out goes to "
        "complete clusters alone"
    )


def _living(context: Any, row: Any, hold: Any) -> Any:
    """The row under the Lease, of a cluster that nobody changes."""
    fresh = rows.fresh(context, row)
    hold.orphaned = fresh is None
    if fresh is None or hold.marked_deleted:
        raise exceptions.NotSupported("the cluster is being deleted")
    _check_status(fresh)
    if rows.in_progress(fresh.status):
        raise _not_complete(fresh)
    return fresh


def _manifests(
    rt: runtime.Runtime, scope: snapshot.Scope, wanted: intent.Intent
) -> tuple[tuple[trial.Object, ...], tuple[trial.Object, ...]]:
    """What is installed, and what would be."""
    return trial.installed(rt, scope), manifest.rendered(rt, scope, wanted)


def _try(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: intent.Intent,
    order: orders.Order,
) -> None:
    """Let everybody see it who may refuse it.

    :raises NotSupported: somebody does
    """
    before, after = _manifests(rt, scope, wanted)
    _check_machines(scope, difference.changes(before, after), order)
    objects = trial.changed(before, after)
    trial.dry_run(rt, scope, objects, "what is rolled out")


def _check_machines(
    scope: snapshot.Scope,
    changes: Iterable[difference.Change],
    order: orders.Order,
) -> None:
    """Refuse to replace machines, unless that is ordered, too."""
    groups = [
        f"{each.name.removeprefix(f'{scope[1]}-')} ({each.replaced})"
        for each in changes
        if each.replaced
    ]
    if groups and not order.replacing:
        raise exceptions.NotSupported(
            f"machines would be replaced, in {', '.join(groups)}: "
            "--allow-replacement lets them be"
        )
