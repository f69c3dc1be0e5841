# SPDX-License-Identifier: Apache-2.0

"""Helm's record is made readable while something comes in between."""

from __future__ import annotations

from collections.abc import Callable
import json

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import stranded


class DisturbedTest(stranded.StrandedTestCase):
    """Something comes in between."""

    def before_write(self, verb: str, act: Callable[[], None]) -> None:
        """Act once, just before such a request for a record."""

        def before() -> None:
            asked = self.management.requests
            if (
                asked
                and asked[-1].name == stranded.COPY
                and asked[-1].verb == verb
            ):
                self.management.before = lambda: None
                act()

        self.management.before = before

    def test_a_record_that_somebody_writes_meanwhile_is_read_again(
        self,
    ) -> None:
        def write() -> None:
            body = self.body()
            body["info"]["description"] = "by somebody else"
            self.put(body)

        self.before_write("create", write)
        self.resize(3)
        self.assertEqual(2, self.replicas())
        self.assertIn(stranded.OLD, self.named())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(60)
        self.poll()
        self.assertEqual(3, self.replicas())
        self.assertIn("by somebody else", self.body()["info"]["description"])

    def test_without_its_lease_a_conductor_changes_no_record(self) -> None:
        for verb in ("get", "create"):
            self.helm.upgrades.clear()
            self.before_write(verb, self.take_over)
            self.resize(3)
            self.assertEqual(1, len(self.helm.upgrades), verb)
            self.assertIn(stranded.OLD, self.named(), verb)
            self.give_back()
        self.poll()
        self.assertEqual(3, self.replicas())

    def take_over(self) -> None:
        """Another conductor has the Lease, this one stood still."""
        self.plane.clock.advance(lease.DURATION + 1)
        self._hold("other")

    def give_back(self) -> None:
        self._hold("")

    def _hold(self, holder: str) -> None:
        spec = {"holderIdentity": holder, "renewTime": holder or "now"}
        self.server.patch(
            kinds.LEASE, base.NAMESPACE, base.RELEASE, {"spec": spec}
        )

    def test_a_conductor_killed_before_the_copy_loses_nothing(self) -> None:
        self.killed_before("create", stranded.COPY)

    def test_a_conductor_killed_before_the_record_loses_nothing(self) -> None:
        self.killed_before("replace", self.record()["metadata"]["name"])

    def killed_before(self, verb: str, name: str) -> None:
        """Another conductor goes on with what is there."""
        self.management.kill_before(verb, kinds.SECRET, name)
        self.assertRaises(management.Killed, self.resize, 3)
        self.management.recover()
        self.assertIn(stranded.OLD, self.named())
        for _ in range(2):
            self.poll()
            self.plane.clock.advance(lease.DURATION + 1)
        self.assertEqual(3, self.replicas())
        self.assertEqual(self.before, (self.copy() or {})["data"])

    def test_a_helm_that_can_read_its_record_costs_no_look_at_it(self) -> None:
        body = self.body()
        body["manifest"] = body["manifest"].replace(stranded.OLD, stranded.NEW)
        self.put(body)
        self.management.requests.clear()
        self.resize(3)
        record = self.record(1)["metadata"]["name"]
        asked = [(each.verb, each.name) for each in self.management.requests]
        # To compare machine templates, before the first write.
        self.assertEqual(1, asked.count(("get", record)))
        self.assertNotIn("discover", {verb for verb, _ in asked})

    def test_json_of_a_manifest_stays_json(self) -> None:
        self.resize(3)
        for each in self.body()["manifest"].split("\n---\n"):
            json.loads(each)
