# SPDX-License-Identifier: Apache-2.0

"""One status poll, as Magnum's periodic task asks for it.

Nothing is raised: a traceback every ten seconds helps nobody. One line says
what kept the poll from a verdict, and the next one tries again.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.lifecycle import delete
from magnum_capi_helm.lifecycle import observed
from magnum_capi_helm.lifecycle import reconcile
from magnum_capi_helm.management import lease
from magnum_capi_helm.metrics import meter
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import places
from magnum_capi_helm.planes import survey
from magnum_capi_helm.planes import traces

LOG = log.getLogger(__name__)

#: ``status_reason`` of a deletion that took too long begins with it.
_LATE = "not done in time: "
#: What needs nobody's attention.
_QUIET = (
    errors.Frozen,
    errors.LeaseHeld,
    errors.NoTurn,
    errors.WouldReplace,
)
#: What a user reads in the status.
_WAITS = (
    errors.NoTurn,
    errors.Frozen,
    desired_state.NewerError,
    origin.ElsewhereError,
    traces.MissingError,
)


def poll(context: Any, cluster: Any) -> None:
    """Poll one cluster; the outcome is saved and shown on ``cluster``."""
    with runtime.meter().polling("status") as measured:
        problem = _attempt(context, cluster)
        measured.outcome = meter.FAILED if problem else meter.OK
    if problem:
        # Not inside "except": oslo.log would append the exception again.
        LOG.warning("No verdict on cluster %s: %s", cluster.uuid, problem)


def _attempt(context: Any, cluster: Any) -> str:
    """Poll; what kept it from a verdict, if anything is wrong."""
    try:
        _poll(context, cluster)
    except _QUIET as error:
        LOG.debug("No verdict on cluster %s: %s", cluster.uuid, error)
    except errors.CapiHelmError as error:
        return str(error)
    return ""


def _poll(context: Any, cluster: Any) -> None:
    with _told(context, cluster):
        if reconcile.unchanged(cluster):
            return
    row = rows.fresh(context, cluster)
    if row is None:
        return
    try:
        if rows.action(row.status) == "DELETE":
            _delete(context, row)
        else:
            with _told(context, row):
                reconcile.update(places.of(row), context, row)
    finally:
        status_writer.copy_outcome(row, cluster)


@contextlib.contextmanager
def _told(context: Any, row: Any) -> Iterator[None]:
    """Tell the user of a wait that is not for Cluster API."""
    try:
        yield
    except _WAITS as error:
        _tell(context, row, str(error))
        raise
    except errors.ManagementUnreachable as error:
        # A single one that is away is away for all: nothing is written.
        if len(runtime.configured()) > 1:
            _tell(context, row, str(error))
        raise


def _tell(context: Any, row: Any, why: str) -> None:
    """Say what a cluster waits for, unless another conductor knows more."""
    now = rows.fresh(context, row)
    if now is not None and rows.in_progress(now.status):
        status_writer.save_reason(now, why)
        status_writer.copy_outcome(now, row)


def _delete(context: Any, row: Any) -> None:
    try:
        rt = places.of(row)
    except errors.CapiHelmError as error:
        _tell(context, row, delete.describe(error))
        raise
    try:
        if row.stack_id:
            waiting = delete.step(rt, context, row)
        else:
            # Nothing was made on any management cluster: none is needed.
            from magnum_capi_helm.cloud import certificates

            certificates.delete_forgotten(context, row)
            _forget_interrupted(row)
            waiting = None
    except errors.LeaseHeld:
        raise
    except errors.CapiHelmError as error:
        _save_waiting(rt, context, row, delete.describe(error))
        raise
    if waiting:
        _save_waiting(rt, context, row, waiting.text)
        return
    if rows.fresh(context, row) is None:
        # Another conductor was quicker: Magnum removes a row once.
        return
    LOG.info("cluster %s is deleted", row.uuid)
    places.forget(row)
    row.status = rows.Status.DELETE_COMPLETE
    row.status_reason = None


def _forget_interrupted(row: Any) -> None:
    """Nobody knows which management cluster it was to be made on."""
    answers = survey.ask(
        runtime.names(), lambda rt: delete.forget_interrupted(rt, row)
    )
    for error in filter(None, answers.values()):
        LOG.debug("Its Lease may stay: %s", error)


def _save_waiting(
    rt: runtime.Runtime, context: Any, row: Any, why: str
) -> None:
    """Write what the deletion waits for, and whether it does so too long."""
    if rows.fresh(context, row) is None:
        return
    if not _overdue(rt, row):
        status_writer.save_reason(row, why)
        return
    # Its groups stay DELETE_IN_PROGRESS: nothing brings them back.
    row.status = rows.Status.DELETE_FAILED
    status_writer.save_reason(row, f"{_LATE}{why}")
    LOG.warning("cluster %s is %s: %s", row.uuid, row.status, why)


def _overdue(rt: runtime.Runtime, row: Any) -> bool:
    """Whether the deletion was asked for too long ago.

    Not, where the management cluster does not say when that was: it can
    only be waited for.
    """
    limit = conf.CONF.capi_helm.operation_timeout
    if not limit or not row.stack_id:
        return False
    try:
        found = rt.leases.read(*operation.scope_of(row))
        return observed.left(rt, lease.marked_deleted_at(found), limit) < 0
    except errors.CapiHelmError:
        return False


def resume(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Go on with a deletion that took too long.

    Magnum removes rows in its status poll alone. So a deletion that makes
    progress is in progress again, with all its time. The text in the row
    says what was left before: each conductor has it, also after a restart.

    :raises CapiHelmError: the deletion can't go on this time
    """
    waiting = delete.step(rt, context, cluster)
    row = rows.fresh(context, cluster)
    if row is None or not rows.failed(row.status):
        # Another conductor was quicker, or the user asked again.
        return
    before = (row.status_reason or "").removeprefix(_LATE)
    if waiting and waiting.has_left_of(before):
        status_writer.save_reason(row, f"{_LATE}{waiting.text}")
    else:
        rt.leases.mark_deleted(*operation.scope_of(row))
        status_writer.save_deleting(row, waiting.text if waiting else None)
    status_writer.copy_outcome(row, cluster)
