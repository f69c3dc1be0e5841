# SPDX-License-Identifier: Apache-2.0

"""One status poll, as Magnum's periodic task asks for it.

1. If neither the row nor an object has changed, there is nothing to do.
2. Read the row again.
3. A deletion does its next step. Any other operation is reconciled.
4. Copy the outcome to the object that Magnum handed in.

Nothing is raised, because Magnum would log a traceback every ten seconds. One
line says why there is no verdict, and the next poll tries again.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any

from oslo_log import log

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.lifecycle import delete
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import reconcile
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.operations import operation as operations

LOG = log.getLogger(__name__)

#: ``status_reason`` of a deletion that took too long begins with it.
_LATE = "not done in time: "
#: Errors that the user reads in the status.
_SHOWN = (
    errors.NoTurn,
    errors.Frozen,
    desired_state.NewerError,
    identity.ElsewhereError,
    helm_records.MissingError,
)


def poll(context: Any, cluster: Any) -> None:
    """Poll one cluster; save the outcome, and show it on ``cluster``."""
    text, uuid = "No verdict on cluster %s: %s", cluster.uuid
    with (
        magnum_errors.logged(LOG, text, uuid),
        runtimes.meter().measure(metrics.POLL, "status"),
    ):
        try:
            _poll(context, cluster)
        except (errors.LeaseHeld, *magnum_errors.QUIET) as error:
            LOG.debug(text, uuid, error)


def _poll(context: Any, cluster: Any) -> None:
    with _errors_shown(context, cluster):
        if reconcile.is_unchanged(cluster):
            return
    row = rows.fresh(context, cluster)
    if row is None:
        return
    try:
        if rows.action(row.status) == "DELETE":
            _delete(context, row)
        else:
            with _errors_shown(context, row):
                runtime = registry.runtime_of(row)
                reconcile.reconcile(
                    operations.Operation(context, row, runtime)
                )
    finally:
        status_writer.copy_outcome(row, cluster)


@contextlib.contextmanager
def _errors_shown(context: Any, row: Any) -> Iterator[None]:
    """Save an error that only the operator, or time, can end."""
    try:
        yield
    except _SHOWN as error:
        _save_reason(context, row, str(error))
        raise
    except errors.ManagementUnreachable as error:
        # A single one that is away is away for all: nothing is written.
        if len(runtimes.configured()) > 1:
            _save_reason(context, row, str(error))
        raise


def _save_reason(context: Any, row: Any, reason: str) -> None:
    """Save a reason, unless another conductor has ended the operation."""
    fresh = rows.fresh(context, row)
    if fresh is not None and rows.in_progress(fresh.status):
        status_writer.save_reason(fresh, reason)
        status_writer.copy_outcome(fresh, row)


def _delete(context: Any, row: Any) -> None:
    """Do the next step of a deletion."""
    operation = None
    try:
        if row.stack_id:
            runtime = registry.runtime_of(row)
            operation = operations.Operation(context, row, runtime)
            waiting = delete.step(operation)
        else:
            waiting = None
            _forget_interrupted_create(context, row)
    except errors.LeaseHeld:
        raise
    except errors.CapiHelmError as error:
        _save_waiting(context, row, f"deletion waits: {error}", operation)
        raise
    if waiting:
        _save_waiting(context, row, waiting.text, operation)
    # Another conductor may have been quicker: Magnum removes a row once.
    elif rows.fresh(context, row) is not None:
        LOG.info("cluster %s is deleted", row.uuid)
        registry.forget(row)
        row.status = rows.Status.DELETE_COMPLETE
        row.status_reason = None


def _forget_interrupted_create(context: Any, row: Any) -> None:
    """Delete certificates, and the Lease, on any management cluster."""
    certificates.delete_forgotten(context, row)
    answers = registry.ask(
        runtimes.names(), lambda rt: delete.forget_interrupted(rt, row)
    )
    for error in filter(None, answers.values()):
        LOG.debug("Its Lease may stay: %s", error)


def _save_waiting(
    context: Any,
    row: Any,
    reason: str,
    operation: operations.Operation | None,
) -> None:
    """Save the reason why a deletion waits; fail it after its time.

    :param operation: None: its management cluster is not known
    """
    if operation is None or not _is_overdue(operation):
        _save_reason(context, row, reason)
        return
    if rows.fresh(context, row) is None:
        return
    # Its groups stay DELETE_IN_PROGRESS: nothing brings them back.
    row.status = rows.Status.DELETE_FAILED
    status_writer.save_reason(row, f"{_LATE}{reason}")
    LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)


def _is_overdue(operation: operations.Operation) -> bool:
    """Return whether the deletion was asked for too long ago.

    If the management cluster does not say when, it is not overdue.
    """
    limit = conf.CONF.capi_helm.operation_timeout
    if not limit:
        return False
    runtime = operation.runtime
    try:
        since = lease.marked_deleted_at(runtime.leases.read(*operation.scope))
        return observed_state.seconds_left(runtime, since, limit) < 0
    except errors.CapiHelmError:
        return False


def resume_deletion(operation: operations.Operation) -> None:
    """Continue a deletion that took too long, in a health poll.

    Magnum removes rows in its status poll alone. So a deletion that makes
    progress is in progress again, with all its time. The row has the text of
    the objects that were left before: each conductor has it, also after a
    restart.

    :raises CapiHelmError: the deletion can't continue this time
    """
    cluster = operation.cluster
    waiting = delete.step(operation)
    row = rows.fresh(operation.context, cluster)
    if row is None or not rows.failed(row.status):
        # Another conductor was quicker, or the user asked again.
        return
    before = (row.status_reason or "").removeprefix(_LATE)
    if waiting and waiting.has_left_of(before):
        status_writer.save_reason(row, f"{_LATE}{waiting.text}")
    else:
        operation.runtime.leases.mark_deleted(*operation.scope)
        status_writer.save_deleting(row, waiting.text if waiting else None)
    status_writer.copy_outcome(row, cluster)
