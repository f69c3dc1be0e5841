# SPDX-License-Identifier: Apache-2.0

"""The release of a cluster, and the state that is stored beside it.

A Secret has the desired state, which is written under the Lease alone.
Requests about single nodegroups add keys of their own without the Lease; the
next holder of the Lease takes them from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
import time
from typing import Any, TypeVar

from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.chart import overlays
from magnum_capi_helm.chart import patches
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import plan as plans
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import view

Revisions = tuple[view.Revision, ...]
Object = dict[str, Any]
T = TypeVar("T")

#: In these alone an absent release is installed. A cluster that was complete
#: has machines somewhere.
_CREATING = (rows.Status.CREATE_IN_PROGRESS, rows.Status.CREATE_FAILED)


class InterruptedCreateError(errors.CapiHelmError):
    """Only the user can finish this create: it has no credential."""


class ReleaseGoneError(errors.CapiHelmError):
    """The helm release of a cluster that was complete is not there."""


#: Errors that say nothing of a request: the cluster may be deleted by now, and
#: an absence counts only under the Lease.
ABSENT = (InterruptedCreateError, ReleaseGoneError)
#: All kinds of plans.
PLANS: tuple[type[plans.Plan], ...] = (
    ca_rotation.Rotation,
    upgrade_steps.Upgrade,
)


@dataclasses.dataclass(frozen=True)
class StoredState:
    """The contents of the Secret.

    :param desired: the desired state; None: it was not written yet
    :param requests: pending requests about nodegroups
    :param plan: an operation of several steps, until it ends
    :param version: ``resourceVersion`` of the Secret; empty: there is none
    """

    desired: desired_state.DesiredState | None = None
    requests: desired_state.PendingRequests = dataclasses.field(
        default_factory=desired_state.PendingRequests
    )
    plan: plans.Plan | None = None
    version: str = ""

    @property
    def groups(self) -> frozenset[str]:
        """The chart's names of the node groups in the desired state."""
        return values.group_names(self.desired.values if self.desired else {})

    def accepted(self) -> desired_state.DesiredState:
        """Return the desired state that a request changes.

        :raises InterruptedCreateError: there is no desired state and no
            release
        """
        if self.desired is None:
            raise InterruptedCreateError(
                "the conductor stopped before the cluster's credential was "
                "made: delete the cluster and create it again"
            )
        return self.desired

    def desired_for(
        self,
        cluster: rows.Cluster,
        rows_now: requested_groups.Rows,
        revisions: Revisions,
    ) -> desired_state.DesiredState:
        """Return the desired state that the rows ask for.

        The stored one, if its fingerprint is that of the rows. The Secret has
        to be read after the rows: a request stores what its row needs before
        it writes the row. Groups whose stored requests change their settings
        may be replaced.

        :raises ReleaseGoneError: the release was there once
        :raises InterruptedCreateError: there is no desired state and no
            release
        """
        if not revisions and cluster.status not in _CREATING:
            raise ReleaseGoneError(
                f"the helm release {cluster.stack_id} is not on the "
                "management cluster: it is not installed anew, since its "
                "machines would be replaced"
            )
        desired, fingerprint = self.accepted(), rows_now.fingerprint()
        if desired.fingerprint == fingerprint:
            return desired
        new = values.with_groups(
            desired.values, rows_now.named_as(self.groups), self.requests
        )
        planned = dataclasses.replace(
            desired, values=new, fingerprint=fingerprint, since=time.time()
        )
        changed = values.changed_groups(desired.values, new)
        if not changed or not revisions:
            return planned
        return planned.permitting(last_deployed(revisions).version, changed)

    def differs(self, planned: desired_state.DesiredState) -> bool:
        """Return whether a planned state is another one than the stored one.

        A helm that failed for the stored state does not count. A state adopted
        from 1.4.0 has no fingerprint: compare values.
        """
        if self.desired is None:
            return True
        if not self.desired.fingerprint:
            return self.desired.values != planned.values
        return self.desired.fingerprint != planned.fingerprint


def _plan(data: Mapping[str, str]) -> plans.Plan | None:
    for kind in PLANS:
        try:
            if found := kind.from_secret(data):
                return found
        except encoding.DAMAGED as error:
            raise errors.ManagementError(
                f"the {kind.NAME} in the Secret with the desired state is "
                f"damaged ({type(error).__name__})"
            ) from error
    return None


def last_deployed(revisions: Sequence[view.Revision]) -> view.Revision:
    """Return the revision with which helm compares a new one.

    ``prepareUpgrade`` in helm's ``pkg/action/upgrade.go``: the newest that is
    deployed, else the newest. A helm that was killed after its last write to
    an object leaves none that is deployed.

    :param revisions: at least one, the newest last
    """
    with_status = [each for each in revisions if each.status == "deployed"]
    return (with_status or revisions)[-1]


@dataclasses.dataclass(frozen=True)
class Observed:
    """Rows and live objects, read together.

    :param nodegroups: the rows of all groups
    :param rows: their contents, with the names of the live objects
    """

    nodegroups: list[rows.NodeGroup]
    rows: requested_groups.Rows
    view: view.View


class Release:
    """The release of one cluster, and its place.

    :param context: Magnum's, of the user or of its periodic task
    :param cluster: Magnum's row, as old as the call
    :param runtime: of its management cluster

    :ivar management: the client of its management cluster
    :ivar release: the name of the helm release, which a new cluster will get
    :ivar scope: namespace and release
    :ivar object_labels: of the objects that the driver writes for the cluster
    :ivar allowed: the last state that ``template_guard.check`` let pass
    """

    def __init__(
        self, context: Any, cluster: rows.Cluster, runtime: runtimes.Runtime
    ) -> None:
        self.context = context
        self.cluster = cluster
        self.runtime = runtime
        self.management = runtime.management
        self.namespace = location.namespace(cluster.project_id)
        self.release = str(
            cluster.stack_id or names.release(cluster.name, cluster.uuid)
        )
        self.scope = self.namespace, self.release
        self.object_labels = location.object_labels(cluster, self.release)
        self.allowed: object = None

    def session(self) -> Any:
        """Return a session that sees the cluster's project.

        The errors are those of :func:`sessions.request_session`.
        """
        return sessions.request_session(
            self.context, self.cluster.project_id, self.management, self.scope
        )

    def own_session(self) -> Any:
        """Return a session as :func:`sessions.project_session` does."""
        return sessions.project_session(self.management, self.scope)

    def read_rows(self) -> tuple[requested_groups.Rows, list[rows.NodeGroup]]:
        """Read what the rows want, and the rows of all groups."""
        return rows.read(self.cluster)

    def observe(self, *, addons: bool = True) -> Observed:
        """Read rows and live objects together.

        :param addons: read addons and helm's records as well
        :raises CapiHelmError: the objects can't be read
        """
        rt = self.runtime
        shared = rt.snapshots if addons else rt.health_snapshots
        objects = shared.read(self.scope).decode()
        rows_now, nodegroups = self.read_rows()
        return Observed(nodegroups, objects.named(rows_now), objects)

    def machine_uids(self) -> frozenset[str]:
        """Return the UIDs of the cluster's machines.

        :raises CapiHelmError: they can't be read
        """
        mine = f"{view.CLUSTER_NAME_LABEL}={self.release}"
        machines = self.metadata(kinds.MACHINE, mine)
        return frozenset(str(each["metadata"]["uid"]) for each in machines)

    def deletion_requested(self) -> bool:
        """Return whether the Lease has the mark of a deletion.

        A deletion sets the mark before it writes rows.

        :raises ManagementError: the Lease can't be read
        """
        lease_now = self.runtime.leases.read(*self.scope)
        return lease.marked_deleted_at(lease_now) is not None

    # Objects in its namespace

    def get(self, kind: kinds.Kind, name: str = "") -> Object | None:
        """Return an object; None: it does not exist.

        :param name: empty: that of the release, as the Cluster has
        :raises ManagementError: it can't be read
        """
        return self.management.get(kind, self.namespace, name or self.release)

    def deployment(self, group: str) -> Object | None:
        """Return the MachineDeployment of a group; None: it does not exist.

        :param group: the chart's name of the group
        :raises ManagementError: it can't be read
        """
        name = names.machine_deployment(self.release, group)
        return self.get(kinds.MACHINE_DEPLOYMENT, name)

    def metadata(self, kind: kinds.Kind, selector: str) -> list[Object]:
        """Return objects without spec, status and data.

        :raises ManagementError: they can't be read
        """
        return self.management.list(
            kind, self.namespace, selector, metadata_only=True
        )

    def delete(self, kind: kinds.Kind, name: str) -> None:
        """Delete an object, if it exists.

        :raises ManagementError: it can't be deleted
        """
        self.management.delete(kind, self.namespace, name)

    def patch(
        self, kind: kinds.Kind, name: str, change: Object
    ) -> Object | None:
        """Merge a change into an object; None: it does not exist.

        :raises ManagementError: it can't be written
        """
        return self.management.patch(kind, self.namespace, name, change)

    def annotate(
        self, kind: kinds.Kind, name: str, notes: Mapping[str, str | None]
    ) -> None:
        """Set annotations of an object, or remove them (None)."""
        change = {"metadata": {"annotations": dict(notes)}}
        self.patch(kind, name, change)

    # helm's records

    def revisions(self) -> Revisions:
        """Return the revisions, the newest last."""
        return helm_records.revisions(self.management, *self.scope)

    def record(self, version: int) -> helm_records.RevisionContent | None:
        """Return a revision with its content, or None when it is gone.

        :raises HelmError: the record can't be read
        """
        return helm_records.read(self.management, *self.scope, version)

    def deployed(
        self, revisions: Sequence[view.Revision]
    ) -> helm_records.RevisionContent:
        """Return the content of :func:`last_deployed`.

        :raises NotSupported: there are no revisions
        :raises Conflict: its record was deleted meanwhile
        :raises HelmError: its record can't be read
        """
        if not revisions:
            raise errors.NotSupported(
                f"release {self.release} was never deployed: there is nothing "
                "to compare with"
            )
        version = last_deployed(revisions).version
        record = self.record(version)
        if record is None:
            raise errors.Conflict(
                f"revision {version} of {self.release} is gone"
            )
        return record

    def render(
        self, desired: desired_state.DesiredState, *, live: bool = True
    ) -> tuple[Object, ...]:
        """Return the objects of the chart.

        :param live: as an upgrade: the chart looks up objects, and versions
            that are not served are converted as far as the driver knows them;
            else the objects have the chart's versions
        :raises HelmError: the chart does not accept the values, or a field
            can't be kept
        """
        converter = self.runtime.converter
        render = self.prepared(self.runtime.helm.render, desired)
        if not live:
            return render()
        try:
            objects = converter.run(
                lambda: render(live=True, convert=converter.groups)
            )
        except errors.Unconvertible:
            # helm 4 does not tell what its post-renderer said: as_applied
            # raises the error of the first object that does not fit.
            tuple(converter.as_applied(render()))
            raise
        return tuple(converter.as_applied(objects))

    def prepared(
        self,
        run: Callable[..., T],
        desired: desired_state.DesiredState,
        counts: Mapping[str, int] | None = None,
    ) -> Callable[..., T]:
        """Return a run of helm with the chart and values of a desired state.

        :param run: a method of :class:`helm.client.Helm`
        :param counts: of autoscaled groups, by their names
        :raises HelmError: there is no such chart
        """
        return functools.partial(
            run,
            self.release,
            self.namespace,
            self.runtime.charts.ensure(desired.chart),
            overlays.for_helm(desired),
            patch=patches.wanted(
                values.in_effect(desired.values), desired.chart.version, counts
            ),
        )

    # The Secret

    def read_secret(self) -> Object:
        """Return the Secret of the desired state; empty: there is none."""
        return self.get(kinds.SECRET, names.desired_state(self.release)) or {}

    def read_stored(self, revisions: Revisions | None = None) -> StoredState:
        """Read the Secret; of a cluster of 1.4.0, the state of its release.

        :param revisions: of the release, if they were read already
        :raises CapiHelmError: it can't be read
        """
        secret = self.read_secret()
        data, version = secret.get("data") or {}, view.version_of(secret)
        return StoredState(
            desired_state.from_secret(data, version)
            if desired_state.is_stored(data)
            else self._adopted(revisions, version),
            desired_state.pending_requests(data),
            _plan(data),
            version,
        )

    def _adopted(
        self, revisions: Revisions | None, version: str
    ) -> desired_state.DesiredState | None:
        """Return the desired state of a release that has none stored."""
        if revisions is None:
            revisions = self.revisions()
        if not revisions:
            return None
        record = self.deployed(revisions)
        chart = dataclasses.replace(
            requested_labels.configured_chart(), version=record.chart_version
        )
        return desired_state.DesiredState(
            chart, record.values, "", time.time(), version=version
        )

    def read_plan(self) -> plans.Plan | None:
        """Read nothing but the plan in the Secret.

        :raises ManagementError: it can't be read
        """
        return _plan(self.read_secret().get("data") or {})

    @call.without_lease("keys of requests, which the next holder takes")
    def patch_stored(
        self, change: Mapping[str, str | None], version: str = ""
    ) -> str:
        """Set keys beside the desired state, or remove them (None).

        It is atomic, and touches no other key. Requests call it without the
        Lease; plans and polls call it under the Lease, which is checked.

        :param version: ``resourceVersion`` that the Secret must have; empty:
            any, and a missing Secret is made
        :returns: the new one
        :raises Conflict: it has another one
        """
        secret = self.patch_secret(change, version)
        if secret is None and any(change.values()):
            try:
                secret = self.management.create(
                    kinds.SECRET, self.new_secret(change)
                )
            except errors.Conflict:
                secret = self.patch_secret(change)
        return view.version_of(secret)

    def patch_secret(
        self, change: Mapping[str, str | None], version: str = ""
    ) -> Object | None:
        content: Object = {"data": dict(change)}
        if version:
            content["metadata"] = {"resourceVersion": version}
        name = names.desired_state(self.release)
        secret = self.patch(kinds.SECRET, name, content)
        if secret is None and version:
            raise errors.Conflict(f"the Secret {name} was deleted meanwhile")
        return secret

    def new_secret(self, data: Mapping[str, str | None]) -> Object:
        name = names.desired_state(self.release)
        new = {key: text for key, text in data.items() if text is not None}
        return encoding.secret(self.namespace, name, self.object_labels, new)
