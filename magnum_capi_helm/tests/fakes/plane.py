# SPDX-License-Identifier: Apache-2.0

"""A whole management cluster for the driver: one object to start with."""

from __future__ import annotations

import time
from typing import cast

from magnum_capi_helm import runtime
from magnum_capi_helm import schedules
from magnum_capi_helm.config import options
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.helm import turns
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.kubernetes import shared_reads
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management


class Clock:
    """The monotonic clock, which stands still until a test moves it."""

    def __init__(self) -> None:
        # Whole seconds: differences of fractions are inexact.
        self._began = float(int(time.monotonic()))
        self._began_wall = time.time()
        self._ahead = 0.0

    def __call__(self) -> float:
        return self._began + self._ahead

    def wall(self) -> float:
        """The time of day, as far ahead."""
        return self._began_wall + self._ahead

    def advance(self, seconds: float) -> None:
        """That much time passes."""
        self._ahead += seconds


#: A single management cluster, of which nothing is configured.
_UNNAMED = options.ManagementCluster("", "", "[capi_helm] kubeconfig_file")


class Plane:
    """API server, helm and Cluster API, and conductors that use them.

    :param directory: for the chart store
    :param home: which of several management clusters it is
    """

    def __init__(
        self,
        directory: str,
        home: options.ManagementCluster = _UNNAMED,
    ) -> None:
        self._directory = directory
        self.home = home
        self.server = api_server.ApiServer()
        self.management = management.FakeManagement(self.server)
        self.helm = helm.FakeHelm(self.management)
        self.clock = Clock()
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
        management = cast("client.Client", self.management)
        runs = cast("helm_client.Helm", self.helm)
        made = runtime.Runtime(
            self.home,
            management,
            runs,
            charts.Store(self._directory, runs),
            self.turns,
            holder,
            self.clock,
            lambda: 0.5,
        )
        made.snapshots = _snapshots(made, whole=True)
        made.health_snapshots = _snapshots(made, whole=False)
        made.failure_display = 0.0
        made.lease_wait = made.command_lease_wait = 0.0
        made.status_cache = schedules.PollCache(60.0, self.clock, lambda: 0.5)
        made.credential_checks = schedules.Schedule(self.clock, lambda: 1.0)
        made.deliveries = schedules.Schedule(self.clock, lambda: 0.0)
        made.wall = self.clock.wall
        return made


def _snapshots(
    made: runtime.Runtime, *, whole: bool
) -> shared_reads.SharedReads:
    """Return reads that are not shared with later polls."""
    read = reads.Reader(made.management, whole=whole).read
    return shared_reads.SharedReads(read, 0, 0, gathering=0)
