# SPDX-License-Identifier: Apache-2.0

"""One operation on one cluster: a request, a poll or a command.

The driver makes an :class:`Operation` from Magnum's context and row and the
runtime of the management cluster. Every flow gets it instead of clients, names
and labels::

    operation.check_changeable()       # refuse; nothing is written yet
    operation.check_replacement(rows)
    observed = operation.observe()     # rows and live objects, read together
    operation.start_update(nodegroup)  # the rows say UPDATE_IN_PROGRESS
    operation.run(work, "Resize")      # now, queued, or by polls

    with operation.lock() as held:   # the Lease, and the row read again
        apply.to_release(held)       # the release gets what the rows want
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import time

from oslo_log import log

from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.operations import template_guard

LOG = log.getLogger(__name__)

#: Seconds between two tries to take the Lease.
_PAUSE = 0.5

NO_RELEASE = (
    "the cluster has no release on the management cluster: delete it and "
    "create it again"
)


class Operation(cluster_release.Release):
    """One operation on one cluster.

    :param context: Magnum's, of the user or of its periodic task
    :param cluster: Magnum's row, as old as the call
    :param runtime: as for :class:`cluster_release.Release`
    """

    # Refusals, before the first write

    def check_release(self) -> None:
        """Refuse a cluster that has no release.

        :raises NotSupported: nothing was ever made for it
        """
        if not self.cluster.stack_id:
            raise errors.NotSupported(NO_RELEASE)

    def check_answering(self) -> None:
        """Refuse a cluster whose management cluster does not answer.

        :raises NotSupported: nothing was ever made for it
        :raises CapiHelmError: nor is it the recorded one
        """
        self.check_release()
        identity.check(self.runtime, rows.all_groups(self.cluster))

    def check_changeable(self) -> None:
        """Refuse a cluster without a release, or that is frozen.

        A management cluster that does not answer refuses nothing here: the
        request finds out whether it needs an answer.

        :raises NotSupported: nothing was ever made for it
        :raises Frozen: its management cluster is frozen for maintenance
        """
        self.check_release()
        try:
            self.runtime.maintenance.cached()
        except errors.CapiHelmError:
            return
        self.runtime.maintenance.check()

    def check_replacement(
        self,
        rows_then: requested_groups.Rows,
        stored_then: cluster_release.StoredState | None = None,
        *,
        always: bool = False,
    ) -> None:
        """Refuse a request that replaces machines without permission.

        A management cluster that does not answer, a busy helm or an absent
        release refuses no request: :func:`apply.to_release` compares again
        under the Lease.

        :param rows_then: the rows as the request will leave them
        :param stored_then: the stored state as the request will leave it;
            None: as it is now
        :param always: helm will run even if nothing changes
        :raises WouldReplace: the request would
        :raises CapiHelmError: the stored state can't be read or applied
        """
        try:
            revisions = self.revisions()
            stored = stored_then or self.read_stored(revisions)
            planned = stored.desired_for(self.cluster, rows_then, revisions)
            if always or stored.differs(planned):
                with self.runtime.turns.turn():
                    template_guard.check(self, planned, rows_then, revisions)
        except errors.CapiHelmError as error:
            later = error.retriable or isinstance(
                error, cluster_release.ABSENT
            )
            if not later or isinstance(error, errors.WouldReplace):
                raise
            text = "Cluster %s: not compared yet: %s"
            LOG.debug(text, self.cluster.uuid, error)

    # Without the Lease

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

    def start_update(self, nodegroup: rows.NodeGroup | None = None) -> None:
        """Save UPDATE_IN_PROGRESS, so that the polls finish the work.

        Magnum saves it after a resize, and before a change of a nodegroup.
        Without it, a conductor that dies meanwhile, or a poll that writes
        COMPLETE, would leave a cluster that no poll looks at.
        """
        if nodegroup is not None:
            status_writer.save_group(nodegroup, rows.Status.UPDATE_IN_PROGRESS)
        # A poll that read the rows before may have written COMPLETE since.
        if row := rows.fresh(self.context, self.cluster):
            status_writer.save_updating(row)

    # Accepted work

    def run(self, work: Callable[[Operation], object], request: str) -> None:
        """Do accepted work now, or leave it to its turn or to the polls.

        Nothing is raised: the request is accepted, and the rows say so.

        :param work: takes the Lease itself
        :param request: the request, in words for the log
        """
        text = f"{request} of cluster %s goes on with the polls: %s"
        with magnum_errors.logged(LOG, text, self.cluster.uuid):
            with self.queued(work):
                work(self)
            LOG.info("%s reached release %s", request, self.release)

    def lock_and_apply(self) -> None:
        """Take the Lease, and make the release match the rows.

        :raises LeaseHeld: a poll that has the Lease is not done soon
        :raises CapiHelmError: as :func:`apply.to_release`
        """
        with self.lock(wait=self.runtime.lease_wait) as held:
            apply.to_release(held)

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
    def lock(
        self, *, wait: float = 0.0, new: bool = False
    ) -> Iterator[holding.Held]:
        """Hold the Lease, and read the row again under it.

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
            yield holding.Held(self, hold)


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
    with call.acting(actor), magnum_errors.logged(LOG, text, uuid):
        work(Operation(context, row, rt))
