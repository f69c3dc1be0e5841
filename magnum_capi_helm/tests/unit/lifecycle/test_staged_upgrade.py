# SPDX-License-Identifier: Apache-2.0

"""Upgrades in steps: the control plane first, then the workers."""

from __future__ import annotations

from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import (
    test_template_guard_builds as builds,
)

WORKER = "default-worker"
_FIRST = {"control-plane": upgrading.NEW, WORKER: upgrading.OLD}
_BOTH = {"control-plane": upgrading.NEW, WORKER: upgrading.NEW}


class StepsTestCase(upgrading.UpgradeTestCase):
    """A cluster of 1.34.2 whose upgrade to 1.35.1 has begun."""

    def setUp(self) -> None:
        super().setUp()
        self.upgrade(self.template(image_id="ubuntu-1.35"))

    def annotations(self) -> dict[str, str]:
        return view.annotations_of(self.live(kinds.CLUSTER))

    def format(self) -> str:
        """Return the format of the Secret: an older driver leaves 2 alone."""
        data = self.live(kinds.SECRET, base.INTENT)["data"]
        return str(encoding.read_plain(data["intent.json"])["format"])

    def polls(self, count: int) -> None:
        for _ in range(count):
            self.poll()


class StepsTest(StepsTestCase):
    def test_workers_stay_while_the_control_plane_is_replaced(self) -> None:
        told = len(self.helm.upgrades)
        self.polls(3)
        self.assertEqual(_FIRST, self.machines())
        self.assertEqual(told, len(self.helm.upgrades))
        self.assertEqual("2", self.format())
        reason = str(self.why())
        text = "upgrade, step 1 of 2: control plane to v1.35.1: "
        self.assertEqual(text, reason[: len(text)])

    def test_workers_follow_and_nothing_of_the_steps_is_left(self) -> None:
        self.capi.settle()
        self.poll()
        self.assertEqual(_BOTH, self.machines())
        reason = "upgrade, step 2 of 2: workers to v1.35.1"
        self.assertEqual(reason, self.why())
        self.assertNotIn(observed_state.AWAITED, self.annotations())
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
        self.capi.settle()
        self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertIsNone(self.why())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        self.assertEqual("1", self.format())
        self.assertNotIn("magnum.openstack.org/plan", self.annotations())

    def test_a_worker_that_is_lost_delays_no_step(self) -> None:
        # Cluster API makes no worker before the control plane is done.
        self.capi.fail_machine(WORKER)
        self.polls(2)
        self.assertEqual(_BOTH, self.machines())

    def test_a_cluster_without_its_annotation_goes_on(self) -> None:
        gone = {
            "magnum.openstack.org/plan": None,
            observed_state.AWAITED: None,
        }
        where = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*where, {"metadata": {"annotations": gone}})
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(_BOTH, self.machines())


class DisturbedTest(StepsTestCase):
    def test_an_upgrade_is_rolled_back_before_machines_change(self) -> None:
        self.roll_back()
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        old = {"control-plane": upgrading.OLD, WORKER: upgrading.OLD}
        self.assertEqual(old, self.machines())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        self.assertNotIn("magnum.openstack.org/plan", self.annotations())

    def test_a_resize_to_more_waits_for_the_step_of_its_group(self) -> None:
        self.save(status="UPDATE_FAILED")
        self.resize(5)
        self.assertEqual(_FIRST, self.machines())
        self.assert_updated()
        self.assertEqual(_BOTH, self.machines())
        self.assertEqual(5, self.replicas())

    def test_other_changes_wait_for_its_end(self) -> None:
        self.save(status="UPDATE_FAILED")
        error = self.assertRaises(
            errors.NotSupported, release_change.read, self.new_operation()
        )
        self.assertIn("the upgrade has not ended: let it end", str(error))


class UnseenTest(upgrading.UpgradeTestCase):
    """The first step is on the Cluster after the conductor's death alone."""

    def assert_lost_worker_delays_nothing(self) -> None:
        self.poll()
        reason = "upgrade, step 1 of 2: control plane to v1.35.1"
        self.assertEqual(reason, str(self.why())[: len(reason)])
        self.capi.fail_machine(WORKER)
        for _ in range(3):
            self.poll()
        self.assertEqual(_BOTH, self.machines())

    def test_a_conductor_dies_before_it_shows_the_step(self) -> None:
        with self.dies("patch", kinds.CLUSTER):
            self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assert_lost_worker_delays_nothing()

    def test_the_management_cluster_refuses_to_show_the_step(self) -> None:
        error = errors.ManagementUnreachable("it does not answer")
        self.fails("patch", kinds.CLUSTER, error=error, times=1)
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assert_lost_worker_delays_nothing()


class TogetherTest(upgrading.UpgradeTestCase):
    def test_an_upgrade_of_workers_or_of_all_has_no_steps(self) -> None:
        self.upgrade(self.template(flavor_id="m1.large"))
        self.assertNotIn(upgrade_steps.Upgrade.KEY, self.intent_keys())
        self.settle()
        # A chart that replaces workers together with the control plane.
        builds.put_build(self.helm, builds.PATCHED)
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertNotIn(upgrade_steps.Upgrade.KEY, self.intent_keys())
        self.assertEqual(_BOTH, self.machines())
