# SPDX-License-Identifier: Apache-2.0

"""Rollouts that were killed half way, or refused by helm."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling


class InterruptedTest(rolling.RolloutTestCase):
    """Killed half way, or refused by helm."""

    def setUp(self) -> None:
        super().setUp()
        self.all.write_text(rolling.ADDON)

    def test_killed_before_the_intent_it_has_not_happened(self) -> None:
        self.management.kill_before("patch", kinds.SECRET)
        with self.dies():
            self.roll_out()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn("the cluster is UPDATE_IN_PROGRESS", self.no())
        self.settle()
        self.assertNotIn("ccm", self.told()["addons"]["openstack"])
        self.rolled_out()

    def test_killed_after_it_the_polls_do_it_and_it_is_waited_for(
        self,
    ) -> None:
        self.helm.outcomes = [fake_helm.Outcome.KILLED]
        with self.dies():
            self.roll_out()
        self.assertEqual(rollout.Plan(rolling.OLD, going_on=True), self.look())
        self.assertEqual("UPDATE_IN_PROGRESS", self._left())
        self.poll()
        self.assertIn("is pending-upgrade", self._left())
        # Nobody's helm: it is called failed, and run once more.
        self.plane.clock.advance(3600)
        self.poll()
        self.settle()
        self.assertEqual("", self._left())
        self.assertIn("ccm", self.told()["addons"]["openstack"])
        self.assertEqual(rollout.Plan(rolling.OLD), self.look())

    def test_a_helm_that_could_not_is_run_by_a_poll(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.assertIn("cluster unreachable", self.roll_out())
        self.assertTrue(self.look().going_on)
        self.poll()
        self.settle()
        self.assertEqual("", self._left())

    def test_a_resize_meanwhile_goes_with_it(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.roll_out()
        self.resize(3)
        self.assertTrue(self.look().going_on)
        self.settle()
        self.assertEqual(("", 3), (self._left(), self.replicas()))
        self.assertIn("ccm", self.told()["addons"]["openstack"])

    def test_a_helm_that_never_will_is_a_failure_with_its_reason(
        self,
    ) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.roll_out()
        self.poll()
        error = self.assertRaises(errors.CapiHelmError, self._left)
        self.assertEqual(
            "UPDATE_FAILED: helm upgrade: admission webhook denied the "
            "request",
            str(error),
        )
        self.assertIn("the cluster is UPDATE_FAILED (helm upgrade", self.no())

    def test_a_failed_one_is_rolled_back(self) -> None:
        before, rows = self.told(), self.snapshot()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.roll_out(chart=rolling.NEW, files=True)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        left = rollback.rollback(
            cluster_operation.Operation(self.admin, self.row(), runtime.get())
        )
        self.assertEqual("", left)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(rolling.OLD, self.helm.upgrades[-1].chart_version)
        self.assertEqual(before, self.told())
        after = self.snapshot()
        for each in (*rows, *after):
            each.pop("status")
        self.assertEqual(rows, after)
        # And may be tried again.
        self.rolled_out(chart=rolling.NEW, files=True)

    def test_a_complete_one_is_not_taken_for_one_that_failed(self) -> None:
        self.rolled_out()
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_cluster_that_is_deleted_meanwhile(self) -> None:
        self.roll_out()
        self.delete()
        error = self.assertRaises(errors.CapiHelmError, self._left)
        self.assertEqual("the cluster was deleted meanwhile", str(error))

    def _left(self) -> str:
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        return operation.wait_reason()
