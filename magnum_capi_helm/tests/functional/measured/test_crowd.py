# SPDX-License-Identifier: Apache-2.0

"""Many clusters at once on one conductor."""

from __future__ import annotations

import collections
from concurrent import futures
import datetime
import functools
import os
import pathlib
import re
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.measured import nothing
from magnum_capi_helm.tests.functional.measured import nothing_driver

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


class CrowdCase(base.LabCase):
    """``LAB_CROWD`` creates at once."""

    def live(self, sections: dict[str, dict[str, str]]) -> _Watcher:
        """All of them are made and complete, and somebody watches."""
        quota = {"max_clusters_per_project": str(100 + CROWD)}
        self.configure_sections({"quotas": quota, **sections})
        self.use_driver()
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
        _tell(type(self).__name__, time.monotonic() - began, watcher)
        self.assertIsNone(watcher.problem)
        self.assertEqual({"CREATE_COMPLETE": CROWD}, dict(seen))
        return watcher

    def use_driver(self) -> None:
        """Magnum runs this one already."""

    def _create(self, template: str) -> set[str]:
        """All of them, asked for side by side."""
        bodies = [
            {
                "name": self.unique(nothing_driver.CROWD),
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


class CrowdTest(CrowdCase):
    """With this driver."""

    def test_all_complete_and_the_api_answers_meanwhile(self) -> None:
        watcher = self.live({"capi_helm": {"max_helm_processes": str(TURNS)}})
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


class NothingCrowdTest(CrowdCase):
    """Magnum's own part: the same burst for a driver that does nothing."""

    def test_how_long_lists_take(self) -> None:
        with nothing.installed() as options:
            self.live({"drivers": options})
            # What it made is gone before it is.
            self.doCleanups()


class PredecessorCrowdTest(CrowdCase):
    """The same burst for 1.4.0."""

    def use_driver(self) -> None:
        """Until the configuration is another one."""
        self.admit()
        programs.lab("restart", "magnum", "--driver", "1.4.0")

    def test_how_long_lists_take(self) -> None:
        self.live({})


def _tell(who: str, took: float, watcher: _Watcher) -> None:
    lists = sorted(watcher.seconds)
    memory = re.search(r"VmHWM:\s+(\d+)", _status_of_magnum())
    slowest = ", ".join(
        f"{seconds:.1f} s at {at:.0f} s" for seconds, at in lists[:-6:-1]
    )
    print(
        f"{who}: {CROWD} clusters: done after {took:.0f} s; "
        f"{len(lists)} lists, median {lists[len(lists) // 2][0]:.3f} s, "
        f"slowest {slowest}; "
        f"Magnum {int(memory[1]) // 1024 if memory else 0} MiB"
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


def _status_of_magnum() -> str:
    """What the kernel knows of the conductor's process."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            ours = any(str(programs.LAB).encode() in word for word in words)
            if ours and any(word.endswith(b"magnum_all.py") for word in words):
                return (process / "status").read_text()
        except OSError:
            continue
    return ""
