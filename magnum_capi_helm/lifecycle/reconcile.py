# SPDX-License-Identifier: Apache-2.0

"""What a poll does: look, judge, and finish what a request began.

Only what may change the outcome needs the Lease: applying, and writing
COMPLETE or FAILED. Then the rows and the objects are read once more, under
the Lease.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.delivery import notice
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import autoscaler_counts
from magnum_capi_helm.lifecycle import nodegroup_rows
from magnum_capi_helm.lifecycle import observed
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import observation
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import deferred
from magnum_capi_helm.operations import late_requests
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import repair
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import places
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import progress

LOG = log.getLogger(__name__)

_NEVER_STARTED = (
    "the conductor stopped before it began to create the cluster: delete it "
    "and create it again"
)


def update(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Bring the rows of a cluster in line with what is there.

    :raises CapiHelmError: no verdict this time, and nothing written
    """
    if not cluster.stack_id:
        if rows.doomed(cluster):
            status_writer.save_deleting(cluster)
        elif (
            rows.in_progress(cluster.status)
            and observed.create_left(cluster) < 0
        ):
            status_writer.save_failed(
                cluster, rows.all_groups(cluster), _NEVER_STARTED
            )
        return
    deferred.check(rt, cluster)
    scope = operation.scope_of(cluster)
    with origin.doubted(rt, cluster):
        sighting = rt.snapshots.get(scope)
    observed.ask_nova(rt, scope, sighting)
    with rt.judging, origin.doubted(rt, cluster):
        if _only_told(rt, cluster, sighting):
            return
    with deferred.queued(rt, cluster, go_on):
        go_on(rt, context, cluster)


def _only_told(
    rt: runtime.Runtime, cluster: Any, sighting: observation.Sighting
) -> bool:
    """Whether there was no more to do than to write what is waited for."""
    look = observed.of(rt, cluster, sighting)
    _locate(look)
    if look.matters:
        return False
    status_writer.save_facts(cluster, look.nodegroups, look.verdict)
    if look.advanced:
        _keep_mark(look)
    elif look.steady:
        looks_now = (rows.looks(cluster), look.version)
        rt.waiting.keep(look.scope, looks_now, True, look.left)
    return True


def _keep_mark(look: observed.Look) -> None:
    """Write how far the machines of an update have come to the Cluster.

    It needs no Lease: the patch names the version of the Cluster that the
    look is based on, so a poll that was delayed cannot overwrite a later
    mark. A poll that loses this race looks again ten seconds later. So does
    one that finds the management cluster frozen.

    :raises ManagementError: the mark could not be written
    """
    cluster, mark = look.seen.cluster, look.mark
    if cluster is None or mark is None:
        return
    change = {
        "metadata": {
            "annotations": {progress.ANNOTATION: mark.annotation()},
            "resourceVersion": cluster["metadata"]["resourceVersion"],
        }
    }
    with contextlib.suppress(errors.Conflict, errors.Frozen):
        look.rt.anchor.check()
        look.rt.management.patch(kinds.CLUSTER, *look.scope, change)


def go_on(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """As :func:`update`, where it is known that there is something to do.

    :raises NoTurn: as many helm processes run as may
    :raises CapiHelmError: no verdict this time, and nothing written
    """
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    with rt.leases.hold(*scope, labels) as hold:
        _decide(rt, context, cluster, hold)
    if cluster.status.endswith("_COMPLETE"):
        # Not before: what is delivered needs the Lease as well.
        notice.seen(rt, context, cluster, now=True)


def unchanged(cluster: Any) -> bool:
    """Whether a poll would find what the one before found.

    :raises CapiHelmError: the management cluster does not say
    """
    if not cluster.stack_id or rows.action(cluster.status) == "DELETE":
        return False
    rt = places.of(cluster)
    scope = operation.scope_of(cluster)
    if not rt.waiting.knows(scope):
        return False
    with origin.doubted(rt, cluster):
        version = rt.snapshots.get(scope).version
    return bool(rt.waiting.recall(scope, (rows.looks(cluster), version)))


def _locate(look: observed.Look) -> None:
    """Let the rows say where the cluster is; nothing is gone elsewhere."""
    if look.seen.cluster is not None:
        origin.learn(look.rt, look.scope[1], look.nodegroups)
    else:
        origin.ascertain(look.rt, look.scope, look.nodegroups)


def _decide(
    rt: runtime.Runtime, context: Any, cluster: Any, hold: Any
) -> None:
    """Under the Lease: read all again, then apply or write the outcome."""
    row = rows.fresh(context, cluster)
    hold.orphaned = row is None
    if row is None or rows.action(row.status) == "DELETE":
        return
    if hold.marked_deleted or rows.doomed(row):
        status_writer.save_deleting(row)
        status_writer.copy_outcome(row, cluster)
        return
    nodegroup_rows.settle(rt, row)
    look = _buried(observed.at(rt, row, not_before=time.monotonic()))
    done = look.verdict.complete and look.upgraded and not look.drifted
    if done and not look.undecided:
        if told(look.rt, row):
            _complete(look)
    elif not row.status.endswith("_COMPLETE"):
        _go_on(look, hold)
    status_writer.copy_outcome(row, cluster)


def _buried(look: observed.Look) -> observed.Look:
    """The look, without the groups that are deleted by now."""
    if look.behind:
        return look
    gone = nodegroup_rows.bury(
        look.rt, look.row, look.nodegroups, look.wanted, look.seen
    )
    left = [each for each in look.nodegroups if each.uuid not in gone]
    return dataclasses.replace(look, nodegroups=left)


def told(rt: runtime.Runtime, cluster: Any) -> bool:
    """Whether a failure, if it is one, was there to be read for a while.

    Of a refused request there is nothing to be done: the cluster is as it is
    wanted. A poll that comes right after the refusal would take its reason
    away, and nobody would know that the request came to nothing.
    """
    text = (cluster.status, cluster.status_reason)
    age = rt.failures.age(operation.scope_of(cluster), text)
    return not rows.failed(cluster.status) or age >= rt.telling


def _complete(look: observed.Look) -> None:
    """Write COMPLETE, unless the rows want something else by now.

    Magnum's handlers take no Lease: what they wrote since the look would
    wait for polls of a complete cluster, and there are none.
    """
    row = look.row
    look.rt.backoff.succeeded(look.scope)
    if look.known and look.known.before:
        # There is nothing to go back to from what is complete.
        labels = location.object_labels(row, look.scope[1])
        state_secret.park(
            look.rt, look.scope, labels, desired_state.NO_WAY_BACK
        )
    status_writer.save_complete(row, look.nodegroups, look.verdict)
    if late_requests.ended(look.rt, look.scope, row):
        _compare(look)
    LOG.info("cluster %s is %s", row.uuid, row.status)


def _compare(look: observed.Look) -> None:
    """Let the polls go on, where the rows want something else by now."""
    row = look.row
    rows_now, nodegroups = rows.read(row)
    if (
        rows_now.fingerprint() != look.wanted.fingerprint()
        or rows_now.leaving
        or any(map(rows.undecided, nodegroups))
    ):
        status_writer.save_updating(row)
    else:
        autoscaler_counts.save(look.rt, row, nodegroups, rows_now, look.seen)


def _go_on(look: observed.Look, hold: Any) -> None:
    """What is in progress, or has failed: give up, apply again, or wait."""
    if rows.in_progress(look.row.status) and look.overdue:
        _fail(look, f"not done in time: {look.verdict.reason}", look.verdict)
        return
    status_writer.save_facts(look.row, look.nodegroups, look.verdict)
    if look.advanced:
        _keep_mark(look)
    failure = ""
    if look.behind:
        failure = _apply(look, hold)
    elif look.drifted:
        failure = _repair(look)
    if failure:
        _fail(look, failure)


def _fail(
    look: observed.Look,
    reason: str,
    verdict: cluster_status.Verdict | None = None,
) -> None:
    row = look.row
    status_writer.save_failed(row, look.nodegroups, reason, verdict)
    late_requests.ended(look.rt, look.scope, row)
    LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)


def _apply(look: observed.Look, hold: Any) -> str:
    """Apply what is wanted; why that can never succeed, if so.

    :raises CapiHelmError: it may succeed later
    """
    try:
        operation.apply(look.rt, look.row, look.wanted, hold)
    except errors.NoTurn:
        # Nothing was tried.
        raise
    except errors.CapiHelmError as error:
        look.rt.backoff.failed(look.scope)
        if error.retriable:
            raise
        known = isinstance(error, operation.InterruptedCreateError)
        # Why it failed before says more.
        return "" if known and rows.failed(look.row.status) else str(error)
    look.rt.backoff.succeeded(look.scope)
    return ""


def _repair(look: observed.Look) -> str:
    """Put live objects right; why that can never succeed, if so.

    :raises CapiHelmError: it may succeed later
    """
    # Until it shows: somebody may change them back, again and again.
    look.rt.backoff.failed(look.scope)
    try:
        repair.repair(look.rt, look.scope)
    except errors.CapiHelmError as error:
        if error.retriable:
            raise
        return str(error)
    return ""
