# SPDX-License-Identifier: Apache-2.0

"""Health polls, through Magnum's own periodic job."""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base


class HealthTest(base.FlowTestCase):
    """What Magnum learns of a cluster's health."""

    def test_a_cluster_that_is_well_is_healthy_node_by_node(self) -> None:
        self.complete()
        row = self.health_poll()
        self.assertEqual("HEALTHY", row.health_status)
        self.assertEqual(
            {
                "api": "ok",
                f"{base.RELEASE}-control-plane-m0.Ready": "True",
                f"{base.RELEASE}-default-worker-m0.Ready": "True",
                f"{base.RELEASE}-default-worker-m1.Ready": "True",
            },
            row.health_status_reason,
        )

    def test_a_poll_takes_at_most_six_requests(self) -> None:
        self.complete()
        self.management.requests.clear()
        self.health_poll()
        self.assertLessEqual(len(self.management.requests), 6)

    def test_a_group_that_is_not_available_is_unhealthy(self) -> None:
        self.complete()
        self.capi.fail_machine("default-worker")
        row = self.health_poll()
        self.assertEqual("UNHEALTHY", row.health_status)
        self.assertIn("nodegroup.default-worker", row.health_status_reason)
        self.assertEqual("CREATE_COMPLETE", row.status)

    def test_an_unreachable_management_cluster_is_unknown(self) -> None:
        self.complete()
        self.management.unreachable()
        row = self.health_poll()
        self.assertEqual("UNKNOWN", row.health_status)
        self.assertIn("does not answer", row.health_status_reason["api"])
        self.assertEqual("CREATE_COMPLETE", row.status)
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_a_cluster_object_that_is_missing_is_not_healthy(self) -> None:
        self.create()
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.assertEqual("UNKNOWN", self.health_poll().health_status)

    def test_a_cluster_without_a_release_is_not_looked_at(self) -> None:
        self.saved()
        row = self.health_poll()
        self.assertIsNone(row.health_status)
        self.assertEqual([], self.management.requests)

    def test_the_monitor_measures_nothing(self) -> None:
        monitor = self.driver.get_monitor(self.admin, self.saved())
        monitor.pull_data()
        self.assertEqual({}, monitor.metrics_spec)


class ObservedTest(base.FlowTestCase):
    """Fields of complete clusters that follow what is there."""

    def test_addresses_follow_a_machine_that_was_replaced(self) -> None:
        self.complete()
        before = self.groups()["default-worker"].node_addresses
        machine: Any = self.capi.fail_machine("default-worker")
        self.server.patch(
            kinds.MACHINE,
            base.NAMESPACE,
            machine,
            {"metadata": {"deletionTimestamp": "2026-11-21T12:00:00Z"}},
        )
        self.health_poll()
        self.assertEqual(
            before[1:], self.groups()["default-worker"].node_addresses
        )
        self.capi.remove_group("default-worker")
        self.health_poll()
        self.assertEqual([], self.groups()["default-worker"].node_addresses)

    def test_versions_are_those_of_the_nodes(self) -> None:
        self.complete()
        for machine in self.server.list(kinds.MACHINE, base.NAMESPACE, ""):
            self.server.set_status(
                kinds.MACHINE,
                base.NAMESPACE,
                machine["metadata"]["name"],
                {
                    **machine["status"],
                    "nodeInfo": {
                        "kubeletVersion": "v1.34.3+a-very-long-build",
                        "containerRuntimeVersion": "containerd://2.1.4",
                    },
                },
            )
        row = self.health_poll()
        self.assertEqual("v1.34.3+a-very-long-build", row.coe_version)
        self.assertEqual("containerd://2.1.4", row.container_version)
        # The column is that narrow.
        self.assertEqual(
            {"v1.34.3+a-very-long-"},
            {each.version for each in self.groups().values()},
        )

    def test_an_unchanged_cluster_saves_its_health_alone(self) -> None:
        self.complete()
        self.health_poll()
        with self.saves() as saved:
            self.health_poll()
        # Magnum itself writes the health each time.
        self.assertEqual([], [each for each in saved if "health" not in each])

    def test_a_cluster_object_that_is_missing_empties_nothing(self) -> None:
        self.complete()
        before = [each.node_addresses for each in self.groups().values()]
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.capi.finish()
        row = self.health_poll()
        self.assertEqual(
            before, [each.node_addresses for each in self.groups().values()]
        )
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertEqual("UNKNOWN", row.health_status)


class RecoveryTest(base.FlowTestCase):
    """A failed cluster that got there after all."""

    def test_a_failed_create_recovers(self) -> None:
        self.create()
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=61)
        self.poll()
        self.assertEqual("CREATE_FAILED", self.row().status)
        self.health_poll()
        self.assertEqual("CREATE_FAILED", self.row().status)

        self.capi.settle()
        row = self.health_poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(row.status_reason)
        self.assertEqual("HEALTHY", row.health_status)

    def test_a_refused_update_recovers(self) -> None:
        self.complete()
        self.assertRaises(
            exception.InvalidParameterValue, self.resize, 2, "default-master"
        )
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)
        groups = self.groups()
        self.assertEqual("UPDATE_COMPLETE", groups["default-master"].status)
        self.assertEqual(1, groups["default-master"].node_count)

    def test_a_failed_update_that_is_not_there_yet_does_not(self) -> None:
        self.complete()
        self.helm.outcomes = [
            helm.Outcome.UNREACHABLE,
            helm.Outcome.REFUSED,
        ]
        self.resize(3)
        self.poll()
        runs = len(self.helm.upgrades)
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.health_poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(runs, len(self.helm.upgrades))

    def test_a_held_lease_leaves_a_failed_cluster_for_later(self) -> None:
        self.create()
        self.capi.settle()
        row = self.row()
        row.status = "CREATE_FAILED"
        row.save()
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": "other", "renewTime": "now"}},
        )
        found = self.health_poll()
        self.assertEqual("CREATE_FAILED", found.status)
        self.assertEqual("HEALTHY", found.health_status)
        self.assertEqual([], self.warnings())

    def test_an_update_that_a_webhook_refused_recovers_without_it(
        self,
    ) -> None:
        self.complete()
        self.helm.outcomes = [
            helm.Outcome.UNREACHABLE,
            helm.Outcome.REFUSED,
            helm.Outcome.REFUSED,
        ]
        self.resize(3)
        self.poll()
        self.plane.clock.advance(11)
        self.health_poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn("denied", self.row().status_reason)
        # It is asked less and less often.
        self.plane.clock.advance(11)
        runs = len(self.helm.upgrades)
        self.health_poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.plane.clock.advance(21)
        self.health_poll()
        self.assertEqual(3, self.replicas())
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.capi.settle()
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)

    def test_a_create_that_a_webhook_refused_recovers_without_it(
        self,
    ) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE, helm.Outcome.REFUSED]
        self.create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn("denied", self.row().status_reason)
        self.plane.clock.advance(11)
        self.health_poll()
        self.capi.settle()
        self.health_poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_failed_create_can_be_deleted(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE, helm.Outcome.REFUSED]
        self.create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.delete()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_create_without_a_credential_is_not_tried_again(self) -> None:
        why = "Keystone does not answer"
        self.saved(
            status="CREATE_FAILED", stack_id=base.RELEASE, status_reason=why
        )
        namespace = {"metadata": {"name": base.NAMESPACE}}
        self.server.create(kinds.NAMESPACE, namespace)
        self.health_poll()
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual("CREATE_FAILED", self.row().status)
        self.assertEqual(why, self.row().status_reason)

    def test_a_failed_cluster_whose_release_cannot_be_read_stays_failed(
        self,
    ) -> None:
        self.complete()
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["list"],
            kind=kinds.SECRET,
        )
        self.assertEqual("UPDATE_FAILED", self.health_poll().status)
