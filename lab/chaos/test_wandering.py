# SPDX-License-Identifier: Apache-2.0

"""Requests at random, and faults at random, for half an hour.

``WALK_SEED`` repeats the requests, not the moments. ``CHAOS_MINUTES`` makes
it shorter or longer.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
import random
import secrets
import time
from typing import Any

from lab.chaos import case
from lab.chaos import weather
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import walk
from magnum_capi_helm.tests.functional import walk_requests

SEED = int(os.environ.get("WALK_SEED") or secrets.randbelow(10**6))
MINUTES = float(os.environ.get("CHAOS_MINUTES") or 30)
CLUSTERS = 10
#: Seconds between two requests, and between two faults.
PACE, PAUSE = 5.0, 12.0
#: Seconds that everything may take to settle, and to be gone.
SETTLED = 600
_GOING_ON = "_IN_PROGRESS"


class WanderingTest(case.HighlyAvailableCase):
    """Ten clusters, three conductors."""

    def setUp(self) -> None:
        super().setUp()
        self.lost: list[str] = []
        self.told: list[str] = []
        self.prefix = self.unique("wander")
        self.model = walk.Model(
            SEED,
            {
                walk_requests.OLD: self.template(),
                walk_requests.NEW: self.template(image_id="ubuntu-v1.35.1"),
                "": self.template(image_id="ubuntu-no-version"),
            },
            self.prefix,
            CLUSTERS,
        )
        self.addCleanup(self._sweep)

    def test_what_holds_without_faults_holds_after_them(self) -> None:
        print(f"WALK_SEED={SEED}", flush=True)
        certificates = self.certificates()
        dice = random.Random(SEED)  # noqa: S311 (no secret)
        began = time.monotonic()
        with weather.Weather(
            dice, PAUSE, self.conductors, self.between, self.identity
        ) as outside:
            while time.monotonic() < began + 60 * MINUTES:
                self._step()
                time.sleep(PACE)
                self.assertIsNone(outside.problem)
        self.settle()
        self._tell(outside.seen)
        for cluster in self.model.clusters:
            self._settled(cluster)
        for cluster in list(self.model.living):
            self._compare(cluster)
            self._request("DELETE", cluster.path)
            cluster.deleted = True
        for cluster in self.model.clusters:
            self._assert_gone(cluster)
        self._say("lost by Magnum:", *(self.lost or ["nothing"]))
        self.assertEqual([], self.agreement.wrong, f"WALK_SEED={SEED}")
        self.assertEqual(certificates, self.certificates())
        self.assert_nothing_left()
        case.WANDERED.write_text("".join(self.told))

    # Walking

    def _step(self) -> None:
        request = self.model.draw(self._idle())
        answer = self.magnum.send(
            request.method,
            request.path,
            request.body,
            {
                "OpenStack-API-Version": request.version
                or magnum_api.MICROVERSION
            },
        )
        code = answer.status_code
        # With the database away Magnum can't know what is right.
        if code // 100 not in request.right | {5}:
            self.agreement.wrong.append(f"{request}: {code} {answer.text}")
        found = answer.json() if code < 300 and answer.content else {}
        if code >= 500:
            # It may have been done, or not.
            code, found = 202, self._found_by_name(request.body)
            if request.cluster is None and not found:
                return
        self.model.learn(request, code, found)

    def _found_by_name(self, body: Any) -> dict[str, Any]:
        name = body.get("name") if isinstance(body, dict) else None
        return next((e for e in self._listed() if e["name"] == name), {})

    def _listed(self) -> list[dict[str, Any]]:
        answer = self._request("GET", "/clusters")
        if answer.status_code >= 300:
            return []
        return list(answer.json()["clusters"])

    def _request(self, method: str, path: str) -> Any:
        return self.magnum.send(method, path, None, {})

    def _idle(self) -> frozenset[str]:
        return frozenset(
            each["uuid"]
            for each in self._listed()
            if not each["status"].endswith(_GOING_ON)
        )

    # Looking

    def _settled(self, cluster: walk_requests.Cluster) -> None:
        """Wait until nothing goes on, or Magnum has lost it."""

        def settled() -> bool:
            answer = self._request("GET", cluster.path)
            if answer.status_code == 404:
                return True
            found = answer.json() if answer.status_code < 300 else {}
            status = found.get("status", _GOING_ON)
            if cluster.deleted and not status.startswith("DELETE"):
                # Acknowledged by a conductor that died with it.
                self.lost.append(f"delete {cluster.uuid} {status}")
                self._request("DELETE", cluster.path)
                return False
            if status == "CREATE_IN_PROGRESS" and not found["stack_id"]:
                return self._given_up(cluster)
            groups = self.magnum.nodegroups(cluster.uuid).values()
            states = [status, *(each["status"] for each in groups)]
            return not any(each.endswith(_GOING_ON) for each in states)

        self.until(settled, SETTLED, f"settled: {cluster.uuid}")

    def _given_up(self, cluster: walk_requests.Cluster) -> bool:
        """A create that never came to the driver's first write."""
        release = cluster.uuid.replace("-", "")[-12:]
        if self.left_of(release):
            return False
        self.lost.append(f"create {cluster.uuid}")
        self._request("DELETE", cluster.path)
        cluster.deleted = True
        return True

    def _compare(self, cluster: walk_requests.Cluster) -> None:
        row = self.magnum.find(cluster.uuid)
        if row is None:
            self.agreement.wrong.append(f"{cluster.uuid} is lost")
            return
        groups = self.magnum.nodegroups(cluster.uuid)
        self.agreement.compare(cluster, row, groups)

    def _assert_gone(self, cluster: walk_requests.Cluster) -> None:
        self.until(
            lambda: self.gone(cluster.uuid), SETTLED, f"gone: {cluster.uuid}"
        )
        left = self.left_of_cluster(cluster.uuid)
        self.agreement.check(not left, f"{cluster.uuid} left {left}")

    def _tell(self, seen: Mapping[str, int]) -> None:
        """What was asked for, and what happened meanwhile."""
        clusters = len(self.model.clusters)
        self._say(
            f"{MINUTES:.0f} minutes, {clusters} clusters, three conductors:",
            *self.model.summary(),
        )
        self._say(
            "faults:",
            *(f"{name}: {count}" for name, count in sorted(seen.items())),
        )

    def _say(self, *lines: str) -> None:
        text = "\n  ".join(lines)
        print(text, flush=True)
        self.told.append(f"{text}\n")

    def _sweep(self) -> None:
        """Delete what is still there, whatever happened."""
        self.settle()
        there = [e for e in self.model.clusters if not self.gone(e.uuid)]
        for each in there:
            self._request("DELETE", each.path)
        self.until(lambda: all(self.gone(e.uuid) for e in there), SETTLED)
