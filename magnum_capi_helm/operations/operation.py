# SPDX-License-Identifier: Apache-2.0

"""One operation on one cluster: a request, a poll or a command.

The driver makes an :class:`Operation` from Magnum's context and row. Every
flow gets it instead of clients, names and labels::

    operation = Operation(context, cluster)           # a request
    operation = Operation(context, cluster, runtime)  # a poll or a command

    operation.check_changeable()       # refuse; nothing is written yet
    operation.check_replacement(rows)
    observed = operation.observe()     # rows and live objects, read together
    operation.start_update(nodegroup)  # the rows say UPDATE_IN_PROGRESS
    operation.run(work, "Resize", "resized")  # now, queued, or by polls

    with operation.lock() as locked:   # the Lease, and the row read again
        locked.check_living()          # for requests that are answered
        locked.settle()                # rows get what was accepted
        locked.store(desired)          # before helm runs
        locked.apply()                 # the release gets what the rows want
        locked.save_complete(...)      # or save_failed(...)

``apply`` is level-triggered: it makes the release match the rows, whoever
calls it and however often. A request calls it once; when that did not get
through, or the conductor died, the polls call it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import call
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import helm_run
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.operations import pending_requests
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.operations import repair
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds between two tries to take the Lease.
_PAUSE = 0.5

NO_RELEASE = (
    "the cluster has no release on the management cluster: delete it and "
    "create it again"
)


@dataclasses.dataclass(frozen=True)
class Observed:
    """Rows and live objects, read together.

    :param nodegroups: the rows of all groups
    :param rows: their contents, with the names of the live objects
    """

    nodegroups: list[Any]
    rows: requested_groups.Rows
    view: view.View


class Operation(releases.Release):
    """One operation on one cluster.

    :param context: Magnum's, of the user or of its periodic task
    :param cluster: Magnum's row, as old as the call
    :param runtime: as for :class:`releases.Release`
    """

    def __init__(
        self,
        context: Any,
        cluster: Any,
        runtime: runtimes.Runtime | None = None,
    ) -> None:
        super().__init__(cluster, runtime)
        self.context = context

    # Refusals, before the first write

    def check_release(self) -> None:
        """Refuse a cluster that has no release.

        :raises NotSupported: nothing was ever made for it
        """
        if not self.cluster.stack_id:
            raise errors.NotSupported(NO_RELEASE)

    def check_changeable(self) -> None:
        """Refuse a cluster without a release, or that is frozen.

        A management cluster that does not answer refuses nothing here: the
        request finds out whether it needs an answer.

        :raises NotSupported: nothing was ever made for it
        :raises Frozen: its management cluster is frozen for maintenance
        """
        self.check_release()
        try:
            maintenance = registry.runtime_of(self.cluster).maintenance
            maintenance.cached()
        except errors.CapiHelmError:
            return
        maintenance.check()

    def check_replacement(
        self,
        rows_then: requested_groups.Rows,
        stored_then: releases.StoredState | None = None,
        *,
        always: bool = False,
    ) -> None:
        """Refuse a request that replaces machines without permission.

        A management cluster that does not answer, a busy helm or an absent
        release refuses no request: :meth:`Locked.apply` compares again under
        the Lease.

        :param rows_then: the rows as the request will leave them
        :param stored_then: the stored state as the request will leave it;
            None: as it is now
        :param always: helm will run even if nothing changes
        :raises WouldReplace: the request would
        :raises CapiHelmError: the stored state can't be read or applied
        """
        try:
            revisions = self.revisions()
            stored = self.stored(revisions, stored_then)
            planned = stored.planned(self.cluster, rows_then, revisions)
            if always or stored.differs(planned):
                with self.runtime.turns.turn():
                    template_guard.check(self, planned, rows_then, revisions)
        except errors.WouldReplace:
            raise
        except errors.CapiHelmError as error:
            if not isinstance(error, releases.ABSENT) and not error.retriable:
                raise
            text = str(error)
        else:
            return
        LOG.debug("Cluster %s: not compared yet: %s", self.cluster.uuid, text)

    # Without the Lease

    def session(self) -> Any:
        """Return a session that sees the cluster's project.

        The errors are those of :func:`sessions.request_session`.
        """
        return sessions.request_session(
            self.context,
            self.cluster.project_id,
            self.runtime.management,
            self.scope,
        )

    def observe(self, *, addons: bool = True) -> Observed:
        """Read rows and live objects together.

        :param addons: read addons and helm's records as well
        :raises CapiHelmError: the objects can't be read
        """
        rt = self.runtime
        shared = rt.snapshots if addons else rt.health_snapshots
        objects = shared.read(self.scope).decode()
        rows_now, nodegroups = rows.read(self.cluster)
        return Observed(
            nodegroups, rows_now.known_as(objects.group_names()), objects
        )

    def wait_reason(self) -> str:
        """Return the reason why the cluster is in progress; empty: it is not.

        :raises CapiHelmError: it failed, or is being deleted
        """
        row = rows.fresh(self.context, self.cluster)
        if row is None or rows.action(row.status) == "DELETE":
            raise errors.CapiHelmError("the cluster was deleted meanwhile")
        reason = str(row.status_reason or "")
        if rows.failed(row.status):
            raise errors.CapiHelmError(f"{row.status}: {reason}")
        return (reason or row.status) if rows.in_progress(row.status) else ""

    def start_update(self, nodegroup: Any | None = None) -> None:
        """Save UPDATE_IN_PROGRESS, so that the polls finish the work.

        Magnum would save it when the call is over. A conductor that dies
        before that would leave a cluster that no poll looks at.
        """
        if nodegroup is not None:
            status_writer.save_group(nodegroup, rows.Status.UPDATE_IN_PROGRESS)
        status_writer.await_polls(self.context, self.cluster)

    def deletion_requested(self) -> bool:
        """Return whether the Lease has the mark of a deletion.

        A deletion sets the mark before it writes rows.

        :raises ManagementError: the Lease can't be read
        """
        lease_now = self.runtime.leases.read(*self.scope)
        return lease.marked_deleted_at(lease_now) is not None

    def resume_late_requests(self, row: Any) -> None:
        """Let polls look at a cluster that is deleted or has group changes.

        :param row: of the cluster, with a final status that was just written
        """
        try:
            deleted = self.deletion_requested()
        except errors.CapiHelmError as error:
            LOG.warning(
                "cluster %s goes on with the polls: %s", row.uuid, error
            )
            status_writer.save_updating(row)
            return
        if deleted:
            status_writer.save_deleting(row)
        elif any(_unfinished(row, each) for each in rows.all_groups(row)):
            status_writer.save_updating(row)

    # Accepted work

    def run(
        self, work: Callable[[Operation], object], request: str, done: str
    ) -> None:
        """Do accepted work now, or leave it to its turn or to the polls.

        Nothing is raised: the request is accepted, and the rows say so.

        :param work: takes the Lease itself
        :param request: the request, in words for the log
        :param done: verb for the log, when the work is done
        """
        text = f"{request} of cluster %s goes on with the polls: %s"
        with magnum_errors.logged(LOG, text, self.cluster.uuid):
            with self.queued(work):
                work(self)
            LOG.info("%s release %s", done, self.release)

    def lock_and_apply(self) -> None:
        """Take the Lease, and make the release match the rows.

        :raises CapiHelmError: as :meth:`Locked.apply`
        """
        with self.lock() as locked:
            locked.apply()

    @contextlib.contextmanager
    def queued(self, work: Callable[[Operation], object]) -> Iterator[None]:
        """Queue ``work`` if the block finds no free helm process.

        No thread waits for helm. The block leaves everything else written,
        and ``work`` is what is left; not to be used under the Lease.

        :raises NoTurn: ``work`` is queued
        """
        try:
            yield
        except errors.NoTurn:
            # No object of the request is kept: it has the user's token.
            rt, uuid, actor = self.runtime, self.cluster.uuid, call.actor()
            rt.turns.later(uuid, lambda: _run_queued(rt, uuid, work, actor))
            raise

    def check_not_queued(self) -> None:
        """Leave a cluster alone whose work is queued.

        :raises NoTurn: it is
        """
        before = self.runtime.turns.before(self.cluster.uuid)
        if before is not None:
            raise errors.NoTurn(before)

    @contextlib.contextmanager
    def hold_lease(
        self, *, wait: float = 0.0, new: bool = False
    ) -> Iterator[lease.Hold]:
        """Hold the Lease.

        :param wait: seconds to wait while another holder has it
        :param new: expect that there is no Lease yet
        :raises LeaseHeld: another operation works on the cluster
        :raises Frozen: the management cluster is frozen
        """
        leases, labels = self.runtime.leases, self.object_labels
        deadline = time.monotonic() + wait
        with contextlib.ExitStack() as stack:
            while True:
                try:
                    hold = stack.enter_context(
                        leases.hold(*self.scope, labels, new=new)
                    )
                    break
                except errors.LeaseHeld:
                    if time.monotonic() >= deadline:
                        raise
                time.sleep(_PAUSE)
            yield hold

    @contextlib.contextmanager
    def lock(
        self, *, wait: float = 0.0, new: bool = False
    ) -> Iterator[Locked]:
        """Hold the Lease, and read the row again under it.

        The parameters and errors are those of :meth:`hold_lease`.
        """
        with self.hold_lease(wait=wait, new=new) as hold:
            yield Locked(self, hold)


class Locked(Operation):
    """An operation that holds the Lease.

    :ivar operation: the operation without the Lease, with the caller's row
    :ivar row: Magnum's row, read under the Lease; None: it is gone
    :ivar cluster: the same, or the caller's row of a cluster that is gone
    """

    def __init__(self, operation: Operation, hold: lease.Hold) -> None:
        super().__init__(
            operation.context, operation.cluster, operation.runtime
        )
        self.operation = operation
        self.hold = hold
        self.row = self.reread()

    def reread(self) -> Any:
        """Read the row again; without one the Lease goes at the end."""
        self.row = rows.fresh(self.context, self.cluster)
        self.hold.orphaned = self.row is None
        self.cluster = self.row or self.cluster
        return self.row

    @property
    def deleting(self) -> bool:
        """Return whether the cluster is gone or being deleted."""
        return (
            self.row is None
            or self.hold.marked_deleted
            or rows.action(self.row.status) == "DELETE"
            or rows.doomed(self.row)
        )

    def check_living(self) -> None:
        """Refuse a cluster that is being deleted.

        :raises NotSupported: it is
        """
        if self.deleting:
            raise errors.NotSupported("the cluster is being deleted")

    def settle(self) -> releases.StoredState:
        """Bring the rows in line with requests that were accepted."""
        return pending_requests.settle(self)

    def apply(
        self,
        stored: releases.StoredState | None = None,
        *,
        changes_only: bool = False,
        deadline: float | None = None,
    ) -> bool:
        """Make the release match the rows.

        :param stored: what this process has just stored; None: read it
        :param changes_only: run helm only if the rows want something else
            than was last stored
        :param deadline: on the monotonic clock; if helm does not have
            seconds enough until then, nothing is changed
        :returns: whether helm ran
        :raises NoTurn: no helm process is free; nothing was written
        :raises WouldReplace: machines would be replaced unasked; nothing was
            written
        :raises InterruptedCreateError: there is no desired state and no
            release
        :raises HelmBusy: a helm of another process may still be at work
        :raises CapiHelmError: as helm or the management cluster says
        """
        if self.deleting:
            return False
        with self.runtime.turns.turn():
            return self._apply(stored, changes_only, deadline)

    def _apply(
        self,
        stored: releases.StoredState | None,
        changes_only: bool,
        deadline: float | None,
    ) -> bool:
        nodegroups = rows.all_groups(self.cluster)
        # Before any absence is believed.
        identity.check(self.runtime, nodegroups)
        listed = self.revisions()
        stored = self.stored(listed, stored)
        stored = pending_requests.settle(self, nodegroups, stored)
        revisions = helm_run.give_up_dead(self, listed)
        rows_now = rows.wants(self.cluster, nodegroups)
        planned = stored.planned(self.cluster, rows_now, revisions)
        if changes_only and not stored.differs(planned):
            return False
        if helm_run.is_too_late(deadline):
            return False
        self._guard(planned, rows_now, revisions)
        if helm_run.is_too_late(deadline):
            return False
        counts = helm_run.counts_to_set(self, planned, rows_now)
        changed = planned is not stored.desired
        if changed:
            self.store(planned)
            pending_requests.forget_applied(
                self, rows_now, planned, stored.requests
            )
        migrated = helm_run.upgrade(self, planned, revisions, counts, deadline)
        # Asked for once more, or after a failure: helm alone does not look.
        # Nor does it see that two versions of an API spell a field in two
        # ways.
        harmful = any(each.harmful for each in revisions)
        if revisions and (not changed or migrated or harmful):
            repair.repair(self)
        return True

    def _guard(
        self,
        planned: desired_state.DesiredState,
        rows_now: requested_groups.Rows,
        revisions: releases.Revisions,
    ) -> None:
        """Refuse as :func:`template_guard.check` does.

        Polls try again and again: each new refusal is logged once, and
        ``Runtime.withheld`` keeps it for the status.
        """
        withheld, scope = self.runtime.withheld, self.scope
        try:
            template_guard.check(self, planned, rows_now, revisions)
        except (errors.WouldReplace, template_guard.OutdatedError) as error:
            if withheld.get(scope) != str(error):
                LOG.warning("Release %s stays as it is: %s", scope[1], error)
            withheld[scope] = str(error)
            raise
        withheld.pop(scope, None)

    def repair(self) -> None:
        """Make live objects equal to the manifest of the newest revision.

        :raises OutdatedError: the stored state is older than the release
        :raises CapiHelmError: as :func:`repair.repair`
        """
        revisions = self.revisions()
        desired = self.stored(revisions).accepted()
        template_guard.check_current(self, desired, revisions)
        repair.repair(self)

    # The end of an operation

    def save_complete(
        self, nodegroups: list[Any], verdict: cluster_status.Verdict
    ) -> bool:
        """Write that everything is as the rows want it.

        :returns: False: a deletion came meanwhile, and goes on
        """
        status_writer.save_complete(self.row, nodegroups, verdict)
        return self._confirm_end()

    def save_failed(
        self,
        nodegroups: list[Any],
        reason: str,
        verdict: cluster_status.Verdict | None = None,
    ) -> bool:
        """Write that the operation failed.

        :returns: False: a deletion came meanwhile, and goes on
        """
        status_writer.save_failed(self.row, nodegroups, reason, verdict)
        return self._confirm_end()

    def _confirm_end(self) -> bool:
        """Look once more for a deletion, after a final status was written.

        Magnum's handlers take no Lease, and its polls look only at clusters
        in progress: a request between a look and COMPLETE or FAILED would
        wait for polls that never come. A request that comes later writes a
        status of its own.

        :raises ManagementError: the Lease can't be read; the operation goes
            on, so that the next poll asks again
        """
        try:
            deleted = self.deletion_requested()
        except errors.CapiHelmError:
            status_writer.save_unfinished(self.row)
            raise
        if deleted:
            status_writer.save_deleting(self.row)
        return not deleted


def _unfinished(row: Any, nodegroup: Any) -> bool:
    """Return whether a group waits for polls.

    One whose deletion failed waits for the next change.
    """
    if rows.leaving(nodegroup):
        return not rows.failed(row.status)
    return rows.in_progress(nodegroup.status)


def _run_queued(
    rt: runtimes.Runtime,
    uuid: str,
    work: Callable[[Operation], object],
    actor: call.Actor | None,
) -> None:
    """Do queued work in its turn. Where that fails, the polls try again.

    :param actor: the user whose request was queued
    """
    context = rows.everywhere()
    row = rows.find(context, uuid)
    if row is None:
        return
    text = "Cluster %s, after its wait for helm: %s; the polls go on"
    with (
        call.acting(actor),
        magnum_errors.logged(LOG, text, uuid),
    ):
        work(Operation(context, row, rt))
