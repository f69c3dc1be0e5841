# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What a poll does: look, judge, and finish what a request began.

A look costs a few LISTs and needs no Lease. Only what may change the
outcome does: applying, and writing COMPLETE or FAILED. Then the rows and
the objects are read once more, under the Lease.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import autoscaled
from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import intent
from magnum_capi_helm import kept
from magnum_capi_helm import nodegroup_rows
from magnum_capi_helm import operation
from magnum_capi_helm import origin
from magnum_capi_helm import outcome
from magnum_capi_helm import repair
from magnum_capi_helm import rows
from magnum_capi_helm import runtime
from magnum_capi_helm import values
from magnum_capi_helm import wanted
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.resolve import location
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

_NEVER_STARTED = (
    "the conductor stopped before it began to create the cluster: delete it "
    "and create it again"
)


@dataclasses.dataclass(frozen=True)
class _Look:
    """A cluster's rows and objects, read together, and what they amount to."""

    rt: runtime.Runtime
    scope: snapshot.Scope
    row: Any
    nodegroups: list[Any]
    wanted: wanted.Rows
    seen: view.View
    verdict: cluster_status.Verdict
    #: What was last wanted; read in a thorough look.
    known: intent.Intent | None = None

    @property
    def upgraded(self) -> bool:
        """Whether the release has had the upgrade that was last accepted.

        The rows may want the same of two templates.
        """
        if self.known is None or self.seen.cluster is None:
            return True
        found = view.annotations_of(self.seen.cluster)
        live = found.get(values.UPGRADE_ANNOTATION) or "0"
        return live == values.upgrades(self.known.values)

    @property
    def undecided(self) -> bool:
        """Whether a request has still to say if it makes a group."""
        return any(map(rows.undecided, self.nodegroups))

    @property
    def behind(self) -> bool:
        """Whether the release is not what the rows want."""
        newest = self.seen.newest
        if newest is None or newest.status != "deployed":
            return True
        live = cluster_status.fingerprint(self.seen.cluster)
        if not self.upgraded:
            return True
        if live is not None:
            return live != self.wanted.fingerprint()
        # Made by 1.4.0, which leaves no fingerprint: compare the groups.
        if any(self._there(each.chart_name) for each in self.wanted.leaving):
            return True
        return any(
            view.spec_of(self.seen.deployment(name)).get("replicas") != count
            for name, count in self.wanted.counts().items()
            if name not in self.seen.autoscaled()
        )

    @property
    def drifted(self) -> bool:
        """Whether live objects may not be what their manifest says."""
        return repair.needed(self.seen.revisions) or repair.miscounted(
            self.seen, self.wanted
        )

    def _there(self, name: str) -> bool:
        found = self.seen.deployment(name) if name else None
        return found is not None and not view.deleting(found)

    @property
    def overdue(self) -> bool:
        """Whether the operation has taken longer than it may.

        A create counts from the row's creation and has the user's time-out.
        An update counts from the last change of the release; one that did
        not reach the release yet, from when this process first saw it.
        """
        if rows.action(self.row.status) == "CREATE":
            return _create_overdue(self.row)
        if self.undecided:
            return False
        limit = float(conf.CONF.capi_helm.operation_timeout * 60)
        if not limit:
            return False
        if self.behind:
            looks = (self.wanted.fingerprint(), self.upgraded)
            return self.rt.behind.age(self.scope, looks) > limit
        newest = self.seen.newest
        return newest is not None and time.time() - newest.modified > limit

    @property
    def matters(self) -> bool:
        """Whether something may have to be applied, or an end be written."""
        if self.row.status.endswith("_COMPLETE"):
            return False
        if self.verdict.complete:
            return True
        if rows.in_progress(self.row.status) and self.overdue:
            return True
        wrong = self.behind or self.drifted
        return wrong and self.rt.backoff.ready(self.scope)


def _look(
    rt: runtime.Runtime, row: Any, *, not_before: float = float("-inf")
) -> _Look:
    """Look at a cluster; with a ``not_before`` also at its manifest.

    :param not_before: how old the view of the objects may be
    """
    scope = operation.scope_of(row)
    rows_now, nodegroups = rows.read(row)
    seen = rt.snapshots.get(scope, not_before=not_before)
    rows_now = rows_now.known_as(seen.group_names())
    thorough = not_before > float("-inf")
    verdict = cluster_status.verdict(
        seen,
        rows_now,
        now=time.time(),
        autoscaled=seen.autoscaled(),
        required=conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
        expected=_expected(rt, scope, seen) if thorough else frozenset(),
    )
    return _Look(
        rt,
        scope,
        row,
        nodegroups,
        rows_now,
        seen,
        verdict,
        known=kept.read(rt, scope).wanted if thorough else None,
    )


def _expected(
    rt: runtime.Runtime, scope: snapshot.Scope, seen: view.View
) -> frozenset[str]:
    """Addons that the manifest has; their objects may not exist yet."""
    if seen.newest is None:
        return frozenset()
    found = releases.read(rt.management, *scope, seen.newest.version)
    if found is None:
        return frozenset()
    return found.names(kinds.HELM_RELEASE, kinds.MANIFESTS)


def update(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Bring the rows of a cluster in line with what is there.

    :raises CapiHelmError: no verdict this time, and nothing written
    """
    if not cluster.stack_id:
        if rows.doomed(cluster):
            outcome.save_deleting(cluster)
        elif rows.in_progress(cluster.status) and _create_overdue(cluster):
            outcome.save_failed(
                cluster, rows.all_groups(cluster), _NEVER_STARTED
            )
        return
    with origin.doubted(rt, cluster):
        look = _look(rt, cluster)
        _locate(look)
    if not look.matters:
        outcome.save_facts(cluster, look.nodegroups, look.verdict)
        return
    labels = location.object_labels(cluster, look.scope[1])
    with rt.leases.hold(*look.scope, labels) as hold:
        _decide(rt, context, cluster, hold)


def _locate(look: _Look) -> None:
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
    if row is None or rows.action(row.status) == "DELETE":
        return
    if hold.marked_deleted or rows.doomed(row):
        outcome.save_deleting(row)
        outcome.copy_outcome(row, cluster)
        return
    nodegroup_rows.settle(rt, row)
    look = _buried(_look(rt, row, not_before=time.monotonic()))
    done = look.verdict.complete and look.upgraded and not look.drifted
    if done and not look.undecided:
        _complete(look)
    elif not row.status.endswith("_COMPLETE"):
        _go_on(look, hold)
    outcome.copy_outcome(row, cluster)


def _buried(look: _Look) -> _Look:
    """The look, without the groups that are deleted by now."""
    if look.behind:
        return look
    gone = nodegroup_rows.bury(
        look.rt, look.row, look.nodegroups, look.wanted, look.seen
    )
    left = [each for each in look.nodegroups if each.uuid not in gone]
    return dataclasses.replace(look, nodegroups=left)


def _complete(look: _Look) -> None:
    """Write COMPLETE, unless the rows want something else by now.

    Magnum's handlers take no Lease: what they wrote since the look would
    wait for polls of a complete cluster, and there are none.
    """
    row = look.row
    look.rt.backoff.succeeded(look.scope)
    if look.known and look.known.before:
        # There is nothing to go back to from what is complete.
        labels = location.object_labels(row, look.scope[1])
        kept.park(look.rt, look.scope, labels, intent.NO_WAY_BACK)
    outcome.save_complete(row, look.nodegroups, look.verdict)
    rows_now, nodegroups = rows.read(row)
    if (
        rows_now.fingerprint() != look.wanted.fingerprint()
        or rows_now.leaving
        or any(map(rows.undecided, nodegroups))
    ):
        outcome.save_updating(row)
    else:
        autoscaled.save(look.rt, row, nodegroups, rows_now, look.seen)
    LOG.info("cluster %s is %s", row.uuid, row.status)


def _go_on(look: _Look, hold: Any) -> None:
    """What is in progress, or has failed: give up, apply again, or wait."""
    if rows.in_progress(look.row.status) and look.overdue:
        _fail(look, f"not done in time: {look.verdict.reason}", look.verdict)
        return
    outcome.save_facts(look.row, look.nodegroups, look.verdict)
    failure = ""
    if look.behind:
        failure = _apply(look, hold)
    elif look.drifted:
        failure = _repair(look)
    if failure:
        _fail(look, failure)


def _fail(
    look: _Look, reason: str, verdict: cluster_status.Verdict | None = None
) -> None:
    row = look.row
    outcome.save_failed(row, look.nodegroups, reason, verdict)
    LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)


def _apply(look: _Look, hold: Any) -> str:
    """Apply what is wanted; why that can never succeed, if so.

    :raises CapiHelmError: it may succeed later
    """
    try:
        operation.apply(look.rt, look.row, look.wanted, hold)
    except exceptions.CapiHelmError as error:
        look.rt.backoff.failed(look.scope)
        if error.retriable:
            raise
        known = isinstance(error, operation.InterruptedCreateError)
        # Why it failed before says more.
        return "" if known and rows.failed(look.row.status) else str(error)
    look.rt.backoff.succeeded(look.scope)
    return ""


def _repair(look: _Look) -> str:
    """Put live objects right; why that can never succeed, if so.

    :raises CapiHelmError: it may succeed later
    """
    # Until it shows: somebody may change them back, again and again.
    look.rt.backoff.failed(look.scope)
    try:
        repair.repair(look.rt, look.scope)
    except exceptions.CapiHelmError as error:
        if error.retriable:
            raise
        return str(error)
    return ""


def _create_overdue(cluster: Any) -> bool:
    minutes = cluster.create_timeout or conf.CONF.capi_helm.operation_timeout
    if not minutes or cluster.created_at is None:
        return False
    now = datetime.datetime.now(datetime.timezone.utc)
    return bool(now - cluster.created_at > datetime.timedelta(minutes=minutes))
