# SPDX-License-Identifier: Apache-2.0

"""New nodegroups that a request began and the polls finish."""

from __future__ import annotations

import datetime
from typing import Any
from unittest import mock

from magnum.common import exception

from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base


class UnfinishedAddTest(base.NodegroupTestCase):
    """What a request began and the polls finish."""

    def test_a_busy_lease_does_not_fail_it(self) -> None:
        with self.busy():
            self.add("gpu")
        self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(["default-worker"], self.names())
        asked = self.openstack.mocker.call_count
        self.poll()
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.assertEqual(asked, self.openstack.mocker.call_count)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("CREATE_COMPLETE", self.groups()["gpu"].status)

    def test_two_adds_at_once_both_succeed(self) -> None:
        with self.busy():
            self.add("gpu")
            self.add("big")
        self.poll()
        self.assertEqual(["default-worker", "gpu", "big"], self.names())
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
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
        self.management.kill_before("patch", kinds.SECRET)
        self.assertRaises(management.Killed, self.add, "gpu")
        self.management.recover()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.backdate_group("gpu", minutes=6)
        self.poll()
        group = self.groups()["gpu"]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertIn("delete it and create it again", group.status_reason)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(["default-worker"], self.names())

    def backdate_group(self, name: str, minutes: float) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        self.dbapi.update_nodegroup(
            self.uuid,
            self.groups()[name].uuid,
            {"created_at": now - datetime.timedelta(minutes=minutes)},
        )

    def test_a_helm_that_fails_is_run_again(self) -> None:
        self.helm.outcomes = [helm.Outcome.INTERRUPTED]
        self.add("gpu")
        self.poll()
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(1, self.replicas("gpu"))

    def test_a_group_of_which_nothing_is_known_does_not_stop_others(
        self,
    ) -> None:
        with self.busy():
            lost = self.add("lost")
            self.add("gpu")
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            names.desired_state(base.RELEASE),
            {"data": {f"group-{lost.uuid}": None}},
        )
        self.poll()
        self.settle()
        group = self.groups()["lost"]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertIn("delete it and create it again", group.status_reason)
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.remove("lost")
        self.assertNotIn("lost", self.groups())

    def test_a_resize_before_it_is_decided_about_does_not_refuse_it(
        self,
    ) -> None:
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
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        self.nodegroup(row, name="gpu", status="CREATE_IN_PROGRESS")
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
        self.server.delete(
            kinds.SECRET, base.NAMESPACE, names.desired_state(base.RELEASE)
        )
        self.helm.upgrade(
            base.RELEASE,
            base.NAMESPACE,
            "/store/openstack-cluster-0.16.0.tgz",
            values,
        )
        self.nodegroup(self.row(), name="GPU_1", status="CREATE_COMPLETE")
        self.capi.settle()

    def test_a_group_is_added_with_the_chart_of_the_release(self) -> None:
        self.add("big")
        self.assertEqual("0.16.0", self.helm.upgrades[-1].chart_version)
        self.assertEqual(["default-worker", "gpu-1", "big"], self.names())
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        # 1.4.0 kept no keypair.
        expected = base.INTENT_KEYS - {"keypair.json"}
        self.assertEqual(expected, self.intent_keys())

    def test_a_group_that_is_pending_is_in_a_secret_without_intent(
        self,
    ) -> None:
        with self.busy():
            made = self.add("big")
        self.assertEqual({f"group-{made.uuid}"}, self.intent_keys())
        self.poll()
        self.assertEqual(["default-worker", "gpu-1", "big"], self.names())

    def test_a_group_under_its_old_name_is_deleted(self) -> None:
        self.remove("GPU_1")
        self.assertEqual(["default-worker"], self.names())
        self.settle()
        self.assertIn("GPU_1", self.groups())
        self.capi.remove_group("gpu-1")
        self.settle()
        self.assertNotIn("GPU_1", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_deletion_that_a_poll_begins(self) -> None:
        with self.busy():
            self.remove("GPU_1")
        self.poll()
        self.assertEqual(["default-worker"], self.names())

    def test_a_new_group_does_not_get_machines_of_an_old_one(self) -> None:
        error = self.assertRaises(
            exception.InvalidParameterValue, self.add, "gpu-1"
        )
        self.assertIn("choose another name", str(error))
        self.remove("gpu-1")
        self.assertNotIn("gpu-1", self.groups())
        self.assertEqual(1, self.replicas("gpu-1"))
        self.resize(3)
        self.assertEqual(["default-worker", "gpu-1"], self.names())

    def test_a_group_in_creation_at_the_swap_is_taken_on(self) -> None:
        group = self.groups()["GPU_1"]
        group.status = "CREATE_IN_PROGRESS"
        group.save()
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.groups()["GPU_1"].status)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
