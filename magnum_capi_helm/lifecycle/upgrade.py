# SPDX-License-Identifier: Apache-2.0

"""An upgrade, as Magnum asks for it.

Magnum waits for the answer, and a refusal that is not ``NotSupported`` marks
the cluster as failed. So everything is looked at first, under the Lease:
references, versions, frozen paths, and what the webhooks of the management
cluster say. Then the cluster is in progress, and one write of the intent
accepts the upgrade. What is not done from there on, the polls do.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import encryption
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.lifecycle import dry_run
from magnum_capi_helm.lifecycle import encryption_key
from magnum_capi_helm.lifecycle import pending_moves
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import late_requests
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import origin

LOG = log.getLogger(__name__)

#: Seconds in which Magnum, which waits for 60, gets its answer.
_ALL = 45.0
#: What helm is given at least; else it is left to the polls.
_HELM = 15.0
#: How long it waits for its turn. helm runs twice, and the user waits.
_PATIENCE = 30.0


def upgrade(
    rt: runtime.Runtime,
    context: Any,
    cluster: Any,
    template: Any,
    batch: int | None,
    nodegroup: Any,
) -> None:
    """Upgrade a cluster, or one nodegroup.

    :param cluster: Magnum's object; shows the outcome afterwards
    :param template: the row of the new template
    :param batch: machines of a worker group that roll at once; None: 1
    :param nodegroup: a default group stands for the whole cluster
    :raises NotSupported: it was refused; the rows are as they were
    """
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        measured = stack.enter_context(timing.measured())
        with _refusals():
            origin.check(rt, rows.all_groups(cluster))
            upgrade_rules.check_batch(batch)
            # The turn first: nobody waits for a turn that has the Lease.
            stack.enter_context(rt.turns.turn(_PATIENCE))
            hold = stack.enter_context(_lease(rt, cluster))
            row = _living(context, cluster, hold)
            subject = current_state.read(rt, row)
            found = _planned(subject, context, template, batch, nodegroup)
            accept(rt, row, _checked(rt, context, found))
        if _go_on(rt, context, row, hold, started):
            LOG.info("upgraded release %s: %s", row.stack_id, measured)
    row = rows.fresh(context, cluster)
    if row is not None:
        status_writer.copy_outcome(row, cluster)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Each refusal as the one exception that leaves the cluster alone."""
    try:
        yield
    except errors.LeaseHeld as error:
        raise errors.NotSupported(
            "another operation works on the cluster, try again in a moment"
        ) from error
    except errors.NoTurn as error:
        raise errors.NotSupported(
            "too many clusters are being changed, try again in a moment"
        ) from error
    except errors.NotSupported:
        raise
    except errors.CapiHelmError as error:
        text = str(error)
        if error.retriable:
            # To the first sentence, which is all that clients print.
            sentence, stop, rest = text.partition(". ")
            text = f"{sentence}; try again in a moment{stop}{rest}"
        raise errors.NotSupported(text) from error


def _lease(rt: runtime.Runtime, cluster: Any) -> Any:
    if not cluster.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)
    scope = operation.scope_of(cluster)
    return rt.leases.hold(*scope, location.object_labels(cluster, scope[1]))


def _living(context: Any, cluster: Any, hold: Any) -> Any:
    """The row, of a cluster that nobody deletes or changes."""
    row = rows.fresh(context, cluster)
    if row is None or hold.marked_deleted or rows.doomed(row):
        raise errors.NotSupported("the cluster is being deleted")
    if rows.in_progress(row.status):
        raise errors.NotSupported(
            "another operation works on the cluster, try again when it is "
            "complete"
        )
    return row


def _planned(
    subject: current_state.Subject,
    context: Any,
    template: Any,
    batch: int | None,
    nodegroup: Any,
) -> upgrade_plan.Plan:
    cloud = catalogue.Cloud(sessions.user_session(context))
    if nodegroup is None or nodegroup.is_default:
        return upgrade_plan.of_cluster(subject, template, cloud, batch)
    mine = [e for e in subject.existing if e.uuid == nodegroup.uuid]
    if not mine:
        raise errors.NotSupported(
            "the nodegroup is not part of the cluster: it was refused, or is "
            f"being deleted. It is {errors.shown(nodegroup.name)}"
        )
    return upgrade_plan.of_group(subject, mine[0], cloud, batch)


def _checked(
    rt: runtime.Runtime, context: Any, found: upgrade_plan.Plan
) -> desired_state.Intent:
    """The new intent, once everybody who could refuse it was asked.

    Server groups and the key of etcd come first, for the chart needs them.
    A refusal after that leaves them to the next upgrade; they go with the
    cluster.
    """
    row = found.subject.row
    scope = operation.scope_of(row)
    labels = location.object_labels(row, scope[1])
    live = current_state.infrastructure(rt, row)
    before = found.subject.base.values
    draft = found.wanted(rt, live)
    if found.whole:
        upgrade_rules.check_encryption(before, draft.values)
    if encryption.needs_key(draft.values):
        encryption_key.ensure(rt.management, *scope, labels)
    dry_run.check(rt, scope, draft)
    policies = found.policies()
    if not policies:
        return draft
    ids = server_groups.ensure(
        rt.management, scope, labels, sessions.user_session(context), policies
    )
    return found.with_server_groups(ids).wanted(rt, live)


def accept(
    rt: runtime.Runtime, row: Any, wanted: desired_state.Intent
) -> None:
    """One write, from which on it happens.

    :param row: read under the Lease; not in progress
    :raises CapiHelmError: it could not be written, or nobody knows
    """
    scope = operation.scope_of(row)
    status = row.status
    status_writer.save_updating(row)
    try:
        labels = location.object_labels(row, scope[1])
        operation.write_intent(rt, scope, wanted, labels)
    except errors.CapiHelmError as error:
        if not error.retriable:
            row.status = status
            row.save()
            late_requests.heed(rt, scope, row)
        # Otherwise it may have been written: the polls find out.
        raise


def _go_on(
    rt: runtime.Runtime, context: Any, row: Any, hold: Any, started: float
) -> bool:
    """From here on nothing is raised: the status tells. Whether it is done."""
    problem = ""
    try:
        pending_moves.make(rt, row)
        fresh = rows.fresh(context, row)
        left = _ALL - (time.monotonic() - started)
        if left < _HELM:
            problem = "no time was left for helm"
        elif fresh is not None:
            rows_now, _ = rows.read(fresh)
            operation.apply(rt, fresh, rows_now, hold, within=left)
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        LOG.warning(
            "Upgrade of cluster %s goes on with the polls: %s",
            row.uuid,
            problem,
        )
    return not problem
