# SPDX-License-Identifier: Apache-2.0

"""A look at a cluster: rows and objects, and what they amount to.

A look costs a few LISTs and needs no Lease. A thorough one, for a decision,
also reads what is kept beside the release and its manifest.
"""

from __future__ import annotations

from collections.abc import Hashable
import dataclasses
import functools
import math
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import repair
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import progress
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Look:
    """A cluster's rows and objects, read together, and what they amount to."""

    rt: runtime.Runtime
    scope: snapshot.Scope
    row: Any
    nodegroups: list[Any]
    wanted: requested_groups.Rows
    seen: view.View
    verdict: cluster_status.Verdict
    #: What was last wanted; read in a thorough look.
    known: desired_state.Intent | None = None
    #: Names of the manifest's addons; read in a thorough look.
    expected: frozenset[str] = frozenset()
    #: Of all objects in ``seen``.
    version: Hashable = None
    #: Whether the same objects will always amount to this.
    lasting: bool = False

    @property
    def steady(self) -> bool:
        """Whether only another object or row gives a poll anything to do."""
        return self.lasting and not (
            self.verdict.complete
            or self.behind
            or self.drifted
            or self.undecided
        )

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
        if self._lingering:
            return True
        return any(
            view.spec_of(self.seen.deployment(name)).get("replicas") != count
            for name, count in self.wanted.counts().items()
            if name not in self.seen.autoscaled()
        )

    @property
    def drifted(self) -> bool:
        """Whether live objects may not be what their manifest says.

        helm takes no notice of what it could not delete (``Update`` in
        ``pkg/kube/client.go``): such a group or addon lives on, in no
        manifest.
        """
        return (
            repair.needed(self.seen.revisions)
            or repair.miscounted(self.seen, self.wanted)
            or repair.stray_addons(self.seen, self.scope, self.expected)
            or self._lingering
        )

    @property
    def _lingering(self) -> bool:
        """Whether a group that is to go lives on, and nobody deletes it."""
        names = [each.chart_name for each in self.wanted.leaving]
        found = [self.seen.deployment(each) for each in names if each]
        return any(e is not None and not view.deleting(e) for e in found)

    @functools.cached_property
    def mark(self) -> progress.Mark | None:
        """Return how far the machines of an update have come.

        :returns: None where the release is not what the rows want yet, and
            for a create, whose time-out does not depend on progress
        """
        if rows.action(self.row.status) == "CREATE" or self.behind:
            return None
        return progress.latest(self.seen, time.time())

    @property
    def advanced(self) -> bool:
        """Return whether the Cluster still lacks the mark of this look."""
        return (
            rows.in_progress(self.row.status)
            and self.mark is not None
            and self.mark != progress.kept(self.seen.cluster)
        )

    @property
    def left(self) -> float:
        """Return the seconds until the operation has taken too long.

        A create counts from the row's creation and has the user's time-out.
        An update counts from its last progress, at first from the last change
        of the release; one that did not reach the release yet, from when this
        process first saw it. Time in which nothing could go on does not
        count.
        """
        if rows.action(self.row.status) == "CREATE":
            return create_left(self.row, self.rt)
        if self.undecided:
            return math.inf
        if self.mark is not None:
            since = float(self.mark.time)
        else:
            looks = (self.wanted.fingerprint(), self.upgraded)
            since = time.time() - self.rt.behind.age(self.scope, looks)
        return left(self.rt, since, conf.CONF.capi_helm.operation_timeout)

    @property
    def overdue(self) -> bool:
        """Whether the operation has taken longer than it may."""
        return self.left < 0

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


def ask_nova(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    sighting: observation.Sighting,
) -> None:
    """Let Nova say why servers of a cluster are in ERROR, if any are.

    :func:`of` sends no request to OpenStack, because it holds ``rt.judging``
    or the Lease.
    """
    rt.server_faults.ask(rt.management, scope, sighting.servers())


def at(rt: runtime.Runtime, row: Any, *, not_before: float) -> Look:
    """A thorough look at a cluster, for a decision.

    :param not_before: how old it may be, monotonic seconds
    """
    scope = operation.scope_of(row)
    sighting = rt.snapshots.get(scope, not_before=not_before)
    return of(rt, row, sighting, thorough=True)


def of(
    rt: runtime.Runtime,
    row: Any,
    sighting: observation.Sighting,
    *,
    thorough: bool = False,
) -> Look:
    """What a cluster's rows and what was read of it amount to.

    :param thorough: read its manifest and what is kept beside it as well
    """
    scope = operation.scope_of(row)
    rows_now, nodegroups = rows.read(row)
    seen = rt.server_faults.added(scope, sighting.decode())
    rows_now = rows_now.known_as(seen.group_names())
    expected = _expected(rt, scope, seen) if thorough else frozenset()
    judge = functools.partial(
        cluster_status.verdict,
        seen,
        rows_now,
        autoscaled=seen.autoscaled(),
        required=conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
        expected=expected,
    )
    verdict = judge(now=time.time())
    found = Look(
        rt,
        scope,
        row,
        nodegroups,
        rows_now,
        seen,
        verdict,
        known=state_secret.read(rt, scope).wanted if thorough else None,
        expected=expected,
        version=sighting.version,
        lasting=verdict == judge(now=math.inf)
        and all(each.message for each in seen.faults.values()),
    )
    if found.behind and (why := rt.withheld.get(scope)):
        told = dataclasses.replace(verdict, reason=why)
        return dataclasses.replace(found, verdict=told)
    return found


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


def create_left(cluster: Any, rt: runtime.Runtime | None = None) -> float:
    """Seconds until a create takes longer than user or operator allow.

    :param rt: its management cluster; None: it was never begun on one
    """
    minutes = cluster.create_timeout or conf.CONF.capi_helm.operation_timeout
    began = cluster.created_at
    return left(rt, began.timestamp() if began else None, minutes)


def left(
    rt: runtime.Runtime | None, since: float | None, minutes: int
) -> float:
    """Seconds until something takes longer than it may.

    A process that was started a moment ago does not know when nothing could
    go on, and calls nothing late.

    :param rt: where it goes on; None: nowhere yet
    :param since: when it began, seconds since 1970; None: not known
    :param minutes: that it may take; 0: as long as it likes
    :raises ManagementError: nobody can say how much of the time counts
    """
    if not minutes or since is None:
        return math.inf
    now = time.time()
    found = since + 60 * minutes - now
    # In time by any count: most polls ask for no more.
    if found >= 0 or rt is None:
        return found
    found += rt.stood_still(since, now)
    return max(found, rt.outages.unwatched(60 * minutes))
