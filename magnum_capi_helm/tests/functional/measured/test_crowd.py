# SPDX-License-Identifier: Apache-2.0

"""Many clusters at once on one conductor."""

from __future__ import annotations

import collections
from concurrent import futures
import datetime
import functools
import os
import re
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import magnum_api

#: As many as are made at once: ``LAB_CROWD``.
CROWD = int(os.environ.get("LAB_CROWD") or 6)
#: Seconds that a list of all clusters may take at the worst, where nothing
#: else is going on.
SLOWEST = 2.0
TURNS = 2

RAN = re.compile(
    r"^(\S+ \S+) \d+ INFO .* release (\S+) in \S+: helm ([\d.]+) s$", re.M
)


class _Watcher(beside.Beside):
    """Somebody who lists all clusters, again and again."""

    def __init__(self, magnum: magnum_api.Magnum) -> None:
        super().__init__(0.2)
        self._magnum = magnum
        self._began = time.monotonic()
        #: How long each list took, and how long after the first it began.
        self.seconds: list[tuple[float, float]] = []
        self.statuses: dict[str, str] = {}
        self.problem: Exception | None = None

    def look(self) -> bool:
        """One list; the first problem is the last."""
        began = time.monotonic()
        try:
            found = self._magnum.call("GET", "/clusters")["clusters"]
            self.statuses = {each["uuid"]: each["status"] for each in found}
        except ka_exceptions.BadRequest:
            # Magnum lists none while one has no rows of nodegroups yet.
            pass
        except Exception as error:
            self.problem = error
            return False
        took = time.monotonic() - began
        self.seconds.append((took, began - self._began))
        return True


class CrowdTest(base.LabCase):
    """``LAB_CROWD`` creates at once."""

    def test_all_complete_and_the_api_answers_meanwhile(self) -> None:
        watcher = self._live()
        runs = RAN.findall(base.magnum_log()[self.logged :])
        helm = sorted(float(seconds) for *_, seconds in runs)
        print(f"  helm: median {helm[len(helm) // 2]}, longest {helm[-1]} s")
        slowest, _ = max(watcher.seconds)
        self.assertLess(slowest, SLOWEST * base.SLOWER)
        releases = collections.Counter(release for _, release, _ in runs)
        self.assertEqual(
            {1: CROWD}, collections.Counter(releases.values()), str(releases)
        )
        self.assertLessEqual(_at_once(runs), TURNS)

    def _live(self) -> _Watcher:
        """All of them are made and complete, and somebody watches."""
        self.configure_sections(
            {
                "quotas": {"max_clusters_per_project": str(100 + CROWD)},
                "capi_helm": {"max_helm_processes": str(TURNS)},
            }
        )
        template = self.template()
        # The lab's API and conductor are one process: what it loads for its
        # first cluster would be the API's time, too.
        self.until_status(self.cluster(template), ("CREATE_COMPLETE",))
        self.logged = len(base.magnum_log())
        began = time.monotonic()
        with _Watcher(self.magnum) as watcher:
            made = self._create(template)
            ended = time.monotonic() + (180 + 20 * CROWD) * base.SLOWER
            while time.monotonic() < ended and not watcher.problem:
                seen = collections.Counter(
                    watcher.statuses.get(each) for each in made
                )
                if set(seen) == {"CREATE_COMPLETE"}:
                    break
                time.sleep(base.POLL)
        _tell(time.monotonic() - began, watcher)
        self.assertIsNone(watcher.problem)
        self.assertEqual({"CREATE_COMPLETE": CROWD}, dict(seen))
        return watcher

    def _create(self, template: str) -> set[str]:
        """All of them, asked for side by side."""
        bodies = [
            {
                "name": self.unique("crowd"),
                "cluster_template_id": template,
                "node_count": 1,
            }
            for _ in range(CROWD)
        ]
        made: list[str] = []
        self.addCleanup(self._delete_all, made)

        def post(body: dict[str, Any]) -> None:
            found = self.magnum.call("POST", "/clusters", body)
            made.append(str(found["uuid"]))

        with futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(post, bodies))
        return set(made)

    def _delete_all(self, made: list[str]) -> None:
        """All are asked to go before any is waited for."""
        for each in made:
            self.magnum.call("DELETE", f"/clusters/{each}")
        for each in made:
            self.until(functools.partial(self.gone, each), 600)


def _tell(took: float, watcher: _Watcher) -> None:
    lists = sorted(watcher.seconds)
    slowest = ", ".join(
        f"{seconds:.1f} s at {at:.0f} s" for seconds, at in lists[:-6:-1]
    )
    print(
        f"{CROWD} clusters: done after {took:.0f} s; {len(lists)} lists, "
        f"median {lists[len(lists) // 2][0]:.3f} s, slowest {slowest}"
    )


def _at_once(runs: list[tuple[str, str, str]]) -> int:
    """How many helms ran at the same moment, at most."""
    events: list[tuple[float, int]] = []
    for ended, _, seconds in runs:
        end = datetime.datetime.fromisoformat(ended).timestamp()
        # What is logged is a little later than what it tells of.
        events += [(end - float(seconds), 1), (end - 0.1, -1)]
    running = most = 0
    for _, step in sorted(events):
        running += step
        most = max(most, running)
    return most
