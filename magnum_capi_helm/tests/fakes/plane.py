# SPDX-License-Identifier: Apache-2.0

"""A whole management cluster for the driver: one object to start with."""

from __future__ import annotations

import time
from typing import cast

from magnum_capi_helm import equipment
from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import server_faults
from magnum_capi_helm.delivery import courier
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.helm import turns
from magnum_capi_helm.management import client
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.memory import outages
from magnum_capi_helm.memory import steady
from magnum_capi_helm.memory import waits
from magnum_capi_helm.planes import homes
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management


class Clock:
    """The monotonic clock, which a test can put forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def wall(self) -> float:
        """The time of day, as far ahead."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """That much time passes."""
        self._ahead += seconds


class Plane:
    """API server, helm and Cluster API, and conductors that use them.

    :param directory: for the chart store
    :param home: which of several management clusters it is
    """

    def __init__(
        self, directory: str, home: homes.Home = homes.UNNAMED
    ) -> None:
        self._directory = directory
        self.home = home
        self.server = api_server.ApiServer()
        self.management = management.FakeManagement(self.server)
        self.helm = helm.FakeHelm(self.management)
        self.clock = Clock()
        #: Seconds for which a new conductor has watched it; 0: it begins to.
        self.watched = 3600.0
        #: What was in line, and has its turn now.
        self.due: list[turns.Work] = []
        self.turns = turns.Turns(1, self.due.append)

    def cluster_api(
        self, namespace: str, release: str
    ) -> cluster_api.ClusterApi:
        """Cluster API's controllers for one release."""
        return cluster_api.ClusterApi(self.server, namespace, release)

    def runtime(self, holder: str = "conductor-1") -> runtime.Runtime:
        """What :func:`runtime.build` gives a conductor of that name.

        Each poll reads anew, as polls ten seconds apart do.
        """
        reads = cast("client.Client", self.management)
        runs = cast("helm_client.Helm", self.helm)
        seen = outages.Outages(steady=self.clock)
        if self.watched:
            seen.watching(self.clock() - self.watched)
        made = runtime.Runtime(
            management=reads,
            helm=runs,
            charts=charts.Store(self._directory, self.helm),
            leases=lease.Leases(reads, holder, self.clock),
            snapshots=_snapshots(reads, seen, whole=True),
            health_snapshots=_snapshots(reads, seen, whole=False),
            backoff=waits.Backoff(self.clock),
            pending=waits.FirstSeen(self.clock),
            behind=waits.FirstSeen(self.clock),
            failures=waits.FirstSeen(self.clock),
            telling=0.0,
            rounds=waits.Rounds(self.clock, lambda: 1.0),
            patience=0.0,
            long_patience=0.0,
            leftovers=waits.FirstSeen(self.clock),
            stuck=waits.FirstSeen(self.clock),
            refusals=steady.Steady(300.0, self.clock, lambda: 0.5),
            renewing=waits.Baton(3600.0, self.clock),
            waiting=steady.Steady(60.0, self.clock, lambda: 0.5),
            healthy=steady.Steady(900.0, self.clock, lambda: 0.5),
            server_faults=server_faults.ServerFaults(self.clock),
            turns=self.turns,
            home=self.home,
            outages=seen,
            deliveries=courier.Courier(
                self.clock, lambda: 0.0, lambda work: work(), self.clock.wall
            ),
        )
        made.anchor.clock = self.clock
        return made


def _snapshots(
    reads: client.Client, seen: outages.Outages, *, whole: bool
) -> equipment.Snapshots:
    """Looks that nobody shares who comes later, and only at what it asks."""
    observer = observation.Observer(reads, whole=whole)
    read = seen.watched(observer.read)
    return snapshot.Snapshots(read, max_age=0, again=0, gathering=0)
