# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows follow the autoscaler, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping
import types

from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import desired_state
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

    def scaled(self, count: int) -> None:
        """The autoscaler has made or deleted machines."""
        self.scale(count)
        self.capi.settle()

    def count(self) -> int:
        return int(self.groups()[GROUP].node_count)

    def fingerprints(self) -> set[str]:
        """Those of the rows, of the desired state and of the live Cluster."""
        secret = self.live(kinds.SECRET, base.INTENT)
        notes = view.annotations_of(self.live(kinds.CLUSTER))
        return {
            rows.read(self.row())[0].fingerprint(),
            desired_state.from_secret(secret["data"]).fingerprint,
            notes[requested_groups.FINGERPRINT_ANNOTATION],
        }


class FollowTest(ScaledTestCase):
    def test_the_count_follows_the_autoscaler(self) -> None:
        for count in (5, 1, 5):
            self.scaled(count)
            self.health_poll()
            self.assertEqual(count, self.count())
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        # Polls apply nothing for it.
        self.assertEqual(1, len(self.fingerprints()))
        self.poll()
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual(5, self.replicas())
        # The next change goes on from there.
        self.change(GROUP, max_node_count=7)
        self.assert_updated()
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
        self.scaled(5)
        self.fails("patch", kinds.CLUSTER)
        # Health was read, and is told all the same.
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assertEqual(1, len(self.warnings()), self.warnings())
        self.assertEqual(before, self.count())
        self.management.recover()
        self.health_poll()
        self.assertEqual(5, self.count())
        self.assertEqual(1, len(self.fingerprints()))

    def test_a_count_that_magnum_put_back_is_mended(self) -> None:
        self.scaled(5)
        self.health_poll()
        self.save(self.groups()[GROUP], node_count=2)
        self.health_poll()
        self.assertEqual(5, self.count())
        self.assertEqual(1, len(self.fingerprints()))


class StartTest(base.FlowTestCase):
    """A group starts with the count that the user asked for."""

    def start(self, count: int, minimum: int) -> None:
        bounds = {"min_node_count": str(minimum)}
        cluster = self.cluster(labels={**SCALED, **bounds})
        self.handler.cluster_create(self.context, cluster, 1, count, 60)

    def finish(self) -> None:
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_the_count_may_be_the_minimum_or_above(self) -> None:
        for count, minimum in ((3, 1), (2, 0), (5, 5)):
            self.start(count, minimum)
            self.assertEqual(count, self.replicas())
            self.finish()
            self.health_poll()
            self.assertEqual(count, self.replicas())
            self.assertEqual(count, self.groups()[GROUP].node_count)
            self.vanish()

    def test_a_poll_starts_it_after_a_conductor_died(self) -> None:
        self.helm.outcomes = [helm.Outcome.KILLED]
        self.assertRaises(management.Killed, self.start, 3, 1)
        self.management.recover()
        for seconds in (0, lease.DURATION + 1, 331):
            self.poll_after(seconds)
        self.assertEqual(3, self.replicas())
        self.finish()

    def test_a_new_nodegroup_does_so(self) -> None:
        self.complete(labels=dict(SCALED))
        self.add("burst", node_count=2, min_node_count=0, max_node_count=4)
        self.assertEqual(2, self.replicas("burst"))


class BoundsTest(ScaledTestCase):
    def test_the_live_count_moves_into_them(self) -> None:
        for live, bounds, count in (
            (2, {"min_node_count": 4}, 4),
            (5, {"min_node_count": 1, "max_node_count": 3}, 3),
            (2, {"max_node_count": 4}, 2),
        ):
            with self.subTest(**bounds):
                self.scaled(live)
                self.change(GROUP, **bounds)
                self.assertEqual(count, self.replicas())
                self.assert_updated()
                self.health_poll()
                self.assertEqual(count, self.count())

    def test_capacities_stay_after_a_change_of_bounds(self) -> None:
        """The autoscaler knows the nodes of a group that has none."""
        self.change(GROUP, max_node_count=7)
        self.poll()
        name = names.machine_deployment(base.RELEASE, GROUP)
        notes = view.annotations_of(self.live(kinds.MACHINE_DEPLOYMENT, name))
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

    def test_the_health_says_whether_it_runs(self) -> None:
        """It leaves the cluster healthy."""
        self.management.requests.clear()
        found = [self.health_poll()]
        self.assertEqual(7, len(self.management.requests))
        name = names.autoscaler(base.RELEASE)
        where = (kinds.DEPLOYMENT, base.NAMESPACE, name)
        condition = {"type": "Available", "status": "False", "message": "why"}
        self.server.set_status(*where, {"conditions": [condition]})
        self.plane.clock.advance(301)
        found.append(self.health_poll())
        # It is read again without a change of anything else.
        self.server.delete(*where)
        self.plane.clock.advance(301)
        found.append(self.health_poll())
        self.assertEqual(
            [
                ("HEALTHY", "ok"),
                ("HEALTHY", "not running: why"),
                ("HEALTHY", "not running: its Deployment does not exist"),
            ],
            [
                (row.health_status, row.health_status_reason["autoscaler"])
                for row in found
            ],
        )

    def test_an_unreadable_deployment_is_unknown(self) -> None:
        self.fails("get", kinds.DEPLOYMENT)
        row = self.health_poll()
        self.assertEqual("HEALTHY", row.health_status)
        self.assertEqual("unknown", row.health_status_reason["autoscaler"])
        self.assertEqual(1, len(self.warnings()), self.warnings())


class LeaveTest(ScaledTestCase):
    def test_a_count_of_a_cluster_that_changes_stays(self) -> None:
        before = self.count()
        for of_group, count, fields in (
            (False, 5, {"status": "UPDATE_IN_PROGRESS"}),
            (False, 4, {"status": "DELETE_IN_PROGRESS"}),
            (True, 5, {"status": "UPDATE_IN_PROGRESS"}),
            # A change that is still to be applied.
            (True, 4, {"max_node_count": 9}),
        ):
            row = self.groups()[GROUP] if of_group else self.row()
            kept = {name: getattr(row, name) for name in fields}
            self.scaled(count)
            self.save(row, **fields)
            self.health_poll()
            self.assertEqual(before, self.count(), str(fields))
            self.save(self.groups()[GROUP] if of_group else None, **kept)
        with self.busy():
            self.health_poll()
        self.assertEqual(before, self.count())
        self.assertEqual([], self.warnings())
        self.plane.clock.advance(901)
        self.health_poll()
        self.assertEqual(4, self.count())


class OfOthersTest(ScaledTestCase):
    labels = types.MappingProxyType({})

    def test_a_group_of_the_user_keeps_the_count_of_its_row(self) -> None:
        self.scaled(5)
        self.health_poll()
        self.assertEqual(2, self.count())


class AdoptedTest(ScaledTestCase):
    def test_a_cluster_of_1_4_0_without_fingerprints_is_followed(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.INTENT)
        gone = {requested_groups.FINGERPRINT_ANNOTATION: None}
        where = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*where, {"metadata": {"annotations": gone}})
        self.scaled(5)
        self.health_poll()
        self.assertEqual(5, self.count())
