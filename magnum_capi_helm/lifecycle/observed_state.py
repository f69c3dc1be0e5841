# SPDX-License-Identifier: Apache-2.0

"""The observed state of a cluster, from which a poll decides.

Rows and objects are read together and judged once. This costs a few LISTs and
needs no Lease. An action also needs the manifest of the release and the
stored desired state: :func:`observe_all` reads them as well.
"""

from __future__ import annotations

from collections.abc import Hashable
import dataclasses
import functools
import math
import time

from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import faults
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.lifecycle import decision
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import repair
from magnum_capi_helm.status import addon
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

#: ``status_reason`` of an operation that took too long begins with it.
LATE = "not done in time: "
#: Annotation of the Cluster while a step ends with the control plane alone.
AWAITED = "magnum.openstack.org/plan-awaits"


@dataclasses.dataclass(frozen=True)
class ObservedState(cluster_release.Observed):
    """Rows and objects of a cluster, read together, and the verdict.

    :param expected: without the manifest's addons, unless all was read
    :param stored: the stored state, if all was read
    :param version: of all objects
    """

    release: cluster_release.Release
    expected: cluster_status.Expected
    verdict: cluster_status.Verdict
    version: Hashable
    stored: cluster_release.StoredState | None = None

    @property
    def row(self) -> rows.Cluster:
        """Magnum's row of the cluster."""
        return self.release.cluster

    @property
    def desired(self) -> desired_state.DesiredState | None:
        """The stored desired state, if all was read."""
        return self.stored.desired if self.stored else None

    @property
    def is_behind(self) -> bool:
        """Return whether the release is not what the rows want."""
        if (
            cluster_status.release_reason(self.view)
            or not self.has_last_change
        ):
            return True
        live = cluster_status.fingerprint(self.view.cluster)
        if live is not None:
            return live != self.rows.fingerprint()
        # Made by 1.4.0, which leaves no fingerprint: compare the groups.
        return self._has_lingering_group or any(
            view.spec_of(self.view.deployment(name)).get("replicas") != count
            for name, count in self.rows.counts().items()
            if name not in self.view.autoscaled()
        )

    @property
    def has_last_change(self) -> bool:
        """Return whether the release has the last change not seen in rows.

        It may be an upgrade, a rollback, a rollout or the step of a plan.
        """
        if self.desired is None or self.view.cluster is None:
            return True
        annotations = view.annotations_of(self.view.cluster)
        live = values.live_generation(annotations)
        return live == values.generation(self.desired.values)

    @property
    def has_drifted(self) -> bool:
        """Return whether live objects may differ from their manifest.

        helm takes no notice of an object that it could not delete (``Update``
        in ``pkg/kube/client.go``): such a group or addon lives on, in no
        manifest.
        """
        addons = self.expected.addons
        return (
            any(each.harmful for each in self.view.revisions)
            or repair.miscounted(self.view, self.rows)
            or repair.addons_differ(self.view, self.release.scope, addons)
            or self._has_lingering_group
        )

    @property
    def _has_lingering_group(self) -> bool:
        """Return whether a leaving group lives on without a deletion."""
        names = [each.chart_name for each in self.rows.leaving]
        live = [self.view.deployment(each) for each in names if each]
        return any(each and not view.deleting(each) for each in live)

    @property
    def _has_gone_group(self) -> bool:
        """Return whether only the row is left of a deleted group."""
        return not self.is_behind and any(
            cluster_status.is_gone(self.view, each)
            for each in self.rows.leaving
        )

    @property
    def has_undecided_group(self) -> bool:
        """Return whether a request has still to decide about a group."""
        return any(map(rows.undecided, self.nodegroups))

    def facts(self, *, locked: bool, shown: bool = True) -> decision.Facts:
        """Return what decides about the next action.

        :param locked: all was read under the Lease
        :param shown: a failed status was visible long enough
        """
        backoff, scope = self.release.runtime.backoff, self.release.scope
        return decision.Facts(
            status=self.row.status,
            locked=locked,
            complete=self.verdict.complete and self.has_last_change,
            step_over=self._is_step_over,
            behind=self.is_behind,
            drifted=self.has_drifted,
            undecided=self.has_undecided_group,
            row_only=self._has_gone_group,
            overdue=self.is_overdue,
            backing_off=not backoff.is_over(scope),
            shown=shown,
        )

    @property
    def _is_step_over(self) -> bool:
        """Return whether a step that awaits the control plane has ended.

        Without the stored state, an annotation says whether there is one.
        """
        plan = self.stored.plan if self.stored else None
        if plan and plan.BY_HELM:
            # One without machines has still to begin.
            waits = plan.ends_early or plan.machines is None
        elif self.stored:
            waits = False
        else:
            waits = AWAITED in view.annotations_of(self.view.cluster)
        return waits and self.has_control_plane

    @property
    def has_control_plane(self) -> bool:
        """Return whether the control plane is as the release wants it."""
        master = self.rows.master
        verdict = master and self.verdict.groups.get(master.name)
        is_ready = verdict and not verdict.reason and not self.is_behind
        return bool(is_ready) and replacement.has_version(self.view)

    @property
    def seconds_valid(self) -> float:
        """Return how long the state Waiting lasts without any change.

        :returns: 0: the next poll may have to do more
        """
        if (
            self.has_undecided_group
            or self._is_step_over
            or not faults.are_settled(self.release.runtime, self.release.scope)
        ):
            return 0.0
        return min(
            self.seconds_left, self.view.clock.valid_until - time.time()
        )

    @functools.cached_property
    def progress(self) -> replacement.Progress | None:
        """Return the progress of the machines in an update.

        :returns: None where the release is not what the rows want yet, and
            for a create, whose time-out does not depend on progress
        """
        if rows.action(self.row.status) == "CREATE" or self.is_behind:
            return None
        return replacement.latest_progress(self.view)

    @property
    def new_progress(self) -> replacement.Progress | None:
        """Return the progress that the Cluster does not have yet."""
        stored = replacement.stored_progress(self.view.cluster)
        is_new = rows.in_progress(self.row.status) and self.progress != stored
        return self.progress if is_new and self.view.cluster else None

    @property
    def is_overdue(self) -> bool:
        """Return whether an operation has taken longer than it may."""
        return rows.in_progress(self.row.status) and self.seconds_left < 0

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the operation has taken too long.

        An update counts from its last progress, at first from the last change
        of the release. If it did not reach the release yet, it counts from
        the first look of this process.
        """
        is_create = rows.action(self.row.status) == "CREATE"
        if self.has_undecided_group and not is_create:
            return math.inf
        if self.progress is not None:
            since = float(self.progress.time)
        else:
            change = (self.rows.fingerprint(), self.has_last_change)
            ages = self.release.runtime.ages
            age = ages.age(self.release.scope, "change", change)
            since = time.time() - age
        return seconds_left(self.release, since)


def observe_all(
    operation: cluster_release.Release, stored: cluster_release.StoredState
) -> ObservedState:
    """Read rows, objects and manifest, and judge them.

    :param stored: the stored state
    :raises CapiHelmError: one of them can't be read
    """
    rt = operation.runtime
    snapshot = rt.snapshots.read(operation.scope, rt.health_snapshots)
    return judge(operation, snapshot, stored)


def check_settled(state: ObservedState) -> None:
    """Refuse a cluster that is busy, or whose machines may not come up.

    :raises NotSupported: it is not complete and healthy
    """
    row, status = state.row, health.health(state.view).status
    reasons = (
        "" if row.status.endswith("_COMPLETE") else str(row.status),
        state.verdict.reason,
        "" if status == health.HEALTHY else status,
        # The row also has the check of the credential.
        health.UNHEALTHY if row.health_status == health.UNHEALTHY else "",
    )
    if reason := next(filter(None, reasons), ""):
        raise errors.NotSupported(
            "only a complete and healthy cluster gets other machines, and "
            f"this one is not: {reason}"
        )


def judge(
    operation: cluster_release.Release,
    snapshot: reads.ReleaseObjects,
    stored: cluster_release.StoredState | None = None,
    below: view.View | None = None,
) -> ObservedState:
    """Judge a snapshot of the objects together with Magnum's rows.

    No request goes to OpenStack: the caller has a verdict slot or the Lease.

    :param stored: the stored state; the manifest is read as well
    :param below: the infrastructure of the snapshot, if it is known
    :raises CapiHelmError: one of them can't be read
    """
    runtime, scope = operation.runtime, operation.scope
    rows_now, nodegroups = operation.read_rows()
    objects = faults.with_faults(runtime, scope, snapshot.decode(below))
    expected = cluster_status.Expected(
        objects.named(rows_now),
        conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
        *(_manifest(operation, objects.newest) if stored else ()),
    )
    state = ObservedState(
        nodegroups=nodegroups,
        rows=expected.rows,
        view=objects,
        release=operation,
        expected=expected,
        verdict=cluster_status.verdict(objects, expected),
        version=snapshot.version,
        stored=stored,
    )
    if state.is_behind and (reason := runtime.withheld.get(scope)):
        verdict = dataclasses.replace(state.verdict, reason=reason)
        return dataclasses.replace(state, verdict=verdict)
    return state


def _manifest(
    operation: cluster_release.Release, newest: view.Revision | None
) -> tuple[frozenset[str], dict[str, str]]:
    """Return the manifest's addons, and the checksums of the Secrets.

    The objects of the manifest may not exist yet. The Secret with the
    credential is in no manifest.
    """
    record = newest and operation.record(newest.version)
    if not record:
        return frozenset(), {}
    secrets = {
        view.name_of(each): addon.checksum(each)
        for each in record.objects
        if each.get("kind") == kinds.SECRET.name
    }
    management = operation.management
    if credential := credential_secret.read(management, operation.scope):
        secrets[view.name_of(credential)] = addon.checksum(credential)
    return record.names(kinds.HELM_RELEASE, kinds.MANIFESTS), secrets


def seconds_left(
    operation: cluster_release.Release, since: float | None
) -> float:
    """Return the seconds until an operation takes longer than it may.

    A create counts from the row's creation and has the user's time-out. The
    time of a freeze does not count.

    :param since: begin of any other one, seconds since 1970; None: unknown
    :raises ManagementError: the times of freezes can't be read
    """
    row, runtime = operation.cluster, operation.runtime
    minutes = conf.CONF.capi_helm.operation_timeout
    if rows.action(row.status) == "CREATE":
        since = row.created_at.timestamp() if row.created_at else None
        minutes = row.create_timeout or minutes
    if not minutes or since is None:
        return math.inf
    now = time.time()
    left: float = since + 60 * minutes - now
    # In time by any count: most polls ask for no more.
    if left >= 0 or rows.failed(row.status):
        return left
    return left + runtime.maintenance.cached().seconds(since, now)
