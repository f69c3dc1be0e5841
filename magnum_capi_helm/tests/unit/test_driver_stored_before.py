# SPDX-License-Identifier: Apache-2.0

"""What commit 88455e2 stored is read, and goes on as it was meant to."""

from __future__ import annotations

import json
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.lifecycle import stored

#: Files in which nothing waits to be done.
QUIET = [
    "adopted",
    "complete",
    "delivered",
    "record_rewritten",
    "rotated",
    "upgraded",
]


class QuietTest(stored.StoredTestCase):
    def check_a_poll_changes_nothing(self, name: str) -> None:
        self.load(name)
        rows = self.rows()
        self.poll()
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(rows, self.rows())
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, set(management.READS))

    def rows(self) -> list[Any]:
        groups = self.groups().values()
        return [
            (each.name, each.status, each.status_reason, each.stack_id)
            for each in (self.row(), *groups)
        ]

    def check_a_resize_keeps_the_rest(self, name: str) -> None:
        self.load(name)
        expected = self.values()
        for group in expected["nodeGroups"]:
            if group["name"] == "default-worker":
                group["machineCount"] = 5
        before = self.head()
        self.resize(5)
        self.assertEqual(
            stored.unmarked(expected),
            stored.unmarked(self.helm.upgrades[-1].values),
        )
        self.assertEqual(before["chart"], self.now("intent.json")["chart"])
        self.assert_updated()

    def now(self, key: str) -> Any:
        secret = self.live(kinds.SECRET, f"{self.release}-intent")
        return json.loads(stored.decoded(secret["data"][key]))

    def check_a_deletion_leaves_nothing(self, name: str) -> None:
        self.load(name)
        self.vanish()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual({}, self.openstack.server_groups.groups)
        self.assertEqual([], self.server.names(kinds.LEASE))
        self.assertEqual([], self.server.names(kinds.SECRET))


def _add(check: str, name: str) -> None:

    def test(self: QuietTest) -> None:
        getattr(self, f"check_{check}")(name)

    setattr(QuietTest, f"test_{check}_{name}", test)


for _name in QUIET:
    for _check in (
        "a_poll_changes_nothing",
        "a_resize_keeps_the_rest",
        "a_deletion_leaves_nothing",
    ):
        _add(_check, _name)


class UnfinishedTest(stored.StoredTestCase):
    def names(self) -> list[str]:
        return [each["name"] for each in self.node_groups()]

    def machines(self) -> set[tuple[str, str]]:
        values = self.helm.upgrades[-1].values
        return {
            (each["kubernetesVersion"], each["machineImageId"])
            for each in (values["controlPlane"], *values["nodeGroups"])
        }

    def test_the_lease_of_another_conductor_is_respected(self) -> None:
        self.load("working")
        self.poll()
        self.resize(4)
        self.assertEqual([], self.helm.upgrades)
        # It died: its Lease is not renewed any more.
        self.poll_after(31)
        self.assertEqual(4, self.replicas())
        self.assert_updated()

    def test_requests_that_wait_are_done(self) -> None:
        self.load("requests")
        self.poll()
        self.assertEqual(["default-worker", "old", "new"], self.names())
        counts = {
            each["name"]: each["machineCount"] for each in self.node_groups()
        }
        self.assertEqual({"default-worker": 4, "old": 1, "new": 2}, counts)
        self.assert_updated()
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_an_interrupted_upgrade_is_finished(self) -> None:
        self.load("upgrade_interrupted")
        self.poll()
        self.assertEqual({("1.35.1", "i-2")}, self.machines())
        moves = self.data()["moves.json"]["json"]
        self.assertEqual(moves["template"], self.row().cluster_template_id)
        self.assert_updated()
        self.assertEqual("v1.35.1", self.row().coe_version)

    def test_a_failed_upgrade_can_be_taken_back(self) -> None:
        self.load("upgrade_failed")
        before = self.data()["before.json"]["json"]["moves"]
        self.template(uuid=before["template"])
        self.roll_back()
        self.assertEqual(
            self.values("before-values.json.gz"),
            stored.unmarked(self.helm.upgrades[-1].values),
        )
        self.assert_updated()
        self.assertEqual(before["template"], self.row().cluster_template_id)

    def test_a_deletion_goes_on(self) -> None:
        self.load("deleting")
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_a_frozen_management_cluster_stays_frozen(self) -> None:
        self.load("frozen")
        self.assertIn("another disk", self.error_of(self.resize, 5))
        self.assertEqual([], self.helm.upgrades)

    def test_a_nodegroup_whose_deletion_waits_goes(self) -> None:
        self.load("deleted_group")
        self.poll()
        self.assertEqual(["default-worker"], self.names())
        self.capi.remove_group("old")
        self.settle()
        self.assertNotIn("old", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class SeveralTest(placing.LocationTestCase, stored.StoredTestCase):
    def test_the_record_says_which_one_it_is_on(self) -> None:
        self.load("several", self.planes["b"])
        self.planes["a"].management.requests.clear()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.resize(5)
        self.assertEqual(1, len(self.planes["b"].helm.upgrades))
        # The other one is asked for its identity at most.
        asked = {each.kind for each in self.planes["a"].management.requests}
        self.assertLessEqual(asked, {"Namespace"})

    def test_a_cluster_accepted_as_gone_is_deleted(self) -> None:
        self.load("gone", self.planes["b"])
        self.poll()
        self.assertTrue(self.gone())
        self.assertFalse(self.there("b"))
