# SPDX-License-Identifier: Apache-2.0

"""Upgrades in steps: the control plane first, then the workers."""

from __future__ import annotations

import contextlib
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import test_template_guard_builds

WORKER = "default-worker"
_CLUSTER = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
_SECRET = (kinds.SECRET, base.NAMESPACE, names.desired_state(base.RELEASE))
_FIRST = {"control-plane": upgrading.NEW, WORKER: upgrading.OLD}
_BOTH = {"control-plane": upgrading.NEW, WORKER: upgrading.NEW}


class StepsTestCase(upgrading.UpgradeTestCase):
    """A cluster of 1.34.2 whose upgrade to 1.35.1 has begun."""

    def setUp(self) -> None:
        super().setUp()
        self.upgrade(self.template(image_id="ubuntu-1.35"))

    def annotations(self) -> dict[str, str]:
        return view.annotations_of(self.server.get(*_CLUSTER))

    def format(self) -> str:
        """Return the format of the Secret: an older driver leaves 2 alone."""
        secret: Any = self.server.get(*_SECRET)
        head = encoding.read_plain(secret["data"]["intent.json"])
        return str(head["format"])

    def polls(self, count: int) -> None:
        for _ in range(count):
            self.poll()


class StepsTest(StepsTestCase):
    """Nothing disturbs them."""

    def test_workers_stay_while_the_control_plane_is_replaced(self) -> None:
        told = len(self.helm.upgrades)
        self.polls(3)
        self.assertEqual(_FIRST, self.machines())
        self.assertEqual(told, len(self.helm.upgrades))
        self.assertEqual("2", self.format())
        reason = str(self.row().status_reason)
        text = "upgrade, step 1 of 2: control plane to v1.35.1: "
        self.assertEqual(text, reason[: len(text)])

    def test_workers_follow_and_nothing_of_the_steps_is_left(self) -> None:
        self.capi.settle()
        self.poll()
        self.assertEqual(_BOTH, self.machines())
        reason = "upgrade, step 2 of 2: workers to v1.35.1"
        self.assertEqual(reason, self.row().status_reason)
        self.assertNotIn(observed_state.AWAITED, self.annotations())
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
        self.capi.settle()
        self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertIsNone(self.row().status_reason)
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
        self.server.patch(*_CLUSTER, {"metadata": {"annotations": gone}})
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(_BOTH, self.machines())


class DisturbedTest(StepsTestCase):
    """Conductors die, and users change their minds."""

    def fail(self) -> None:
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()

    def test_a_conductor_dies_at_each_write_of_the_second_step(self) -> None:
        for verb, kind, after in (
            ("patch", kinds.SECRET, 0),
            ("patch", kinds.SECRET, 1),
            ("patch", kinds.SECRET, 2),
            ("patch", kinds.CLUSTER, 0),
        ):
            self.capi.settle()
            self.management.kill_before(verb, kind, after=after)
            with contextlib.suppress(management.Killed):
                self.poll()
            self.management.recover()
            free = {"spec": {"holderIdentity": ""}}
            where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
            self.server.patch(*where, free)
        for _ in range(4):
            self.poll()
            self.capi.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(_BOTH, self.machines())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        # Each step once, and its number in the values.
        told = [values.generation(e.values) for e in self.helm.upgrades]
        self.assertEqual([0, 1, 2], told)

    def test_a_second_step_that_failed_goes_on_with_a_resize(self) -> None:
        self.capi.settle()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.resize(2)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(_BOTH, self.machines())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_an_upgrade_is_rolled_back_before_any_machine_changed(
        self,
    ) -> None:
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollback.rollback(operation)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        old = {"control-plane": upgrading.OLD, WORKER: upgrading.OLD}
        self.assertEqual(old, self.machines())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        self.assertNotIn("magnum.openstack.org/plan", self.annotations())

    def test_a_resize_to_more_waits_for_the_step_of_its_group(self) -> None:
        self.fail()
        self.resize(5)
        self.assertEqual(_FIRST, self.machines())
        self.settle()
        self.assertEqual(_BOTH, self.machines())
        self.assertEqual(5, self.replicas())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_other_changes_wait_for_its_end(self) -> None:
        self.fail()
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        error = self.assertRaises(
            errors.NotSupported, release_change.read, operation
        )
        self.assertIn("the upgrade has not ended: let it end", str(error))

    def test_a_deletion_leaves_nothing(self) -> None:
        self.delete()
        self.poll()
        self.capi.finish()
        self.polls(2)
        self.assertIsNone(self.server.get(*_SECRET))


class UnseenTest(upgrading.UpgradeTestCase):
    """The first step is on the Cluster after the conductor's death alone."""

    def assert_lost_worker_delays_nothing(self) -> None:
        self.management.recover()
        free = {"spec": {"holderIdentity": ""}}
        self.server.patch(kinds.LEASE, base.NAMESPACE, base.RELEASE, free)
        self.poll()
        reason = "upgrade, step 1 of 2: control plane to v1.35.1"
        self.assertEqual(reason, str(self.row().status_reason)[: len(reason)])
        self.capi.fail_machine(WORKER)
        for _ in range(3):
            self.poll()
        self.assertEqual(_BOTH, self.machines())

    def test_a_conductor_dies_before_it_shows_the_step(self) -> None:
        self.management.kill_before("patch", kinds.CLUSTER)
        with contextlib.suppress(management.Killed):
            self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assert_lost_worker_delays_nothing()

    def test_the_management_cluster_refuses_to_show_the_step(self) -> None:
        error = errors.ManagementUnreachable("it does not answer")
        self.management.fail(
            error, verbs=("patch",), kind=kinds.CLUSTER, times=1
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assert_lost_worker_delays_nothing()


class TogetherTest(upgrading.UpgradeTestCase):
    """Upgrades of one step."""

    def test_an_upgrade_of_workers_alone_needs_no_steps(self) -> None:
        self.upgrade(self.template(flavor_id="m1.large"))
        self.assertNotIn(upgrade_steps.Upgrade.KEY, self.intent_keys())

    def test_a_chart_that_replaces_workers_together_with_the_control_plane(
        self,
    ) -> None:
        test_template_guard_builds.put_build(
            self.helm, test_template_guard_builds.PATCHED
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertNotIn(upgrade_steps.Upgrade.KEY, self.intent_keys())
        self.assertEqual(_BOTH, self.machines())
