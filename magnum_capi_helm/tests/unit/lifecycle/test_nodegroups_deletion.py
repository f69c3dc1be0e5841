# SPDX-License-Identifier: Apache-2.0

"""Nodegroups are deleted, and nothing brings them back."""

from __future__ import annotations

from typing import Any
from unittest import mock

from magnum.common import exception
from magnum.conductor.handlers import nodegroup_conductor

from magnum_capi_helm.config import conf
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base


class DeleteTest(base.NodegroupTestCase):
    """``coe nodegroup delete``."""

    def setUp(self) -> None:
        super().setUp()
        self.add("gpu")
        self.settle()

    def test_the_row_goes_when_the_machines_have_gone(self) -> None:
        self.remove("gpu")
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assertEqual(["default-worker"], self.names())
        self.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(
            "nodegroup gpu: 1 machine still to be deleted",
            self.row().status_reason,
        )
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_another_group_that_is_not_ready_does_not_keep_it(self) -> None:
        self.add("slow")
        self.remove("gpu")
        self.capi.remove_group("gpu")
        self.poll()
        self.assertEqual(
            {"default-master", "default-worker", "slow"}, set(self.groups())
        )
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_a_poll_deletes_a_group_that_helm_left(self) -> None:
        self.helm.outcomes = [helm.Outcome.LEFT]
        self.remove("gpu")
        runs = len(self.helm.upgrades)
        name = f"{base.RELEASE}-gpu"
        self.assertIn(name, self.server.names(kinds.MACHINE_DEPLOYMENT))
        self.settle()
        self.assertNotIn(name, self.server.names(kinds.MACHINE_DEPLOYMENT))
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_deleted_group_stays_away_after_a_resize_of_another(
        self,
    ) -> None:
        self.remove("gpu")
        self.resize(3)
        self.assertEqual(["default-worker"], self.names())

    def test_a_deleted_group_stays_away_after_its_own_resize(self) -> None:
        stale = self.groups()["gpu"]
        self.remove("gpu")
        self.handler.cluster_resize(self.context, self.row(), 3, [], stale)
        self.assertEqual(["default-worker"], self.names())
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["gpu"].status)
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_deleted_group_stays_away_after_its_update(self) -> None:
        stale = self.groups()["gpu"]
        self.remove("gpu")
        stale.node_labels = {"a": "b"}
        self.update_stale(stale)
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assertEqual(["default-worker"], self.names())

    def update_stale(self, group: Any) -> None:
        """An update that Magnum's API took before the deletion."""
        nodegroup_conductor.Handler().nodegroup_update(
            self.context, self.row(), group
        )

    def test_a_deletion_in_the_middle_of_a_poll_is_not_forgotten(self) -> None:
        # Polls look at clusters in progress alone.
        self.nodegroup(self.row(), name="refused", status="CREATE_FAILED")
        for name in ("gpu", "refused"):
            row = self.row()
            row.status = "UPDATE_IN_PROGRESS"
            row.save()
            self.poll_while_deleting(name)
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status, name)
            self.capi.remove_group(name)
            self.poll()
            self.settle()
            self.assertNotIn(name, self.groups())
            self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def poll_while_deleting(self, name: str) -> None:
        """A poll that is about to call the cluster complete."""
        real = status_writer.save_complete

        def save_complete(*args: Any) -> None:
            with self.busy():
                self.remove(name)
            real(*args)

        with mock.patch.object(status_writer, "save_complete", save_complete):
            self.poll()

    def test_a_busy_lease_does_not_fail_it(self) -> None:
        with self.busy():
            self.remove("gpu")
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["gpu"].status)
        self.poll()
        self.assertEqual(["default-worker"], self.names())
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_an_unreachable_management_cluster_does_not_fail_it(self) -> None:
        self.management.unreachable()
        self.remove("gpu")
        self.management.recover()
        self.poll()
        self.assertEqual(["default-worker"], self.names())

    def test_a_group_whose_creation_is_still_pending(self) -> None:
        with self.busy():
            self.add("big")
            self.remove("big")
        self.poll()
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.assertNotIn("big", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_twice_is_once(self) -> None:
        self.remove("gpu")
        self.remove("gpu")
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())

    def test_an_overdue_deletion_does_not_bring_the_group_back(self) -> None:
        self.remove("gpu")
        self.capi.settle()
        conf.CONF.set_override("operation_timeout", 1, "capi_helm")
        secrets = self.server.list(
            kinds.SECRET, base.NAMESPACE, f"owner=helm,name={base.RELEASE}"
        )
        for each in secrets:
            self.server.patch(
                kinds.SECRET,
                base.NAMESPACE,
                each["metadata"]["name"],
                {"metadata": {"labels": {"modifiedAt": "1"}}},
            )
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        group = self.groups()["gpu"]
        self.assertEqual("DELETE_IN_PROGRESS", group.status)
        self.assertIn("still to be deleted", group.status_reason)
        self.capi.remove_group("gpu")
        self.capi.settle()
        self.health_poll()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_the_default_groups_are_not_deleted(self) -> None:
        self.assertRaises(
            exception.NotSupported, self.remove, "default-worker"
        )
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIn("default-worker", self.groups())


class DoomedTest(base.NodegroupTestCase):
    """The cluster is being deleted: Magnum's handlers write over that."""

    def test_a_group_that_is_added_does_not_bring_it_back(self) -> None:
        self.delete()
        self.add("gpu")
        self.assert_doomed()

    def test_a_deletion_that_reached_nobody_is_not_forgotten(self) -> None:
        self.management.unreachable()
        self.delete()
        self.add("gpu")
        self.management.recover()
        self.assert_doomed()

    def test_a_group_that_is_deleted_does_not_bring_it_back(self) -> None:
        self.add("gpu")
        self.settle()
        self.delete()
        self.remove("gpu")
        self.assert_doomed()

    def test_a_group_that_is_changed_does_not_bring_it_back(self) -> None:
        self.add("gpu")
        self.settle()
        stale = self.groups()["gpu"]
        self.delete()
        stale.max_node_count = 5
        nodegroup_conductor.Handler().nodegroup_update(
            self.context, self.row(), stale
        )
        self.assert_doomed()

    def test_the_cluster_is_deleted_while_a_group_is_pending(self) -> None:
        with self.busy():
            self.add("gpu")
            self.delete()
        self.assert_doomed()

    def test_a_cluster_of_which_nothing_was_made_stays_deleted(self) -> None:
        row = self.row()
        row.stack_id = None
        row.save()
        self.delete()
        self.add("gpu")
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())

    def assert_doomed(self) -> None:
        runs = len(self.helm.upgrades)
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))
