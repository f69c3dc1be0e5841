# SPDX-License-Identifier: Apache-2.0

"""Nova, Neutron or Keystone does not answer for a minute.

CAPO tries again after as long as it has failed, and the reason goes away with
the outage. Only a server that Nova could not place needs a new machine.
"""

from __future__ import annotations

import time
from typing import Any

from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.cloud import fault_case

_OUTAGE = 60.0


class ServicesAwayTest(fault_case.FaultCase):
    def test_a_resize_goes_on_after_each_outage(self) -> None:
        cluster = self.cluster(self.template())
        self.until_status(cluster, ("CREATE_COMPLETE",))
        release = self.release(cluster)
        for count, service in ((2, "neutron"), (1, "nova"), (2, "nova")):
            with self.subTest(service=service, count=count):
                self._resize(cluster, release, service, count)
        self._without_keystone(cluster, release)
        self.delete(cluster)
        self.assert_all_gone(release)

    def _resize(
        self, cluster: str, release: str, service: str, count: int
    ) -> None:
        """Ask for a size, and stop a service before CAPO can make it so."""
        self._ask(cluster, count)
        programs.lab("stop", service)
        self.addCleanup(programs.lab, "up")
        stopped = time.monotonic()
        seen = set()
        while time.monotonic() < stopped + _OUTAGE:
            shown = self.magnum.find(cluster) or {}
            seen.add((shown["status"], shown["status_reason"]))
            time.sleep(1)
        print(service, *seen, sep="\n  ")
        programs.lab("start", service)
        self._until_complete(cluster, release, count)

    def _without_keystone(self, cluster: str, release: str) -> None:
        """Magnum's API does not answer either."""
        self._ask(cluster, 1)
        programs.lab("stop", "keystone")
        time.sleep(_OUTAGE)
        programs.lab("start", "keystone")
        self._until_complete(cluster, release, 1)

    def _ask(self, cluster: str, count: int) -> None:
        path = f"/clusters/{cluster}/actions/resize"
        self.magnum.call("POST", path, {"node_count": count})

    def _until_complete(self, cluster: str, release: str, count: int) -> None:
        self.look_at_all(release)
        done: dict[str, Any] = self.until(
            lambda: self._done(cluster, release),
            240,
            lambda: str(self.magnum.find(cluster)),
        )
        self.assertEqual(
            ("UPDATE_COMPLETE", None, count),
            (done["status"], done["status_reason"], done["node_count"]),
        )
        self.until(lambda: self._servers(release) == count + 1, 120)

    def _done(self, cluster: str, release: str) -> dict[str, Any] | None:
        """Return the cluster once its update is over.

        Nova finds no host for a server that CAPO asks for before the computes
        are back, and CAPO gives up on it: it needs a new machine.
        """
        for server in self.mine.compute.servers(status="ERROR"):
            if server.name.startswith(release):
                self.replace(server.name)
        found = self.magnum.find(cluster) or {}
        return found if found["status"] != "UPDATE_IN_PROGRESS" else None

    def _servers(self, release: str) -> int:
        return sum(
            each.name.startswith(release)
            for each in self.mine.compute.servers()
        )
