# SPDX-License-Identifier: Apache-2.0

"""What talks to one management cluster, and remembers of it."""

from __future__ import annotations

import dataclasses
import threading
from typing import TypeAlias

from magnum_capi_helm.cloud import server_faults
from magnum_capi_helm.config import conf
from magnum_capi_helm.delivery import courier
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.helm import turns
from magnum_capi_helm.management import anchor
from magnum_capi_helm.management import client
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.memory import outages
from magnum_capi_helm.memory import steady
from magnum_capi_helm.memory import waits
from magnum_capi_helm.model import timing
from magnum_capi_helm.planes import homes
from magnum_capi_helm.planes import traces
from magnum_capi_helm.status import health

#: How many creates are planned at a time, and seconds that one waits for it:
#: nobody waits for its answer, but others for theirs.
_PLANNERS = 3
_PATIENCE = 30.0
#: Seconds until an operation that does not move is judged anew, by rows that
#: a handler wrote whose conductor died before it told the management cluster;
#: and health that does not change.
_WAITING = 300.0
_HEALTHY = 900.0
#: Seconds for which one cluster may keep others from new certificates.
_RENEWAL = 3600.0
_JUDGES = 16

Snapshots: TypeAlias = snapshot.Snapshots[observation.Sighting]


@dataclasses.dataclass(frozen=True)
class Runtime:
    """What talks to one management cluster.

    ``home``: what is configured of it; its name is empty where it is the
    only one.
    """

    management: client.Client
    helm: helm_client.Helm
    charts: charts.Store
    leases: lease.Leases
    snapshots: Snapshots
    health_snapshots: Snapshots
    backoff: waits.Backoff = dataclasses.field(default_factory=waits.Backoff)
    pending: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: Revisions that a helm of this process began and did not end, and the
    #: fingerprint of their values.
    broken_off: dict[snapshot.Scope, tuple[int, str]] = dataclasses.field(
        default_factory=dict
    )
    #: Why what is wanted of a release is not applied: machines that nobody
    #: asked to replace would be replaced.
    withheld: dict[snapshot.Scope, str] = dataclasses.field(
        default_factory=dict
    )
    #: What requests have compared with what is deployed, and when (monotonic
    #: seconds).
    compared: dict[snapshot.Scope, tuple[float, tuple[object, ...] | None]] = (
        dataclasses.field(default_factory=dict)
    )
    behind: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: What became of requests that were refused, or took too long.
    failures: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: Seconds for which a failure is told, though nothing is wrong any more.
    telling: float = 30.0
    #: Looks at the clusters' credentials.
    rounds: waits.Rounds = dataclasses.field(default_factory=waits.Rounds)
    #: Seconds for which a call whose caller waits, waits for a Lease.
    patience: float = 15.0
    #: The same for a command, whose operator has time: one that was killed
    #: half way has the Lease for half a minute longer.
    long_patience: float = 90.0
    leftovers: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: How long nothing of a deletion has gone, and why Cluster API cannot log
    #: in for it.
    stuck: waits.FirstSeen = dataclasses.field(default_factory=waits.FirstSeen)
    refusals: steady.Steady[str] = dataclasses.field(
        default_factory=lambda: steady.Steady(_WAITING)
    )
    #: How long a pending revision of a conductor may still be at work.
    helm_deadline: float = 330.0
    #: The same for those of 1.4.0, and of people at a shell.
    foreign_deadline: float = 330.0
    #: One for all management clusters: helm runs on this host.
    turns: turns.Turns = dataclasses.field(
        default_factory=lambda: turns.Turns(conf.helm_processes())
    )
    home: homes.Home = homes.UNNAMED
    #: Polls that judge at the same time. Magnum starts one for each cluster,
    #: and each has all objects of a cluster decoded while it judges.
    judging: threading.Semaphore = dataclasses.field(
        default_factory=lambda: threading.Semaphore(_JUDGES)
    )
    #: Creates that are planned at the same time.
    planning: waits.Courtesy = dataclasses.field(
        default_factory=lambda: waits.Courtesy(_PLANNERS, _PATIENCE)
    )
    #: The cluster whose certificates this process has renewed.
    renewing: waits.Baton = dataclasses.field(
        default_factory=lambda: waits.Baton(_RENEWAL)
    )
    #: Operations that go on as they did.
    waiting: steady.Steady[bool] = dataclasses.field(
        default_factory=lambda: steady.Steady(_WAITING)
    )
    #: Health that only a change of an object can change.
    healthy: steady.Steady[health.Health] = dataclasses.field(
        default_factory=lambda: steady.Steady(_HEALTHY)
    )

    #: Why Nova put servers of clusters into ERROR.
    server_faults: server_faults.ServerFaults = dataclasses.field(
        default_factory=server_faults.ServerFaults
    )
    #: Kubeconfigs that are delivered beside the polls.
    deliveries: courier.Courier = dataclasses.field(
        default_factory=courier.Courier
    )
    outages: outages.Outages = dataclasses.field(
        default_factory=outages.Outages
    )
    #: Which one it is, and whether it is frozen.
    anchor: anchor.Anchor = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        found = anchor.Anchor(self.management, self.home.name)
        object.__setattr__(self, "anchor", found)
        self.leases.wanted = self.changing
        self.leases.allowed = found.check
        self.leases.lacking = lambda scope: traces.check(
            self.management, scope
        )

    def forget(self, scope: snapshot.Scope) -> None:
        """Drop what this process knows of a release."""
        self.broken_off.pop(scope, None)
        self.withheld.pop(scope, None)
        self.compared.pop(scope, None)
        self.snapshots.forget(scope)
        self.health_snapshots.forget(scope)
        self.deliveries.forget(scope)
        self.server_faults.forget(scope)
        self.changing(scope)

    def stood_still(self, since: float, now: float) -> float:
        """Seconds of a time in which it was frozen, or could not be read.

        :param since: seconds since 1970
        :raises ManagementError: nobody can say whether it is frozen
        """
        spans = (*self.anchor.known().spans(now), *self.outages.spans(now))
        return timing.covered(
            (max(began, since), min(ended, now))
            for began, ended in spans
            if began < now and ended > since
        )

    def changing(self, scope: snapshot.Scope) -> None:
        """Judge a release anew: something is about to change it."""
        self.waiting.forget(scope)
        self.healthy.forget(scope)
