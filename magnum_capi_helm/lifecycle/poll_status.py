# SPDX-License-Identifier: Apache-2.0

"""One status poll, as Magnum's periodic task asks for it.

1. If neither the row nor an object has changed, there is nothing to do.
2. Read the row again. A deletion does its next step.
3. Of a living cluster, read the objects and judge them together with the
   rows. Save status_reason, addresses, versions, and an update's progress.
4. If the release has to be changed, or an operation ends, take the Lease and
   read rows and objects again. Complete or fail the operation, apply the rows,
   or repair objects.
5. Copy the outcome to the object that Magnum handed in.

Nothing is raised, because Magnum would log a traceback every ten seconds. One
line says why there is no verdict, and the next poll tries again. An error that
lasts as long as an operation may take is the end of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.cloud import faults
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import autoscaler_counts
from magnum_capi_helm.lifecycle import decision
from magnum_capi_helm.lifecycle import delete
from magnum_capi_helm.lifecycle import nodegroups
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.lifecycle import resize
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import call
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
ObservedState = observed_state.ObservedState
Operation = cluster_operation.Operation
State = decision.State

_NEVER_STARTED = (
    "the conductor stopped before it began to create the cluster: delete it "
    "and create it again"
)
#: Minutes within which a living conductor has checked a create and begun it.
_BEGIN = 15
#: Errors that the user reads in the status, beside those that do not end by
#: themselves.
_SHOWN = (
    errors.NoTurn,
    errors.Frozen,
    desired_state.NewerError,
    identity.ElsewhereError,
    helm_records.MissingError,
)


def poll(context: Any, cluster: rows.Cluster) -> None:
    """Poll one cluster; save the outcome, and show it on ``cluster``."""
    text, uuid = "No verdict on cluster %s: %s", cluster.uuid
    with (
        magnum_errors.logged(LOG, text, uuid),
        runtimes.meter().measure(metrics.POLL, "status"),
    ):
        try:
            _poll(context, cluster)
        # Inside the meter: these are no failed polls.
        except magnum_errors.QUIET as error:
            LOG.debug(text, uuid, error)


def _poll(context: Any, cluster: rows.Cluster) -> None:
    if _is_unchanged(cluster):
        return
    row = rows.fresh(context, cluster)
    if row is None:
        return
    operation, deleting = None, rows.action(row.status) == "DELETE"
    try:
        runtime = registry.runtime_of(row)
        operation = Operation(context, row, runtime)
        if deleting:
            _delete(operation)
        else:
            reconcile(operation)
            runtime.ages.restart(operation.scope, "errors")
    except errors.CapiHelmError as error:
        if not deleting:
            _save_error(context, row, error, operation)
        elif not isinstance(error, errors.LeaseHeld):
            reason = f"deletion waits: {errors.for_users(error)}"
            _save_waiting(context, row, reason, operation)
        raise
    finally:
        status_writer.copy_outcome(row, cluster)


def _save_error(
    context: Any,
    row: rows.Cluster,
    error: errors.CapiHelmError,
    operation: Operation | None,
) -> None:
    """Save an error that only the operator, or time, can end.

    :param operation: None: its management cluster is not known
    """
    if operation is not None:
        _limit_errors(operation, error)
    shown = not error.retriable or isinstance(error, _SHOWN)
    # If the only management cluster does not answer, all clusters would get
    # the same reason: nothing is written.
    if isinstance(error, errors.ManagementUnreachable):
        shown = len(runtimes.configured()) > 1
    if shown:
        _save_reason(context, row, errors.for_users(error))


def _limit_errors(operation: Operation, error: errors.CapiHelmError) -> None:
    """Fail an operation whose polls met errors alone for its whole time."""
    is_error = not isinstance(error, (errors.LeaseHeld, errors.NoTurn))
    age = operation.runtime.ages.age(operation.scope, "errors", is_error)
    if not is_error:
        # Somebody works on the cluster.
        return
    # Without the Lease another conductor may do better.
    with contextlib.suppress(errors.CapiHelmError):
        if observed_state.seconds_left(operation, time.time() - age) >= 0:
            return
        reason = f"{observed_state.LATE}{errors.for_users(error)}"
        with operation.lock() as held:
            if not held.deleting and rows.in_progress(held.cluster.status):
                held.save_failed(held.nodegroups, reason)
            status_writer.copy_outcome(held.cluster, operation.cluster)


def _save_reason(context: Any, row: rows.Cluster, reason: str) -> None:
    """Save a reason, unless another conductor has ended the operation."""
    fresh = rows.fresh(context, row)
    if fresh is not None and rows.in_progress(fresh.status):
        status_writer.save_reason(fresh, reason)
        status_writer.copy_outcome(fresh, row)


# A living cluster


def _is_unchanged(cluster: rows.Cluster) -> bool:
    """Return whether the poll before saw the same objects and row."""
    if not cluster.stack_id or rows.action(cluster.status) == "DELETE":
        return False
    scope = location.scope_of(cluster)
    try:
        runtime = registry.runtime_of(cluster)
        if not runtime.status_cache.has(scope):
            return False
        version = runtime.snapshots.get(scope).version
    except errors.CapiHelmError:
        # The rest of the poll shares the read, meets the error and saves it.
        return False
    return bool(
        runtime.status_cache.get(scope, (rows.verdict_key(cluster), version))
    )


def reconcile(operation: Operation) -> None:
    """Do all that a poll of a living cluster has to do.

    :raises NoTurn: no helm process is free; the work is queued
    :raises CapiHelmError: no verdict this time, and no outcome is written;
        rows may have new reasons, or what requests decided
    """
    cluster = operation.cluster
    if not cluster.stack_id:
        _end_interrupted_create(cluster)
        return
    operation.check_not_queued()
    runtime, scope = operation.runtime, operation.scope
    with identity.verified_on_error(runtime, cluster):
        snapshot = runtime.snapshots.get(scope)
    below = snapshot.infrastructure()
    faults.refresh(runtime, scope, below)
    with runtime.verdict_slots, identity.verified_on_error(runtime, cluster):
        state = observed_state.judge(operation, snapshot, below=below)
        identity.confirm(runtime, scope, state.nodegroups, state.view.cluster)
        plan_steps.remove_hook(operation, state.view.machines)
        decided = decision.decide(state.facts(locked=False))
        _log(operation, decided)
        if not decided.value.lease:
            if _has_ended(state):
                return
            _save_facts(state)
            waits = decided is State.WAITING and not state.new_progress
            if waits and (seconds := state.seconds_valid) > 0:
                looks = (rows.verdict_key(cluster), state.version)
                runtime.status_cache.put(scope, looks, True, seconds)
            return
    with operation.queued(reconcile_under_lease):
        reconcile_under_lease(operation)


@call.without_lease("no management cluster has anything of it")
def _end_interrupted_create(cluster: rows.Cluster) -> None:
    """Fail a create that began on no management cluster, after its time."""
    groups = rows.all_groups(cluster)
    if rows.doomed(groups):
        status_writer.save_deleting(cluster)
    elif rows.in_progress(cluster.status) and cluster.created_at:
        age = time.time() - cluster.created_at.timestamp()
        if age > 60 * min(cluster.create_timeout or _BEGIN, _BEGIN):
            status_writer.save_failed(cluster, groups, _NEVER_STARTED)


def _has_ended(state: ObservedState) -> bool:
    """Return whether another poll has ended the operation meanwhile.

    Magnum begins a poll even if the one before still works. Without a Lease
    this one would replace the reason of a failure.
    """
    if not rows.in_progress(state.row.status):
        return False
    row = rows.fresh(state.release.context, state.row)
    return row is None or not rows.in_progress(row.status)


@call.without_lease("all polls write what they read")
def _save_facts(state: ObservedState) -> None:
    """Save reasons, addresses and versions, and an update's progress.

    The progress is saved in the Cluster and needs no Lease: the patch names
    the version of the Cluster that was read, so a poll that was delayed cannot
    overwrite later progress. A poll that loses this race, or finds the
    management cluster frozen, looks again ten seconds later.

    :raises ManagementError: the progress could not be saved
    """
    verdict = plan_steps.with_step(state.view, state.verdict)
    status_writer.save_facts(state.row, state.nodegroups, verdict)
    progress, before = state.new_progress, view.metadata_of(state.view.cluster)
    if progress is None:
        return
    patch = progress.patch()
    patch["metadata"]["resourceVersion"] = before["resourceVersion"]
    runtime, scope = state.release.runtime, state.release.scope
    with contextlib.suppress(errors.Conflict, errors.Frozen):
        runtime.maintenance.check()
        runtime.management.patch(kinds.CLUSTER, *scope, patch)


def reconcile_under_lease(operation: Operation) -> None:
    """Take the Lease, read all again, then apply or write the outcome.

    :raises NoTurn: no helm process is free
    :raises CapiHelmError: no verdict this time, and no outcome is written;
        rows may have new reasons, or what requests decided
    """
    with operation.lock() as held:
        _reconcile_held(held)


def _reconcile_held(held: holding.Held) -> None:
    row = held.cluster
    status = "" if held.gone else row.status
    # These two states need the row alone: nothing else is read yet.
    facts = decision.Facts(status, deleting=held.deleting)
    match decision.decide(facts):
        case State.GONE:
            return
        case State.DELETING:
            if rows.action(row.status) != "DELETE":
                status_writer.save_deleting(row)
                status_writer.copy_outcome(row, held.caller_row)
            return
    state = observed_state.observe_all(held, held.settle())
    facts = state.facts(locked=True, shown=failure_was_shown(held, row))
    decided = decision.decide(facts)
    if decided is State.ROW_ONLY:
        _log(held, decided)
        nodegroups.remove_deleted(held, state)
        state = dataclasses.replace(state, nodegroups=held.nodegroups)
        decided = decision.decide(dataclasses.replace(facts, row_only=False))
    _log(held, decided)
    if decided in _GOING_ON:
        _save_facts(state)
    if action := _ACTIONS.get(decided):
        action(held, state)
    status_writer.copy_outcome(row, held.caller_row)


def _log(release: cluster_release.Release, decided: State) -> None:
    """Log the state of a cluster, at INFO when it is another one."""
    decisions, rule = release.runtime.decisions, decided.value
    is_new = decisions.get(release.scope) != decided
    decisions[release.scope] = decided
    level = log.INFO if is_new else log.DEBUG
    text = "cluster %s: %s, since %s: %s"
    uuid = release.cluster.uuid
    LOG.log(level, text, uuid, decided.title, rule.why, rule.action)


def failure_was_shown(
    release: cluster_release.Release, row: rows.Cluster
) -> bool:
    """Return whether a failed status was visible for 30 seconds.

    A poll that runs right after a refused request would otherwise replace the
    reason before the user can read it.
    """
    runtime = release.runtime
    text = (row.status, row.status_reason)
    age = runtime.ages.age(release.scope, "failure", text)
    return not rows.failed(row.status) or age >= runtime.failure_display


def _finish(held: holding.Held, state: ObservedState) -> None:
    """Take the next step of a plan, or write COMPLETE."""
    if not _take_step(held, state):
        _complete(held, state)


def _take_step(held: holding.Held, state: ObservedState) -> bool:
    """Take the next step of a plan; return whether there is one.

    A step that failed counts as taken.

    :raises CapiHelmError: it may succeed later
    """
    # The step of an upgrade runs helm.
    taken = _attempt(held, state, lambda: plan_steps.advance(held, state))
    return taken is not False


def _complete(held: holding.Held, state: ObservedState) -> None:
    """Write COMPLETE, and look at the rows again.

    Magnum's handlers take no Lease: their changes since the look would wait
    for polls of a complete cluster, and there are none.
    """
    row = state.row
    resize.withdraw_marks(held, state.view.machines)
    if state.desired and state.desired.before:
        # The operator can't roll back a complete upgrade.
        held.patch_stored(desired_state.FORGET_PREVIOUS)
    if held.save_complete(state.nodegroups, state.verdict):
        rows_now, group_rows = rows.read(row)
        if (
            rows_now.fingerprint() != state.rows.fingerprint()
            or rows_now.leaving
            or any(map(rows.undecided, group_rows))
        ):
            status_writer.save_updating(row)
        else:
            state = dataclasses.replace(state, nodegroups=group_rows)
            autoscaler_counts.save(held, state)
    LOG.info("cluster %s is %s", row.uuid, row.status)


def _give_up(held: holding.Held, state: ObservedState) -> None:
    reason = state.verdict.reason
    if plan := state.stored and state.stored.plan:
        reason = plan.failed(reason)
    reason = f"{observed_state.LATE}{reason}"
    held.save_failed(state.nodegroups, reason, state.verdict)


def _apply(held: holding.Held, state: ObservedState) -> None:
    """Apply the rows.

    :raises CapiHelmError: it may succeed later
    """
    plan_steps.show_begun(held, state)
    _attempt(held, state, lambda: apply.to_release(held))


def _attempt(
    held: holding.Held, state: ObservedState, run: Callable[[], bool]
) -> bool | None:
    """Run helm, and count failures; one that stays fails the operation.

    :returns: what ``run`` returns; None: it failed
    :raises CapiHelmError: it may succeed later
    """
    backoff, scope = held.runtime.backoff, held.scope
    try:
        done = run()
    except (errors.NoTurn, errors.Conflict):
        # Nothing was tried, or the objects changed since they were read.
        raise
    except errors.CapiHelmError as error:
        backoff.record_failure(scope)
        _fail_for_good(held, state, error)
        return None
    backoff.forget(scope)
    return done


def _repair(held: holding.Held, state: ObservedState) -> None:
    """Put live objects right.

    :raises CapiHelmError: it may succeed later
    """
    # Until the next look: another program may change them back for ever.
    held.runtime.backoff.record_failure(held.scope)
    try:
        apply.repair(held)
    except errors.CapiHelmError as error:
        _fail_for_good(held, state, error)


def _fail_for_good(
    held: holding.Held, state: ObservedState, error: errors.CapiHelmError
) -> None:
    """Fail an operation that can never succeed.

    :raises CapiHelmError: it may succeed later
    """
    if error.retriable:
        raise error
    # The reason of the first failure of a create says more.
    if not rows.failed(state.row.status) or not isinstance(
        error, cluster_release.InterruptedCreateError
    ):
        reason = errors.for_users(error)
        # The Cluster has the text of a step after helm alone.
        if plan := held.read_plan():
            reason = plan.failed(reason)
        held.save_failed(state.nodegroups, reason)


#: In these, reasons and progress are saved under the Lease, too.
_GOING_ON = (State.BACKING_OFF, State.BEHIND, State.DRIFTED, State.WAITING)
#: What is done under the Lease. ``_reconcile_held`` itself does what GONE,
#: DELETING and ROW_ONLY need, ``Held.settle`` ends UNSETTLED, and
#: the others need nothing more.
_ACTIONS = {
    State.DONE: _finish,
    State.STEP_OVER: _take_step,
    State.LATE: _give_up,
    State.BEHIND: _apply,
    State.DRIFTED: _repair,
}


# A deletion


def _delete(operation: Operation) -> None:
    """Do the next step of a deletion."""
    context, row = operation.context, operation.cluster
    if waiting := delete.step(operation):
        _save_waiting(context, row, waiting, operation)
    # Another conductor may have been quicker: Magnum removes a row once.
    elif rows.fresh(context, row) is not None:
        LOG.info("cluster %s is deleted", row.uuid)
        row.status = rows.Status.DELETE_COMPLETE
        row.status_reason = None


def _save_waiting(
    context: Any, row: rows.Cluster, reason: str, operation: Operation | None
) -> None:
    """Save the reason why a deletion waits; fail it after its time.

    :param operation: None: its management cluster is not known
    """
    if operation is None or not _is_overdue(operation):
        _save_reason(context, row, reason)
    elif rows.fresh(context, row) is not None:
        left = reason.partition("; ")[0]
        operation.runtime.leases.note_left(*operation.scope, left)
        # Its groups stay DELETE_IN_PROGRESS: nothing brings them back.
        late = f"{observed_state.LATE}{reason}"
        status_writer.save_deletion_failed(row, late)
        LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)


def _is_overdue(operation: Operation) -> bool:
    """Return whether the deletion was asked for too long ago.

    If the management cluster does not say when, it is not overdue.
    """
    leases, scope = operation.runtime.leases, operation.scope
    with contextlib.suppress(errors.CapiHelmError):
        since = lease.marked_deleted_at(leases.read(*scope))
        return observed_state.seconds_left(operation, since) < 0
    return False


def resume_deletion(operation: Operation) -> None:
    """Continue a deletion that took too long, in a health poll.

    Magnum removes rows in its status poll alone. So a deletion that makes
    progress is in progress again, with all its time. The Lease has the objects
    that were left before.

    :raises CapiHelmError: the deletion can't continue this time
    """
    cluster, leases = operation.cluster, operation.runtime.leases
    waiting = delete.step(operation)
    row = rows.fresh(operation.context, cluster)
    if row is None or not rows.failed(row.status):
        # Another conductor was quicker, or the user asked again.
        return
    left = waiting.partition("; ")[0]
    before = lease.left_of(leases.read(*operation.scope))
    if waiting and not before:
        # An earlier version of the driver gave up, and noted nothing.
        leases.note_left(*operation.scope, left)
    if waiting and before in ("", left):
        status_writer.save_reason(row, f"{observed_state.LATE}{waiting}")
    else:
        leases.mark_deleted(*operation.scope)
        status_writer.save_deleting(row, waiting or None)
    status_writer.copy_outcome(row, cluster)
