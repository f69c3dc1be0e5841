# SPDX-License-Identifier: Apache-2.0

"""Workers of a hibernated cluster go, and come back when it wakes."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import test_autoscaler_counts


class HibernationTestCase(base.FlowTestCase):
    """A complete cluster with three workers."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.resize(3)
        self.settle()

    def settle(self) -> None:
        """Let machines come or go, and poll."""
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def order(self, *, hibernated: bool) -> str:
        """Hibernate or wake the cluster, as the command does."""
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        return rollout.apply(operation, rollout.Order(hibernated=hibernated))

    def hibernate(self) -> None:
        """Hibernate the cluster until it is complete."""
        self.assertEqual("", self.order(hibernated=True))
        self.settle()

    def wake(self) -> None:
        """Wake the cluster until it is complete."""
        self.assertEqual("", self.order(hibernated=False))
        self.settle()

    def counts(self) -> tuple[int, int, int]:
        """Return the worker count of the row and live, and all machines."""
        row = self.groups()["default-worker"]
        machines = self.server.list(kinds.MACHINE, base.NAMESPACE)
        return row.node_count, self.replicas(), len(machines)


class WorkersTest(HibernationTestCase):
    def test_workers_go_and_come_back(self) -> None:
        self.assertEqual((3, 3, 4), self.counts())
        self.hibernate()
        self.assertEqual((3, 0, 1), self.counts())
        self.wake()
        self.assertEqual((3, 3, 4), self.counts())

    def test_a_second_order_changes_nothing(self) -> None:
        self.hibernate()
        runs = len(self.helm.upgrades)
        self.assertEqual("", self.order(hibernated=True))
        self.assertEqual(runs, len(self.helm.upgrades))

    def test_the_health_names_the_hibernation(self) -> None:
        self.assertNotIn("hibernated", self.health_poll().health_status_reason)
        self.hibernate()
        found = self.health_poll()
        self.assertEqual("HEALTHY", found.health_status)
        self.assertEqual(
            "workers are away until the operator wakes it",
            found.health_status_reason["hibernated"],
        )

    def test_a_changed_count_counts_when_the_cluster_wakes(self) -> None:
        self.hibernate()
        self.resize(2)
        self.settle()
        self.assertEqual((2, 0, 1), self.counts())
        self.wake()
        self.assertEqual((2, 2, 3), self.counts())

    def test_a_new_nodegroup_has_machines_when_the_cluster_wakes(self) -> None:
        self.hibernate()
        self.add("gpu", node_count=2)
        self.settle()
        self.assertEqual(0, self.replicas("gpu"))
        self.wake()
        self.assertEqual(2, self.replicas("gpu"))

    def test_an_upgrade_is_refused(self) -> None:
        self.hibernate()
        error = self.assertRaises(
            exception.NotSupported,
            self.handler.cluster_upgrade,
            self.context,
            self.row(),
            self.row().cluster_template,
            1,
            self.groups()["default-worker"],
        )
        self.assertIn("cluster is hibernated", str(error))

    def test_a_conductor_that_dies_hibernates_no_half(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.assertNotEqual("", self.order(hibernated=True))
        self.poll()
        self.settle()
        self.assertEqual((3, 0, 1), self.counts())


class AutoscaledTest(HibernationTestCase):
    """The autoscaler owns the count of default-worker."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.complete(labels=dict(test_autoscaler_counts.SCALED))
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-default-worker",
            {"spec": {"replicas": 4}},
        )
        self.capi.settle()
        self.health_poll()

    def test_the_count_before_is_the_count_after(self) -> None:
        self.assertEqual((4, 4, 5), self.counts())
        self.hibernate()
        self.health_poll()
        self.assertEqual((4, 0, 1), self.counts())
        self.wake()
        self.assertEqual((4, 4, 5), self.counts())
