# SPDX-License-Identifier: Apache-2.0

"""Resize of a group, through Magnum's own handler."""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base

SCALED = {
    "auto_scaling_enabled": "true",
    "min_node_count": "1",
    "max_node_count": "5",
}


class ResizeTest(base.FlowTestCase):
    """A resize that is taken."""

    def test_the_count_reaches_the_values_and_nothing_else_changes(
        self,
    ) -> None:
        self.complete()
        self.resize(3)
        before, after = (call.values for call in self.helm.upgrades)
        self.assertEqual(3, after["nodeGroups"][0]["machineCount"])
        after["nodeGroups"][0]["machineCount"] = 2
        fingerprints = [
            values.pop("clusterAnnotations")["magnum.openstack.org/intent"]
            for values in (before, after)
        ]
        self.assertEqual(before, after)
        self.assertNotEqual(*fingerprints)

    def test_a_resize_is_in_progress_until_its_machines_are_ready(
        self,
    ) -> None:
        self.complete()
        self.resize(3)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(
            "nodegroup default-worker: 2 of 3 machines ready",
            self.row().status_reason,
        )
        self.capi.settle()
        self.poll()
        groups = self.groups()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("UPDATE_COMPLETE", groups["default-worker"].status)
        self.assertEqual(3, groups["default-worker"].node_count)
        self.assertEqual(3, len(groups["default-worker"].node_addresses))

    def test_a_group_is_resized_to_none_and_back(self) -> None:
        self.complete()
        for count in (0, 1):
            self.resize(count)
            self.capi.settle()
            self.poll()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)
            self.assertEqual(count, self.replicas())

    def test_an_update_of_the_node_count_is_a_resize(self) -> None:
        self.complete()
        self.handler.cluster_update(self.context, self.row(), 4, None, {})
        self.assertEqual(4, self.replicas())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_no_question_goes_to_openstack(self) -> None:
        self.complete()
        asked = self.openstack.mocker.call_count
        self.resize(3)
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_a_busy_lease_does_not_fail_it(self) -> None:
        self.complete()
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": "other", "renewTime": "now"}},
        )
        self.resize(3)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(3, self.groups()["default-worker"].node_count)
        self.assertEqual(2, self.replicas())
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": ""}},
        )
        self.poll()
        self.assertEqual(3, self.replicas())

    def test_an_unreachable_management_cluster_does_not_fail_it(self) -> None:
        self.complete()
        self.management.unreachable()
        self.resize(3)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.management.recover()
        self.poll()
        self.assertEqual(3, self.replicas())

    def test_two_resizes_at_once_end_at_the_last_one(self) -> None:
        self.complete()
        self.resize(3)
        self.resize(5)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(5, self.replicas())

    def test_a_resize_undone_before_it_was_applied_is_complete(self) -> None:
        self.complete()
        self.management.unreachable()
        self.resize(3)
        self.resize(2)
        self.management.recover()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_cluster_that_failed_to_update_can_be_resized(self) -> None:
        self.complete()
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class RefusedResizeTest(base.FlowTestCase):
    """A resize that is refused; Magnum puts the old count back."""

    def refused(self, words: str, name: str, *args: Any) -> None:
        old = self.groups()[name].node_count
        runs = len(self.helm.upgrades)
        self.management.requests.clear()
        error = self.assertRaises(
            exception.MagnumException,
            self.handler.cluster_resize,
            self.context,
            self.row(),
            *args,
            self.groups()[name],
        )
        self.assertIn(words, str(error))
        self.assertEqual(old, self.groups()[name].node_count)
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(str(error), self.row().status_reason)
        self.assertEqual(runs, len(self.helm.upgrades))
        asked = {each.verb for each in self.management.requests}
        self.assertLessEqual(asked, {"get", "list"})

    def test_an_invalid_size_of_the_control_plane_is_refused(self) -> None:
        self.complete()
        for count in (0, 2, 9):
            self.refused("give 1, 3, 5 or 7", "default-master", count, [])

    def test_growth_of_the_control_plane_needs_a_load_balancer(self) -> None:
        conf.CONF.set_override("api_load_balancer", "requested", "capi_helm")
        self.created(master_lb_enabled=False)
        self.refused("no load balancer for its API", "default-master", 3, [])
        self.resize(1, "default-master")

    def test_nodes_to_remove_of_the_control_plane_are_refused(self) -> None:
        self.complete()
        self.refused("Cluster API chooses", "default-master", 1, ["m-1"])

    def test_a_count_beyond_the_autoscalers_bounds_is_refused(self) -> None:
        self.complete(labels=SCALED)
        before = self.replicas()
        self.refused("between 1 and 5", "default-worker", 6, [])
        self.assertEqual(before, self.replicas())

    def test_an_unreachable_management_cluster_does_not_know_the_bounds(
        self,
    ) -> None:
        self.complete(labels=SCALED)
        self.management.unreachable()
        self.refused("does not answer", "default-worker", 3, [])

    def test_a_count_beyond_the_bounds_of_the_group_is_refused(self) -> None:
        self.complete()
        group = self.groups()["default-worker"]
        group.min_node_count, group.max_node_count = 1, 4
        group.save()
        self.refused("takes 1 to 4 nodes", "default-worker", 5, [])
        group.max_node_count = None
        group.save()
        self.refused("takes 1 or more nodes", "default-worker", 0, [])

    def test_an_update_that_is_to_be_rolled_back(self) -> None:
        self.complete()
        error = self.assertRaises(
            exception.NotSupported,
            self.handler.cluster_update,
            self.context,
            self.row(),
            4,
            None,
            {},
            True,
        )
        self.assertIn("rollback of a failed update", str(error))
        self.assertEqual(2, self.groups()["default-worker"].node_count)
        self.assertEqual(1, len(self.helm.upgrades))
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_cluster_without_a_release_is_refused(self) -> None:
        self.saved(status="UPDATE_FAILED")
        self.refused("no release", "default-worker", 3, [])


class AutoscaledTest(base.FlowTestCase):
    """A cluster whose counts the autoscaler owns."""

    def test_an_autoscaled_cluster_is_complete_with_any_count(self) -> None:
        self.create(labels=SCALED)
        group = self.helm.upgrades[0].values["nodeGroups"][0]
        self.assertNotIn("machineCount", group)
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-default-worker",
            {"spec": {"replicas": 4}},
        )
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertEqual(
            4, len(self.groups()["default-worker"].node_addresses)
        )
        self.assertEqual(4, self.replicas())

    def test_within_its_bounds_it_goes_on_from_the_users_count(self) -> None:
        self.complete(labels=SCALED)
        self.resize(4)
        self.assertEqual(4, self.replicas())
        self.assertNotIn("machineCount", self.node_groups()[0])
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(4, self.groups()["default-worker"].node_count)

    def test_a_busy_lease_loses_nothing(self) -> None:
        self.complete(labels=SCALED)
        with self.busy():
            self.resize(4)
        self.assertEqual(4, self.replicas())

    def test_a_count_that_cannot_be_set_is_refused(self) -> None:
        self.complete(labels=SCALED)
        self.management.fail(
            errors.ManagementError("refused (403)"),
            verbs=["patch"],
            kind=kinds.MACHINE_DEPLOYMENT,
        )
        before = self.groups()["default-worker"].node_count
        self.assertRaises(exception.MagnumException, self.resize, 4)
        self.assertEqual(before, self.groups()["default-worker"].node_count)
