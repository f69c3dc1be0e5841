# SPDX-License-Identifier: Apache-2.0

"""A release whose Lease this call holds: nothing else may write it.

::

    with operation.lock() as held:     # the Lease, and the row read again
        held.check_living()            # for requests that are answered
        held.settle()                  # the rows get what requests decided
        held.store(desired)            # before helm runs
        held.save_complete(...)        # or save_failed(...)

The functions that run helm, repair objects or write the outcome of an
operation take a :class:`Held`.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import secrets
from typing import Any

from oslo_log import log

from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: The length of a key of secretbox and of AES-256.
_ETCD_KEY_BYTES = 32

#: Time until a request has decided whether its nodegroup is made.
_TO_DECIDE = datetime.timedelta(minutes=5)

_NEVER_DECIDED = (
    "the conductor stopped before it began to make the nodegroup: delete it "
    "and create it again"
)
_NOTHING_KNOWN = (
    "nothing is known of the nodegroup's machines: delete it and create it "
    "again"
)


class Held(cluster_release.Release):
    """A release whose Lease this call holds.

    :ivar caller_row: the row that the caller has
    :ivar cluster: Magnum's row, read under the Lease; the caller's if it is
        gone
    :ivar nodegroups: the rows of all groups, read under the Lease
    :ivar gone: Magnum has no row any more
    """

    def __init__(
        self, release: cluster_release.Release, hold: lease.Hold
    ) -> None:
        super().__init__(release.context, release.cluster, release.runtime)
        self.caller_row = release.cluster
        self.allowed = release.allowed
        self.hold = hold
        self.reread()

    def reread(self) -> None:
        """Read the rows again; without one the Lease goes at the end."""
        row = rows.fresh(self.context, self.cluster)
        self.gone = self.hold.orphaned = row is None
        self.cluster = row or self.cluster
        self.reread_groups()

    def reread_groups(self) -> None:
        """Read the rows of the groups again, after a longer work."""
        self.nodegroups = rows.all_groups(self.cluster)

    def read_rows(self) -> tuple[requested_groups.Rows, list[rows.NodeGroup]]:
        """Return the rows that were read under the Lease."""
        return rows.wants(self.cluster, self.nodegroups), self.nodegroups

    @property
    def deleting(self) -> bool:
        """Return whether the cluster is gone or being deleted."""
        return (
            self.gone
            or self.hold.marked_deleted
            or rows.action(self.cluster.status) == "DELETE"
            or rows.doomed(self.nodegroups)
        )

    def check_living(self) -> None:
        """Refuse a cluster that is being deleted.

        :raises NotSupported: it is
        """
        if self.deleting:
            raise errors.NotSupported("the cluster is being deleted")

    def make_server_groups(
        self, session: Any, policies: Mapping[str, str]
    ) -> dict[str, str]:
        """Make Nova server groups.

        The parameters and errors are those of :func:`server_groups.ensure`.
        """
        return server_groups.ensure(
            self.management, self.scope, self.object_labels, session, policies
        )

    def ensure_etcd_key(self) -> None:
        """Make the key that encrypts data in etcd, unless there is one.

        It is made once, beside the release and owned by no release: with
        another key everything that is encrypted would be lost.

        The chart takes the Secret's data as it is for the API server's file:
        both have the raw bytes in base64, once.
        """
        key = encoding.encode(secrets.token_bytes(_ETCD_KEY_BYTES))
        secret = encoding.secret(
            self.namespace,
            names.etcd_key(self.release),
            self.object_labels,
            {"key": key},
            # Even a client that may write Secrets can't change it.
            immutable=True,
        )
        try:
            self.management.create(kinds.SECRET, secret)
        except errors.Conflict:
            LOG.info("release %s has its etcd key already", self.release)

    def store(
        self,
        desired: desired_state.DesiredState,
        more: Mapping[str, str | None] | None = None,
    ) -> desired_state.DesiredState:
        """Store a desired state, before helm runs.

        One without the digest of its chart gets that of the stored chart.
        Later writes keep it: it is that of the build that machines were made
        from. A Secret that changed since it was read stays: a holder that has
        lost the Lease must not overwrite the state of the next one.

        :param more: further keys of the Secret; None removes a key
        :returns: the state as it is stored
        :raises Conflict: the Secret has changed, or was made or deleted
        """
        digest = desired.digest or self.runtime.charts.digest(desired.chart)
        desired = dataclasses.replace(desired, digest=digest)
        data: dict[str, str | None] = {**desired.to_secret(), **(more or {})}
        try:
            if desired.version:
                change = {**desired_state.NO_PARTS, **data}
                secret = self.patch_secret(change, desired.version)
            else:
                new = self.new_secret(data)
                secret = self.management.create(kinds.SECRET, new)
        except errors.Conflict:
            secret = self.read_secret()
            stored, version = secret.get("data") or {}, view.version_of(secret)
            if not (desired.version or desired_state.is_stored(stored)):
                # Requests about nodegroups came before the first state.
                desired = dataclasses.replace(desired, version=version)
                return self.store(desired, more)
            # The client repeats a request whose answer was lost.
            if any(stored.get(key) != text for key, text in data.items()):
                raise
        return dataclasses.replace(desired, version=view.version_of(secret))

    # Stored requests

    def settle(
        self, stored: cluster_release.StoredState | None = None
    ) -> cluster_release.StoredState:
        """Write into the rows what accepted requests decided.

        A request stores what it wants beside the desired state before it
        writes its row (a deletion: after it), and Magnum's handlers write
        into rows whatever they remember. So the Secret decides, before the
        rows are judged or applied: an accepted upgrade changes template,
        images and flavors. A new nodegroup whose request is stored is
        accepted; one that is to be deleted is being deleted, whatever was
        written since; one without any values can't be made any more, and must
        not keep the others from being made.

        :param stored: read after the rows, if it was read already
        :returns: the stored state without what the rows have now
        """
        stored = stored or self.read_stored()
        desired = stored.desired
        if desired and desired.moves and not self._is_outdated(desired):
            moves = desired.moves
            status_writer.save_moves(self.cluster, self.nodegroups, moves)
            uuid, template = self.cluster.uuid, moves.template
            LOG.info("cluster %s has template %s", uuid, template)
            change = {desired_state.MOVES: None}
            version = self.patch_stored(change, desired.version)
            desired = dataclasses.replace(desired, moves=None, version=version)
            stored = dataclasses.replace(stored, desired=desired)
        if desired is not None:
            self._settle_groups(stored)
        return stored

    def _is_outdated(self, desired: desired_state.DesiredState) -> bool:
        """Return whether a state is older than the release."""
        try:
            template_guard.check_current(self, desired, self.revisions())
        except template_guard.OutdatedError:
            return True
        return False

    def _settle_groups(self, stored: cluster_release.StoredState) -> None:
        named = self.read_rows()[0].named_as(stored.groups)
        made = {
            each.uuid
            for each in (*named.groups, *named.refused)
            if each.chart_name in stored.groups
        } | stored.requests.items.keys()
        for each in self.nodegroups:
            if each.is_default:
                continue
            if each.uuid in stored.requests.deleted:
                status_writer.save_group(each, rows.Status.DELETE_IN_PROGRESS)
            elif each.uuid in made and rows.undecided(each):
                status_writer.save_accepted(each, self.cluster.stack_id)
            elif each.uuid not in made:
                self._settle_without_values(each)

    def _settle_without_values(self, nodegroup: rows.NodeGroup) -> None:
        """Refuse a group that has neither values nor a stored request.

        One with machines stays as it is: the stored state may be an older
        copy.
        """
        now = datetime.datetime.now(datetime.timezone.utc)
        young = now - nodegroup.created_at <= _TO_DECIDE
        reason = ""
        if rows.undecided(nodegroup):
            reason = "" if young else _NEVER_DECIDED
        elif rows.is_member(nodegroup):
            if young and not nodegroup.stack_id:
                # Resized before its own request has decided.
                status = rows.Status.CREATE_IN_PROGRESS
                status_writer.save_group(nodegroup, status)
                return
            reason = _NOTHING_KNOWN
        chart_name = names.node_group(nodegroup.name, self.release)
        if reason and not self.deployment(chart_name):
            LOG.warning("nodegroup %s: %s", nodegroup.uuid, reason)
            status_writer.save_refused(nodegroup, reason)

    # The end of an operation

    def save_complete(
        self, nodegroups: list[rows.NodeGroup], verdict: cluster_status.Verdict
    ) -> bool:
        """Write that everything is as the rows want it.

        :returns: False: a deletion came meanwhile, and goes on
        """
        status_writer.save_complete(self.cluster, nodegroups, verdict)
        return self._confirm_end()

    def save_failed(
        self,
        nodegroups: list[rows.NodeGroup],
        reason: str,
        verdict: cluster_status.Verdict | None = None,
    ) -> None:
        """Write that the operation failed; a deletion goes on."""
        status_writer.save_failed(self.cluster, nodegroups, reason, verdict)
        self._confirm_end()
        row = self.cluster
        LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)

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
            status_writer.save_in_progress(self.cluster)
            raise
        if deleted:
            status_writer.save_deleting(self.cluster)
        return not deleted

    def resume_late_requests(self, row: rows.Cluster) -> None:
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
        elif any(
            # One whose deletion failed waits for the next change.
            rows.in_progress(each.status)
            and not (rows.leaving(each) and rows.failed(row.status))
            for each in rows.all_groups(row)
        ):
            status_writer.save_updating(row)
