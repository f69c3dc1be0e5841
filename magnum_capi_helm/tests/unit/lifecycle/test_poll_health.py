# SPDX-License-Identifier: Apache-2.0

"""Health polls, through Magnum's own periodic job."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

from magnum import objects

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base


class HealthTest(base.FlowTestCase):
    def test_a_cluster_that_is_well_is_healthy_node_by_node(self) -> None:
        self.complete()
        self.management.requests.clear()
        row = self.health_poll()
        self.assertLessEqual(len(self.management.requests), 6)
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
        with self.saves() as saved:
            self.health_poll()
        # Magnum itself writes the health each time.
        self.assertEqual([], [each for each in saved if "health" not in each])

    def test_a_cluster_without_a_release_is_not_looked_at(self) -> None:
        row = self.saved()
        self.assertIsNone(self.health_poll().health_status)
        self.assertEqual([], self.management.requests)
        monitor = self.driver.get_monitor(self.admin, row)
        monitor.pull_data()
        self.assertEqual({}, monitor.metrics_spec)


class ObservedTest(base.NodegroupTestCase):
    """Fields of complete clusters that follow what is there."""

    def test_addresses_follow_a_machine_that_was_replaced(self) -> None:
        before = self.groups()["default-worker"].node_addresses
        machine: Any = self.capi.fail_machine("default-worker")
        gone = {"metadata": {"deletionTimestamp": "2026-11-21T12:00:00Z"}}
        self.edit(kinds.MACHINE, machine, gone)
        self.health_poll()
        self.assertEqual(
            before[1:], self.groups()["default-worker"].node_addresses
        )
        self.capi.remove_group("default-worker")
        self.health_poll()
        self.assertEqual([], self.groups()["default-worker"].node_addresses)

    def test_versions_are_those_of_the_nodes(self) -> None:
        versions = {
            "kubeletVersion": "v1.34.3+a-very-long-build",
            "containerRuntimeVersion": "containerd://2.1.4",
        }
        for each in self.server.list(kinds.MACHINE, base.NAMESPACE, ""):
            name = view.name_of(each)
            status = {**each["status"], "nodeInfo": versions}
            self.server.set_status(kinds.MACHINE, base.NAMESPACE, name, status)
        row = self.health_poll()
        self.assertEqual("v1.34.3+a-very-long-build", row.coe_version)
        self.assertEqual("containerd://2.1.4", row.container_version)
        # The column is that narrow.
        self.assertEqual(
            {"v1.34.3+a-very-long-"},
            {each.version for each in self.groups().values()},
        )

    def test_a_cluster_object_that_is_missing_empties_nothing(self) -> None:
        before = [each.node_addresses for each in self.groups().values()]
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.capi.finish()
        row = self.health_poll()
        self.assertEqual(
            before, [each.node_addresses for each in self.groups().values()]
        )
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertEqual("UNKNOWN", row.health_status)


class CertificatesTest(base.FlowTestCase):
    """Those of the control plane expire soon: the warning in health."""

    def expire(self, days: float) -> str:
        """Let them end then; return the day."""
        moment = time.gmtime(time.time() + days * 86400)
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
        where = (kinds.MACHINE, base.NAMESPACE)
        for each in self.server.list(*where, view.CONTROL_PLANE_LABEL):
            status = {**each["status"], "certificatesExpiryDate": date}
            self.server.set_status(*where, view.name_of(each), status)
        return date[:10]

    def test_the_health_says_it_a_month_ahead(self) -> None:
        self.complete()
        why = (
            f"those of the control plane expire on {self.expire(29)}: an "
            "upgrade, or the operator, renews them"
        )
        row = self.health_poll()
        self.assertEqual(
            ("HEALTHY", why),
            (row.health_status, row.health_status_reason["certificates"]),
        )
        # The same warning reads no nodegroup; Magnum's task would hide it.
        monitor = self.driver.get_monitor(self.admin, self.row())
        with mock.patch.object(objects.NodeGroup, "list", self.fail):
            monitor.poll_health_status()
        self.assertEqual({}, monitor.data)


class RecoveryTest(base.FlowTestCase):
    """A failed cluster that got there after all."""

    def refuse(self, *outcomes: helm.Outcome) -> None:
        """helm's first run does not get through, the next ones are refused."""
        self.helm.outcomes = [helm.Outcome.UNREACHABLE, *outcomes]

    def test_a_failed_create_recovers(self) -> None:
        self.create()
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=61)
        self.poll()
        self.assertEqual("CREATE_FAILED", self.row().status)
        self.health_poll()
        self.assertEqual("CREATE_FAILED", self.row().status)
        self.capi.settle()
        seen = self.warnings()
        with self.busy():
            # Another conductor's Lease leaves it for later.
            row = self.health_poll()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertEqual("HEALTHY", row.health_status)
        self.assertEqual(seen, self.warnings())
        self.health_poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(self.why())

    def test_an_update_that_a_webhook_refused_recovers_later(self) -> None:
        self.complete()
        self.refuse(helm.Outcome.REFUSED, helm.Outcome.REFUSED)
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        group = self.groups()["default-worker"]
        self.assertEqual("UPDATE_FAILED", group.status)
        runs = len(self.helm.upgrades)
        self.health_poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.plane.clock.advance(11)
        self.health_poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn("denied", self.why())
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
        self.assertEqual(("UPDATE_COMPLETE", None), self.state())

    def test_a_create_that_a_webhook_refused_recovers_later(self) -> None:
        """Or it can be deleted."""
        for recovers in (False, True):
            self.refuse(helm.Outcome.REFUSED)
            self.create()
            self.poll()
            self.assertEqual({"CREATE_FAILED"}, self.statuses())
            self.assertIn("denied", self.why())
            if recovers:
                self.plane.clock.advance(11)
                self.health_poll()
                self.capi.settle()
                self.health_poll()
                self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
            else:
                self.delete()
                self.poll()
                self.assertTrue(self.gone())
                self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_create_without_a_credential_is_not_tried_again(self) -> None:
        failed = ("CREATE_FAILED", "Keystone does not answer")
        self.saved(
            status=failed[0], stack_id=base.RELEASE, status_reason=failed[1]
        )
        namespace = {"metadata": {"name": base.NAMESPACE}}
        self.server.create(kinds.NAMESPACE, namespace)
        self.health_poll()
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(failed, self.state())

    def test_a_failed_cluster_that_is_unreadable_stays_failed(self) -> None:
        self.complete()
        self.save(status="UPDATE_FAILED")
        self.fails("list", kinds.SECRET)
        self.assertEqual("UPDATE_FAILED", self.health_poll().status)


class FailuresToldTest(base.FlowTestCase):
    """Why a request came to nothing can be read before the cluster is well."""

    def refuse(self, why: str) -> tuple[str, str]:
        """As Magnum's handler writes it; what a user reads then."""
        self.save(status="UPDATE_FAILED", status_reason=why)
        return "UPDATE_FAILED", why

    def polled(self, seconds: float = 0.0) -> tuple[str, str | None]:
        """What a user reads after the next health poll."""
        self.plane.clock.advance(seconds)
        self.health_poll()
        return self.state()

    def test_each_failure_is_told_for_half_a_minute(self) -> None:
        self.complete()
        runtime.get().failure_display = 30.0
        for why in ("at most 1, not 2", "at most 1, not 2", "another"):
            refused = self.refuse(why)
            self.assertEqual(refused, self.polled())
            self.assertEqual(refused, self.polled(20))
            for seconds in (10, 0):
                found = self.polled(seconds)
                self.assertEqual(("UPDATE_COMPLETE", None), found)
        self.refuse("one")
        self.polled()
        self.plane.clock.advance(30)
        # The next one is told as long.
        refused = self.refuse("a rollback is not supported")
        self.assertEqual(refused, self.polled())
