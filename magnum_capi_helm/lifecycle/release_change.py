# SPDX-License-Identifier: Apache-2.0

"""Change the release of a living cluster: steps of several flows.

Upgrade, rollback and rollout go the same way:

1. Read rows, desired state and the autoscaler's counts, under the Lease.
2. Compute the new desired state.
3. Compare the manifests, and let the webhooks of the management cluster see
   the new and changed objects in a dry run.
4. Accept: save UPDATE_IN_PROGRESS, then store the desired state in one write.
   A conductor that stops before that write changes nothing.
5. Run helm. The polls finish what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
import dataclasses
import functools
import time
from typing import Any

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import plan as plans
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import view

DesiredState = desired_state.DesiredState
Cluster = rows.Cluster
Release = cluster_release.Release
RevisionContent = helm_records.RevisionContent

_NO_STEPS = {upgrade_steps.Upgrade.KEY: None}


@dataclasses.dataclass(frozen=True)
class Current:
    """A cluster before its change.

    :param existing: rows of groups that are neither refused nor being deleted
    :param rows: with the names of the groups in ``desired``
    :param desired: the desired state, with all accepted requests
    :param autoscaled: UUIDs of the groups that the autoscaler owns -> their
        machines
    :param installed: the revision that helm compares with
    :param stored: the stored state
    :param view: the live objects
    """

    release: Release
    existing: list[rows.NodeGroup]
    rows: requested_groups.Rows
    desired: DesiredState
    autoscaled: Mapping[str, int]
    installed: RevisionContent
    stored: cluster_release.StoredState
    view: view.View

    @property
    def row(self) -> Cluster:
        """Magnum's row of the cluster."""
        return self.release.cluster

    @functools.cached_property
    def _openstack_cluster(self) -> cluster_release.Object | None:
        return self.release.get(kinds.OPENSTACK_CLUSTER)

    def keep_fields(
        self, new: paths.Values, chart: cluster_spec.Chart
    ) -> paths.Values:
        """Return new values with what a living cluster can't change."""
        old, live = self.desired.values, self._openstack_cluster
        return upgrade_rules.keep_fields(new, old, chart.version, live)

    @property
    def items(self) -> dict[str, paths.Values]:
        """The items of the value ``nodeGroups``, by name."""
        return values.items_by_name(self.desired.values)

    def without_autoscaler(
        self, new: paths.Values
    ) -> dict[str, dict[str, int]]:
        """Return fields of the rows of groups that lose the autoscaler.

        The autoscaler chose their counts; those in the rows are old.

        :param new: the values after the change
        :returns: UUID of a nodegroup -> ``node_count``
        """
        items = values.items_by_name(new)
        return {
            each.uuid: {"node_count": self.autoscaled[each.uuid]}
            for each in self.rows.workers
            if each.uuid in self.autoscaled
            and paths.COUNT in items.get(each.chart_name, {})
        }

    def compare(
        self, desired: DesiredState, before: RevisionContent | None = None
    ) -> template_guard.Comparison:
        """Compare the objects of a desired state with those of before.

        :param before: with other objects than the installed ones
        :raises HelmError: the chart does not accept the values
        """
        name, after = self.release.release, self.release.render(desired)
        before = before or self.installed
        return template_guard.Comparison(name, before, after)

    def changed(
        self,
        chart: cluster_spec.Chart,
        new_values: paths.Values,
        moves: desired_state.Moves | None,
        back: desired_state.Moves,
        groups: Collection[str] | None,
        **fields: Any,
    ) -> DesiredState:
        """Return another desired state, which a rollback can take back.

        :param moves: the changes of the rows; None: they stay
        :param back: the changes of the rows that a rollback makes
        :param groups: the groups whose machines it may replace; None: all
        :param fields: other fields of the desired state
        """
        before = self.desired
        moved = self.rows.moved(moves.groups if moves else {})
        return DesiredState(
            chart,
            values.upgraded(new_values, before.values),
            moved.fingerprint(),
            time.time(),
            moves=moves,
            before=desired_state.Before(
                before.chart, before.values, before.labels, back
            ),
            may_replace=before.may_replace,
            version=before.version,
            **fields,
        ).permitting(self.installed.version, groups)


def read(release: Release, *, ends_upgrade: bool = False) -> Current:
    """Read a cluster before its change.

    :param release: with a settled row, if it is read under the Lease
    :param ends_upgrade: the change takes the place of an open upgrade
    :raises NotSupported: helm has not installed the release yet, a plan goes
        on, or the stored state is older than the release
    """
    row = release.cluster
    rows_now, nodegroups = release.read_rows()
    revisions = release.revisions()
    if not revisions:
        raise errors.NotSupported(
            "the cluster has no release on the management cluster yet: wait "
            "until it is complete"
        )
    stored = release.read_stored(revisions)
    plan = stored.plan
    if plan and not (ends_upgrade and plan.BY_HELM):
        # Its machines need values that others would not have.
        raise errors.NotSupported(
            f"the {plan.NAME} has not ended: let it end first. If it is not "
            "UPDATE_IN_PROGRESS, a resize to the present count continues it. "
            f"{plan.WAY_BACK}"
        )
    desired = stored.desired_for(row, rows_now, revisions)
    installed = template_guard.check_current(release, desired, revisions)
    installed = installed or release.deployed(revisions)
    named = rows_now.named_as(values.group_names(desired.values))
    live = release.runtime.snapshots.read(release.scope).decode()
    owned = live.autoscaled()
    autoscaled = {
        each.uuid: int(
            view.spec_of(live.deployment(each.chart_name)).get("replicas") or 0
        )
        for each in named.workers
        if each.chart_name in owned
    }
    existing = list(filter(rows.is_member, nodegroups))
    return Current(
        release, existing, named, desired, autoscaled, installed, stored, live
    )


def with_other_values(
    release: Release,
    change: Callable[[paths.Values], paths.Values],
    groups: Collection[str],
    chart: cluster_spec.Chart | None = None,
) -> DesiredState:
    """Return the desired state of a plan's step; the same if it has begun.

    :param groups: the groups whose machines it may replace
    :param chart: None: that of now
    """
    revisions, row = release.revisions(), release.cluster
    rows_now, _ = release.read_rows()
    stored = release.read_stored(revisions)
    desired = stored.desired_for(row, rows_now, revisions)
    chart, new = chart or desired.chart, change(desired.values)
    if (chart, new) == (desired.chart, desired.values):
        return desired
    changed = dataclasses.replace(
        desired,
        chart=chart,
        # An empty one becomes that of the stored chart.
        digest=desired.digest if chart == desired.chart else "",
        values=values.upgraded(new, desired.values),
        since=time.time(),
    )
    revision = cluster_release.last_deployed(revisions).version
    return changed.permitting(revision, groups)


def compare(
    release: Release, desired: DesiredState
) -> template_guard.Comparison:
    """Compare a release that no change has read; see ``Current.compare``.

    :raises NotSupported: no revision was deployed
    :raises HelmError: the chart does not accept the values
    """
    before = release.deployed(release.revisions())
    after = release.render(desired)
    return template_guard.Comparison(release.release, before, after)


def dry_run(
    release: Release, objects: Sequence[cluster_release.Object], source: str
) -> None:
    """Let the webhooks of the management cluster see some objects.

    :param source: origin of the objects, for the message
    :raises NotSupported: a webhook refuses, in its own words
    :raises CapiHelmError: the webhooks don't answer, or the driver may not
        ask them
    """
    try:
        release.runtime.converter.run(lambda: _dry_run(release, objects))
    except errors.ManagementError as error:
        if error.retriable or responses.is_about_the_user(error):
            raise
        raise errors.NotSupported(
            f"{source} does not fit this cluster: {error}"
        ) from error


def _dry_run(
    release: Release, objects: Iterable[cluster_release.Object]
) -> None:
    management, namespace = release.management, release.namespace
    for each in release.runtime.converter.as_applied(objects):
        kind = kinds.rendered(each)
        if kind is None:
            continue
        name = each["metadata"]["name"]
        meta = {**each["metadata"], "namespace": namespace}
        new = {**each, "metadata": meta}
        # A merge patch, as helm sends. For an object that was once written in
        # a version that is no longer served, the API server answers 500 to a
        # server-side apply (kubernetes issue 111937).
        live = management.patch(kind, namespace, name, new, dry_run=True)
        if live is None:
            management.create(kind, new, dry_run=True)


def accept(
    held: holding.Held, desired: DesiredState, plan: plans.Plan | None = None
) -> None:
    """Store a desired state; from here on the change happens.

    :param plan: with the steps that follow; an upgrade's steps of before end
    :raises CapiHelmError: it could not be stored, or that is unknown
    """
    row, status = held.cluster, held.cluster.status
    steps = plan.to_secret() if plan else {}
    status_writer.save_updating(row)
    try:
        held.store(desired, {**_NO_STEPS, **steps})
    except errors.CapiHelmError as error:
        if not error.retriable or isinstance(error, errors.Conflict):
            row.status = status
            rows.save(row)
            held.resume_late_requests(row)
        # Otherwise it may have been stored: the polls find out.
        raise


def run_helm(held: holding.Held, deadline: float | None = None) -> str:
    """Run helm for an accepted change.

    :param deadline: of the caller's answer, on the monotonic clock
    :returns: why the polls have to go on; empty: helm is done
    """
    # Requests may have come while charts were rendered and webhooks asked.
    held.reread_groups()
    try:
        ran = apply.to_release(held, deadline=deadline)
    except errors.CapiHelmError as error:
        return str(error)
    return "" if ran else "no time was left for helm"
