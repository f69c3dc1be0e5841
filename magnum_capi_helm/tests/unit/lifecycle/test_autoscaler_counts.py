# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows follow the autoscaler, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping
import types
from typing import Any

from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base

GROUP = "default-worker"
SCALED = {
    "auto_scaling_enabled": "true",
    "min_node_count": "1",
    "max_node_count": "5",
}


class ScaledTestCase(base.FlowTestCase):
    """A complete cluster, and somebody who scales machines."""

    labels: Mapping[str, str] = types.MappingProxyType(SCALED)

    def setUp(self) -> None:
        super().setUp()
        self.complete(labels=dict(self.labels))

    def scale(self, count: int) -> None:
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-{GROUP}",
            {"spec": {"replicas": count}},
        )
        self.capi.settle()

    def count(self) -> int:
        return int(self.groups()[GROUP].node_count)

    def fingerprints(self) -> set[str]:
        """Those of the rows, of the desired state and of the live Cluster."""
        secret: Any = self.server.get(
            kinds.SECRET, base.NAMESPACE, names.desired_state(base.RELEASE)
        )
        live: Any = self.server.get(
            kinds.CLUSTER, base.NAMESPACE, base.RELEASE
        )
        return {
            rows.read(self.row())[0].fingerprint(),
            desired_state.from_secret(secret["data"]).fingerprint,
            live["metadata"]["annotations"][
                requested_groups.FINGERPRINT_ANNOTATION
            ],
        }


class FollowTest(ScaledTestCase):
    def test_the_count_follows_the_autoscaler(self) -> None:
        for count in (5, 1):
            self.scale(count)
            self.health_poll()
            self.assertEqual(count, self.count())
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_polls_apply_nothing_for_a_scaled_group(self) -> None:
        self.scale(5)
        self.health_poll()
        self.assertEqual(1, len(self.fingerprints()))
        self.poll()
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual(5, self.replicas())

    def test_the_next_change_goes_on_from_there(self) -> None:
        self.scale(5)
        self.health_poll()
        self.change(GROUP, max_node_count=7)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(5, self.replicas())
        self.assertEqual(1, len(self.fingerprints()))

    def test_a_count_that_did_not_change_costs_nothing(self) -> None:
        self.health_poll()
        self.management.requests.clear()
        with self.saves() as saved:
            self.health_poll()
        self.assertEqual([], [each for each in saved if "nodegroup" in each])
        self.assertLessEqual(len(self.management.requests), 6)

    def test_a_poll_that_died_in_between_is_made_up_for(self) -> None:
        before = self.count()
        self.scale(5)
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["patch"],
            kind=kinds.CLUSTER,
        )
        # Health was read, and is told all the same.
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assertEqual(1, len(self.warnings()), self.warnings())
        self.assertEqual(before, self.count())
        self.management.recover()
        self.health_poll()
        self.assertEqual(5, self.count())
        self.assertEqual(1, len(self.fingerprints()))

    def test_a_count_that_magnum_put_back_is_mended(self) -> None:
        self.scale(5)
        self.health_poll()
        group = self.groups()[GROUP]
        group.node_count = 2
        group.save()
        self.health_poll()
        self.assertEqual(5, self.count())
        self.assertEqual(1, len(self.fingerprints()))


class StartTest(base.FlowTestCase):
    """A group starts with the count that the user asked for."""

    def start(self, count: int, minimum: int) -> None:
        bounds = {"min_node_count": str(minimum)}
        cluster = self.cluster(labels={**SCALED, **bounds})
        self.handler.cluster_create(self.context, cluster, 1, count, 60)

    def scale(self, count: int) -> None:
        name = names.machine_deployment(base.RELEASE, GROUP)
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            name,
            {"spec": {"replicas": count}},
        )

    def finish(self) -> None:
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def assert_started(self, count: int, minimum: int) -> None:
        self.start(count, minimum)
        self.assertEqual(count, self.replicas())
        self.finish()
        self.health_poll()
        self.assertEqual(count, self.replicas())
        self.assertEqual(count, self.groups()[GROUP].node_count)

    def test_the_count_may_be_above_the_minimum(self) -> None:
        self.assert_started(3, 1)

    def test_the_count_may_be_above_a_minimum_of_0(self) -> None:
        self.assert_started(2, 0)

    def test_the_count_may_be_the_minimum(self) -> None:
        self.assert_started(5, 5)

    def test_the_autoscaler_owns_the_count_from_then_on(self) -> None:
        self.start(3, 1)
        self.finish()
        for count in (5, 1):
            self.scale(count)
            self.change(GROUP, max_node_count=count + 5)
            self.assertEqual(count, self.replicas())
            self.capi.settle()
            self.poll()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)
            self.assertEqual(count, self.replicas())

    def test_a_repair_leaves_the_count_to_the_autoscaler(self) -> None:
        self.start(3, 1)
        self.capi.settle()
        self.scale(5)
        plane = names.control_plane(base.RELEASE)
        found = (kinds.CONTROL_PLANE, base.NAMESPACE, plane)
        self.server.patch(*found, {"spec": {"replicas": 3}})
        self.poll()
        live: Any = self.server.get(*found)
        self.assertEqual(1, live["spec"]["replicas"])
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual(5, self.replicas())

    def test_a_poll_starts_it_after_a_conductor_died(self) -> None:
        self.helm.outcomes = [helm.Outcome.KILLED]
        self.assertRaises(management.Killed, self.start, 3, 1)
        self.management.recover()
        for seconds in (0, lease.DURATION + 1, 331):
            self.plane.clock.advance(seconds)
            self.poll()
        self.assertEqual(3, self.replicas())
        self.finish()

    def test_a_new_nodegroup_does_so(self) -> None:
        self.complete(labels=dict(SCALED))
        self.add("burst", node_count=2, min_node_count=0, max_node_count=4)
        self.assertEqual(2, self.replicas("burst"))


class BoundsTest(ScaledTestCase):
    """New bounds move a count that is outside of them."""

    def test_the_live_count_moves_into_them(self) -> None:
        for live, bounds, count in (
            (2, {"min_node_count": 4}, 4),
            (5, {"min_node_count": 1, "max_node_count": 3}, 3),
            (2, {"max_node_count": 4}, 2),
        ):
            with self.subTest(**bounds):
                self.scale(live)
                self.change(GROUP, **bounds)
                self.assertEqual(count, self.replicas())
                self.capi.settle()
                self.poll()
                self.health_poll()
                self.assertEqual("UPDATE_COMPLETE", self.row().status)
                self.assertEqual(count, self.count())


class FromZeroTest(ScaledTestCase):
    """The autoscaler knows the nodes of a group that has none."""

    def test_capacities_stay_after_a_change_of_bounds(self) -> None:
        key = (base.NAMESPACE, f"{base.RELEASE}-{GROUP}")
        self.change(GROUP, max_node_count=7)
        self.poll()
        live: Any = self.server.get(kinds.MACHINE_DEPLOYMENT, *key)
        notes = live["metadata"]["annotations"]
        prefix = "capacity.cluster-autoscaler.kubernetes.io/"
        self.assertEqual(
            {
                "cpu": "2",
                "memory": "4096Mi",
                "ephemeral-disk": "20Gi",
                "labels": f"capi.stackhpc.com/node-group={GROUP},"
                f"magnum.openstack.org/nodegroup={GROUP},"
                "magnum.openstack.org/role=worker,"
                "node.kubernetes.io/instance-type=m1.medium",
            },
            {
                name.removeprefix(prefix): text
                for name, text in notes.items()
                if name.startswith(prefix)
            },
        )
        self.assertEqual("7", notes[view.AUTOSCALER_ANNOTATION])


class RunningTest(ScaledTestCase):
    """Whether the autoscaler runs is read where there is one."""

    def test_a_running_autoscaler_is_ok(self) -> None:
        row = self.health_poll()
        self.assertEqual("HEALTHY", row.health_status)
        self.assertEqual("ok", row.health_status_reason["autoscaler"])

    def test_a_stopped_autoscaler_leaves_the_cluster_healthy(self) -> None:
        condition = {"type": "Available", "status": "False", "message": "why"}
        self.server.set_status(
            kinds.DEPLOYMENT,
            base.NAMESPACE,
            names.autoscaler(base.RELEASE),
            {"conditions": [condition]},
        )
        row = self.health_poll()
        self.assertEqual("HEALTHY", row.health_status)
        self.assertEqual(
            "not running: why", row.health_status_reason["autoscaler"]
        )

    def test_the_autoscaler_is_read_again_without_a_change(self) -> None:
        self.health_poll()
        self.server.delete(
            kinds.DEPLOYMENT, base.NAMESPACE, names.autoscaler(base.RELEASE)
        )
        self.plane.clock.advance(301)
        self.assertEqual(
            "not running: its Deployment does not exist",
            self.health_poll().health_status_reason["autoscaler"],
        )

    def test_a_poll_takes_one_request_more(self) -> None:
        self.management.requests.clear()
        self.health_poll()
        self.assertEqual(7, len(self.management.requests))

    def test_an_unreadable_deployment_is_unknown(self) -> None:
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["get"],
            kind=kinds.DEPLOYMENT,
        )
        row = self.health_poll()
        self.assertEqual("HEALTHY", row.health_status)
        self.assertEqual("unknown", row.health_status_reason["autoscaler"])
        self.assertEqual(1, len(self.warnings()), self.warnings())


class LeaveTest(ScaledTestCase):
    """What a user wants is not overwritten."""

    def assert_left(self) -> None:
        before = self.count()
        self.scale(5)
        self.health_poll()
        self.assertEqual(before, self.count())

    def save(self, row: Any, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(row, name, value)
        row.save()

    def test_a_cluster_that_changes(self) -> None:
        self.save(self.row(), status="UPDATE_IN_PROGRESS")
        self.assert_left()

    def test_a_group_that_changes(self) -> None:
        self.save(self.groups()[GROUP], status="UPDATE_IN_PROGRESS")
        self.assert_left()

    def test_a_change_that_is_still_to_be_applied(self) -> None:
        self.save(self.groups()[GROUP], node_count=3, max_node_count=9)
        self.assert_left()

    def test_a_cluster_that_is_being_deleted(self) -> None:
        self.save(self.row(), status="DELETE_IN_PROGRESS")
        self.assert_left()

    def test_somebody_else_has_the_lease(self) -> None:
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": "other", "renewTime": "now"}},
        )
        self.assert_left()
        self.assertEqual([], self.warnings())


class OfOthersTest(ScaledTestCase):
    labels = types.MappingProxyType({})

    def test_a_group_of_the_user_keeps_the_count_of_its_row(self) -> None:
        self.scale(5)
        self.health_poll()
        self.assertEqual(2, self.count())


class AdoptedTest(ScaledTestCase):
    def test_a_cluster_of_1_4_0_without_fingerprints_is_followed(self) -> None:
        self.server.delete(
            kinds.SECRET, base.NAMESPACE, names.desired_state(base.RELEASE)
        )
        self.server.patch(
            kinds.CLUSTER,
            base.NAMESPACE,
            base.RELEASE,
            {
                "metadata": {
                    "annotations": {
                        requested_groups.FINGERPRINT_ANNOTATION: None
                    }
                }
            },
        )
        self.scale(5)
        self.health_poll()
        self.assertEqual(5, self.count())
