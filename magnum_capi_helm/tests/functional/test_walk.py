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

"""Two hundred requests at random, and then everything agrees.

The seed is printed with a failure. ``WALK_SEED`` repeats a walk: the same
requests, though clusters may be quicker or slower; ``WALK_STEPS`` makes it
shorter or longer.
"""

from __future__ import annotations

import os
import secrets
import time
from typing import Any

from keystoneauth1 import adapter

from magnum_capi_helm import names
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import walk

SEED = int(os.environ.get("WALK_SEED") or secrets.randbelow(10**6))
STEPS = int(os.environ.get("WALK_STEPS") or 200)
#: Seconds from one request to the next: clusters shall be met complete, too.
PACE = 1.0
#: Seconds that everything may take to settle, and to be gone.
SETTLED = 300
#: Seconds in which a poll that began before the row went may still hold the
#: Lease, which it makes and removes.
STRAGGLERS = 60


class WalkTest(base.LabCase):
    """Five clusters, and no mercy."""

    def setUp(self) -> None:
        super().setUp()
        self.path: list[str] = []
        self.wrong: list[str] = []
        self.addOnException(
            lambda _: print(f"WALK_SEED={SEED}", *self.path, sep="\n")
        )
        self.model = walk.Model(
            SEED,
            {
                walk.OLD: self.template(),
                walk.NEW: self.template(image_id="ubuntu-v1.35.1"),
                "": self.template(image_id="ubuntu-no-version"),
            },
        )
        self.addCleanup(self._sweep)

    def test_a_walk_ends_with_everything_in_agreement(self) -> None:
        for _ in range(STEPS):
            began = time.monotonic()
            self._step(self.model.draw())
            time.sleep(max(0.0, PACE - (time.monotonic() - began)))
        for cluster in self.model.living:
            self._settle(cluster)
        for cluster in self.model.clusters:
            if cluster.deleted:
                self._assert_gone(cluster)
        for cluster in self.model.living:
            self._assert_agreement(cluster)
        living = self.model.living
        for cluster in living:
            self.magnum.call("DELETE", cluster.path)
        for cluster in living:
            self._assert_gone(cluster)
        self.assertEqual([], self.wrong, f"WALK_SEED={SEED}")

    # Walking

    def _step(self, request: walk.Request) -> None:
        headers = {}
        if request.version:
            headers["OpenStack-API-Version"] = request.version
        answer = self.magnum.send(
            request.method, request.path, request.body, headers
        )
        line = (
            f"{len(self.path)} {request.what} {request.path} {request.body}: "
            f"{answer.status_code}"
        )
        self.path.append(line)
        if answer.status_code // 100 not in request.right:
            self.wrong.append(f"{line} {answer.text[:300]}")
        body = answer.json() if answer.content else {}
        self.model.learn(request, answer.status_code, body)
        if request.cluster is None and answer.status_code < 300:
            # Before it has rows, Magnum can't answer for it.
            self.until(lambda: self._shown(body["uuid"]), 60)

    def _check(self, right: Any, what: str) -> None:
        if not right:
            self.wrong.append(what)

    def _settle(self, cluster: walk.Cluster) -> None:
        """Wait until nothing is in progress."""
        busy = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")

        def settled() -> bool:
            found = self.magnum.find(cluster.uuid) or {}
            groups = self.magnum.nodegroups(cluster.uuid).values()
            states = [found, *groups]
            return not any(
                each.get("status") in (*busy, "DELETE_IN_PROGRESS")
                for each in states
            )

        self.until(settled, SETTLED, f"settled: {cluster.uuid}")

    # Looking

    def _assert_gone(self, cluster: walk.Cluster) -> None:
        self.until(
            lambda: self.magnum.find(cluster.uuid) is None,
            SETTLED,
            f"gone: {cluster.uuid}",
        )
        left = self._left(cluster)
        until = time.monotonic() + STRAGGLERS
        while left and time.monotonic() < until:
            time.sleep(base.POLL)
            left = self._left(cluster)
        self._check(not left, f"{cluster.uuid} left {left}")

    def _left(self, cluster: walk.Cluster) -> list[str]:
        """What there is of a cluster whose row is gone."""
        # What every name of the release has of the UUID.
        mark = names.release("", cluster.uuid).rpartition("-")[2]
        return [
            *self.left_of(mark),
            *(each["name"] for each in self.credentials_of(cluster.uuid)),
            *self._server_groups(mark),
        ]

    def _assert_agreement(self, cluster: walk.Cluster) -> None:
        row = self.magnum.find(cluster.uuid)
        if row is None:
            self.wrong.append(f"{cluster.uuid} is lost")
            return
        what = f"{cluster.uuid} {row['status']} {row['status_reason']}"
        if row["status"].endswith("FAILED"):
            self._check(row["status_reason"], f"{what}: no reason")
            return
        self._check(not row["status_reason"], what)
        release = row["stack_id"]
        self._assert_released(release, what)
        groups = self.magnum.nodegroups(cluster.uuid)
        self._assert_asked(cluster, groups, what)
        self._assert_masters(row, release, groups, what)
        self._assert_workers(release, groups, what)

    def _assert_released(self, release: str, what: str) -> None:
        """The newest revision is deployed, and is the only one."""
        records = self.plane.list(
            kinds.SECRET, self.namespace, f"owner=helm,name={release}"
        )
        states = [
            (int(labels["version"]), labels["status"])
            for labels in map(view.labels_of, records)
        ]
        deployed = [v for v, state in states if state == "deployed"]
        self._check(
            deployed == [max(states)[0]], f"{what}: revisions {states}"
        )

    def _assert_asked(
        self, cluster: walk.Cluster, groups: dict[str, Any], what: str
    ) -> None:
        """Nothing is there, or missing, that nobody asked for."""
        asked = {"default-master": cluster.masters, **cluster.counts}
        for name, group in groups.items():
            count = group["node_count"]
            self._check(
                count in asked.get(name, ()),
                f"{what}: {name} has {count}, asked {asked.get(name)}",
            )
            failed = group["status"].endswith("FAILED")
            self._check(
                not failed or group["status_reason"],
                f"{what}: {name} failed without a reason",
            )
        self._check(
            {"default-master", "default-worker"} <= set(groups),
            f"{what}: groups {sorted(groups)}",
        )

    def _assert_masters(
        self,
        row: dict[str, Any],
        release: str,
        groups: dict[str, Any],
        what: str,
    ) -> None:
        live = self._live(kinds.CONTROL_PLANE, release)
        self._check(len(live) == 1, f"{what}: {len(live)} control planes")
        for each in live:
            spec = view.spec_of(each)
            wanted = groups["default-master"]["node_count"], row["coe_version"]
            found = spec["replicas"], spec["version"]
            self._check(wanted == found, f"{what}: {wanted} is {found}")

    def _assert_workers(
        self, release: str, groups: dict[str, Any], what: str
    ) -> None:
        # A group that was refused is not in the release.
        wanted = {
            names.node_group(name, release): group["node_count"]
            for name, group in groups.items()
            if group["role"] != "master" and group["status"] != "CREATE_FAILED"
        }
        found = {
            view.name_of(each).removeprefix(f"{release}-"): (
                view.spec_of(each)["replicas"]
            )
            for each in self._live(kinds.MACHINE_DEPLOYMENT, release)
        }
        self._check(wanted == found, f"{what}: {wanted} is {found}")
        machines = len(self._live(kinds.MACHINE, release))
        total = sum(found.values()) + groups["default-master"]["node_count"]
        self._check(machines == total, f"{what}: {machines} machines, {total}")

    def _live(self, kind: kinds.Kind, release: str) -> list[client.Object]:
        selector = f"cluster.x-k8s.io/cluster-name={release}"
        return self.plane.list(kind, self.namespace, selector)

    def _server_groups(self, mark: str) -> list[str]:
        nova = adapter.Adapter(
            self.magnum.session,
            service_type="compute",
            default_microversion="2.64",
        )
        listed = nova.get("/os-server-groups").json()["server_groups"]
        return [each["name"] for each in listed if mark in each["name"]]

    def _sweep(self) -> None:
        """Delete what is still there, whatever happened."""
        there = [
            each
            for each in self.model.clusters
            if self.magnum.find(each.uuid) is not None
        ]
        for each in there:
            self.magnum.send("DELETE", each.path, None, {})
        self.until(
            lambda: not any(self.magnum.find(each.uuid) for each in there),
            SETTLED,
        )
