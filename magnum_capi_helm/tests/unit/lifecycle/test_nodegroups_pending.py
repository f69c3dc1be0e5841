# SPDX-License-Identifier: Apache-2.0

"""Nodegroups that polls finish, and groups that stay deleted."""

from __future__ import annotations

import datetime
from typing import Any
from unittest import mock

from magnum.conductor.handlers import nodegroup_conductor

from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base


class UnfinishedAddTest(base.NodegroupTestCase):
    def test_two_adds_at_once_both_succeed(self) -> None:
        """A busy Lease fails neither."""
        with self.busy():
            self.add("gpu")
            self.add("big")
        self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(["default-worker"], self.names())
        asked = self.openstack.mocker.call_count
        self.poll()
        self.assertEqual(["default-worker", "gpu", "big"], self.names())
        self.assertEqual(asked, self.openstack.mocker.call_count)
        self.assert_updated()
        self.assertEqual("CREATE_COMPLETE", self.groups()["gpu"].status)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_the_conductor_dies_once_the_group_is_parked(self) -> None:
        with mock.patch.object(
            status_writer, "save_accepted", side_effect=management.Killed
        ):
            self.assertRaises(management.Killed, self.add, "gpu")
        self.assertIsNone(self.groups()["gpu"].stack_id)
        self.poll()
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.settle()
        self.assertEqual("CREATE_COMPLETE", self.groups()["gpu"].status)

    def test_the_conductor_dies_before_the_group_is_parked(self) -> None:
        with self.dies("patch", kinds.SECRET):
            self.add("gpu")
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
        now = datetime.datetime.now(datetime.timezone.utc)
        self.dbapi.update_nodegroup(
            self.uuid,
            self.groups()["gpu"].uuid,
            {"created_at": now - datetime.timedelta(minutes=6)},
        )
        self.poll()
        group = self.groups()["gpu"]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertIn("delete it and create it again", group.status_reason)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(["default-worker"], self.names())

    def test_a_group_that_is_lost_does_not_stop_others(self) -> None:
        with self.busy():
            lost = self.add("lost")
            self.add("gpu")
        gone = {"data": {f"group-{lost.uuid}": None}}
        self.edit(kinds.SECRET, base.INTENT, gone)
        self.poll()
        self.settle()
        group = self.groups()["lost"]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertIn("delete it and create it again", group.status_reason)
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.remove("lost")
        self.assertNotIn("lost", self.groups())

    def test_a_resize_of_an_undecided_group_refuses_nothing(self) -> None:
        park = cluster_release.Release.patch_stored

        def slow(*given: Any) -> None:
            patched.stop()
            self.resize(3, "gpu")
            self.poll()
            self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
            park(*given)

        patched = mock.patch.object(
            cluster_release.Release, "patch_stored", slow
        )
        patched.start()
        self.add("gpu")
        self.assertIs(park, cluster_release.Release.patch_stored)
        self.assertEqual([], self.warnings())
        self.poll()
        self.settle()
        group = self.groups()["gpu"]
        self.assertEqual("CREATE_COMPLETE", group.status)
        self.assertEqual(3, group.node_count)
        self.assertEqual(3, self.replicas("gpu"))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_poll_between_two_steps_does_not_end_the_polls(self) -> None:
        # Magnum has saved the row, and the driver has not been called yet.
        self.save(status="UPDATE_IN_PROGRESS")
        self.nodegroup(self.row(), name="gpu", status="CREATE_IN_PROGRESS")
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)


class AdoptedTest(base.NodegroupTestCase):
    """A cluster that 1.4.0 made: a release, and no intent."""

    def setUp(self) -> None:
        super().setUp()
        groups = [
            *self.helm.upgrades[-1].values["nodeGroups"],
            {"name": "gpu-1", "machineFlavor": "m1", "machineCount": 1},
        ]
        values = {**self.helm.upgrades[-1].values, "nodeGroups": groups}
        del values["clusterAnnotations"]
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.INTENT)
        chart = "/store/openstack-cluster-0.16.0.tgz"
        self.helm.upgrade(base.RELEASE, base.NAMESPACE, chart, values)
        self.nodegroup(self.row(), name="GPU_1", status="CREATE_COMPLETE")
        self.capi.settle()

    def test_a_group_is_added_with_the_chart_of_the_release(self) -> None:
        with self.busy():
            made = self.add("big")
        # It is pending, in a Secret without an intent.
        self.assertEqual({f"group-{made.uuid}"}, self.intent_keys())
        self.poll()
        self.assertEqual("0.16.0", self.helm.upgrades[-1].chart_version)
        self.assertEqual(["default-worker", "gpu-1", "big"], self.names())
        self.assert_updated()
        # 1.4.0 kept no keypair.
        expected = base.INTENT_KEYS - {"keypair.json"}
        self.assertEqual(expected, self.intent_keys())

    def test_a_group_under_its_old_name_is_deleted(self) -> None:
        with self.busy():
            self.remove("GPU_1")
        self.poll()
        self.assertEqual(["default-worker"], self.names())
        self.settle()
        self.assertIn("GPU_1", self.groups())
        self.capi.remove_group("gpu-1")
        self.assert_updated()
        self.assertNotIn("GPU_1", self.groups())

    def test_a_new_group_does_not_get_machines_of_an_old_one(self) -> None:
        self.assertIn("choose another name", self.error_of(self.add, "gpu-1"))
        self.remove("gpu-1")
        self.assertNotIn("gpu-1", self.groups())
        self.assertEqual(1, self.replicas("gpu-1"))
        self.resize(3)
        self.assertEqual(["default-worker", "gpu-1"], self.names())

    def test_a_group_in_creation_at_the_swap_is_taken_on(self) -> None:
        self.save(self.groups()["GPU_1"], status="CREATE_IN_PROGRESS")
        self.save(status="UPDATE_IN_PROGRESS")
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.groups()["GPU_1"].status)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class StaleTestCase(base.NodegroupTestCase):
    """A complete cluster with a group ``gpu``."""

    def setUp(self) -> None:
        super().setUp()
        self.add("gpu")
        self.settle()

    def update_stale(self, group: Any, **fields: Any) -> None:
        """An update that Magnum's API took before the deletion."""
        for name, value in fields.items():
            setattr(group, name, value)
        nodegroup_conductor.Handler().nodegroup_update(
            self.context, self.row(), group
        )


class DeleteTest(StaleTestCase):
    def assert_ends(self) -> None:
        """Its machines have gone: so has its row."""
        self.capi.remove_group("gpu")
        self.assert_updated()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_the_row_goes_when_the_machines_have_gone(self) -> None:
        for _ in range(2):
            self.remove("gpu")
            status = self.groups()["gpu"].status
            self.assertEqual("DELETE_IN_PROGRESS", status)
            self.assertEqual(["default-worker"], self.names())
        self.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(
            "nodegroup gpu: 1 machine still to be deleted", self.why()
        )
        self.assert_ends()
        self.assertIsNone(self.why())

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
        self.assert_ends()

    def test_a_deleted_group_stays_away_after_other_requests(self) -> None:
        stale, changed = self.groups()["gpu"], self.groups()["gpu"]
        self.remove("gpu")
        for request in (
            lambda: self.resize(3),
            lambda: self.handler.cluster_resize(
                self.context, self.row(), 3, [], stale
            ),
            lambda: self.update_stale(changed, node_labels={"a": "b"}),
        ):
            request()
            self.assertEqual(["default-worker"], self.names())
            self.poll()
            status = self.groups()["gpu"].status
            self.assertEqual("DELETE_IN_PROGRESS", status)
        self.assert_ends()

    def test_a_deletion_in_the_middle_of_a_poll_is_not_forgotten(self) -> None:
        # Polls look at clusters in progress alone.
        self.nodegroup(self.row(), name="refused", status="CREATE_FAILED")
        for name in ("gpu", "refused"):
            self.save(status="UPDATE_IN_PROGRESS")
            self.poll_while_deleting(name)
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status, name)
            self.capi.remove_group(name)
            self.poll()
            self.assert_updated()
            self.assertNotIn(name, self.groups())

    def poll_while_deleting(self, name: str) -> None:
        """A poll that is about to call the cluster complete."""
        real = status_writer.save_complete

        def save_complete(*args: Any) -> None:
            with self.busy():
                self.remove(name)
            real(*args)

        with mock.patch.object(status_writer, "save_complete", save_complete):
            self.poll()

    def test_a_deletion_waits_for_lease_and_management_cluster(self) -> None:
        self.management.unreachable()
        self.remove("gpu")
        self.management.recover()
        with self.busy():
            self.remove("gpu")
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.poll()
        self.assertEqual(["default-worker"], self.names())
        self.assert_ends()

    def test_a_group_whose_creation_is_still_pending(self) -> None:
        with self.busy():
            self.add("big")
            self.remove("big")
        self.poll()
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.assertNotIn("big", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_an_overdue_deletion_does_not_bring_the_group_back(self) -> None:
        self.remove("gpu")
        self.capi.settle()
        self.set_option(operation_timeout=1)
        for version in (1, 2, 3):
            self.relabel(version, modifiedAt="1")
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


class DoomedTest(StaleTestCase):
    """The cluster is being deleted: Magnum's handlers write over that."""

    def test_no_request_about_a_group_brings_it_back(self) -> None:
        for request in (
            lambda group: self.add("more"),
            lambda group: self.remove("gpu"),
            lambda group: self.update_stale(group, max_node_count=5),
        ):
            stale = self.groups()["gpu"]
            self.delete()
            request(stale)
            self.assert_doomed()
            self.created()
            self.add("gpu")
            self.settle()

    def test_a_deletion_that_reached_nobody_is_not_forgotten(self) -> None:
        self.management.unreachable()
        self.delete()
        self.add("more")
        self.management.recover()
        self.assert_doomed()

    def test_the_cluster_is_deleted_while_a_group_is_pending(self) -> None:
        with self.busy():
            self.add("more")
            self.delete()
        self.assert_doomed()

    def test_a_cluster_of_which_nothing_was_made_stays_deleted(self) -> None:
        self.save(stack_id=None)
        self.delete()
        self.add("more")
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
