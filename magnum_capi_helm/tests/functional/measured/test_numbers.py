# SPDX-License-Identifier: Apache-2.0

"""What the driver costs, measured on the lab."""

from __future__ import annotations

import collections
import re
import statistics
import time
from typing import Any

from magnum.common import context
from magnum.common import service
from magnum.objects import cluster as cluster_object

from magnum_capi_helm import driver
from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

DONE = re.compile(
    r"^\S+ \S+ (\d+) INFO .*(created|resized) release .*"
    r"driver ([\d.]+) s, helm [\d.]+ s \(\d+ processes\), "
    r"OpenStack [\d.]+ s \(\d+ requests\), "
    r"management cluster ([\d.]+) s",
    re.M,
)
#: Seconds for all but helm and OpenStack, where nothing else is going on.
CEILINGS = {"created": 0.3, "resized": 0.2}


class _Counted:
    """A transport that counts requests, and connections beneath them."""

    def __init__(self, inner: connection.Connection) -> None:
        self._inner = inner
        self.server = inner.server
        self.requests = 0
        self.expiries = inner.expiries

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """As :meth:`connection.Connection.request`."""
        self.requests += 1
        return self._inner.request(method, version, url, **options)

    @property
    def connections(self) -> int:
        """TCP connections opened so far."""
        session = self._inner._latest().api.session
        pools = session.get_adapter(self.server).poolmanager.pools
        # An LRU container of urllib3, which refuses to be iterated.
        keys = list(pools.keys())
        return sum(pools[key].num_connections for key in keys)


class NumbersTest(base.LabCase):
    """Ceilings that a change must not break."""

    def test_what_a_create_and_a_settled_cluster_cost(self) -> None:
        template = self.template()
        earlier = len(base.magnum_log())
        cluster = self.cluster(template)
        self.until_status(cluster, ("CREATE_COMPLETE",))
        # More than one: one alone says more of what else the machine does.
        # The next one begins before the machines of this one come.
        for number in (2, 3):
            self._make_and_delete(template)
            made = base.magnum_log()[earlier:].count("created release")
            self.assertEqual(number, made)
        for count in (2, 1, 2):
            self.resize(cluster, count)
        took = _seconds(earlier)
        print(took)
        for what, ceiling in CEILINGS.items():
            self.assertLessEqual(
                statistics.median(took[what]), ceiling * base.SLOWER, str(took)
            )

        row, counted, admin = self._own_driver(cluster)
        driver.Driver().update_cluster_status(admin, row)
        opened, before = counted.connections, counted.requests

        time.sleep(3)  # beyond the age at which polls share a view
        driver.Driver().update_cluster_status(admin, row)
        status_requests = counted.requests - before
        before = counted.requests
        driver.Driver().get_monitor(admin, row).poll_health_status()
        health_requests = counted.requests - before

        self.assertEqual("UPDATE_COMPLETE", row.status)
        self.assertLessEqual(status_requests, 8)
        self.assertLessEqual(health_requests, 4)
        self.assertEqual(opened, counted.connections)
        self.assertEqual(1, opened)

    def _make_and_delete(self, template: str) -> None:
        """A cluster that goes as soon as its release is there."""
        earlier = len(base.magnum_log())
        cluster = self.cluster(template)
        self.until(
            lambda: "created release" in base.magnum_log()[earlier:], 60
        )
        self.magnum.call("DELETE", f"/clusters/{cluster}")

    def _own_driver(self, cluster: str) -> tuple[Any, _Counted, Any]:
        """The driver in this process, on the lab's configuration."""
        service.prepare_service(
            [
                "test",
                "--config-file",
                str(programs.LAB / "cloud" / "magnum" / "magnum.conf"),
            ]
        )
        runtime.reset()
        self.addCleanup(runtime.reset)
        path = str(programs.LAB / "driver-kubeconfig")
        counted = _Counted(connection.Connection(path, (3.05, 10.0)))
        management = client.Client(lambda: counted)
        runtime.use(runtime.build(management))
        admin = context.make_admin_context(all_tenants=True)
        row = cluster_object.Cluster.get_by_uuid(admin, cluster)
        return row, counted, admin


def _seconds(earlier: int) -> dict[str, list[float]]:
    """What each operation took, but a process's first.

    The first create of a process also loads what talks to OpenStack, once
    in a conductor's life.

    :param earlier: characters of the log that are not looked at
    """
    found = collections.defaultdict(list)
    started: set[str] = set()
    for process, what, own, management in DONE.findall(
        base.magnum_log()[earlier:]
    ):
        if process in started:
            found[what].append(round(float(own) + float(management), 3))
        started.add(process)
    return found
