# SPDX-License-Identifier: Apache-2.0

"""Each kind of plan is known; machines of a rotation go without Magnum."""

from __future__ import annotations

import importlib
import pkgutil

from oslotest import base as test_base

from magnum_capi_helm import chart
from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import plan as plans
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import freezing
from magnum_capi_helm.tests.unit.lifecycle import test_rotate_ca

_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/magnum-api-server"
_PLANE = f"{base.RELEASE}-control-plane"


class KindsTest(test_base.BaseTestCase):
    def test_each_kind_of_plan_is_read_and_taken(self) -> None:
        for each in pkgutil.iter_modules(chart.__path__):
            importlib.import_module(f"{chart.__name__}.{each.name}")
        kinds_of_plans = set(plans.Plan.__subclasses__())
        self.assertEqual(
            kinds_of_plans,
            set(cluster_release.PLANS),
            "PLANS, operations/cluster_release.py",
        )
        self.assertEqual(
            kinds_of_plans,
            set(plan_steps.KINDS),
            "KINDS, lifecycle/plan_steps.py",
        )
        keys = [each.KEY for each in kinds_of_plans]
        self.assertEqual(sorted(set(keys)), sorted(keys))


class MachinesTestCase(
    freezing.FrozenTestCase, test_rotate_ca.RotationTestCase
):
    """A cluster whose API has a load balancer."""

    def setUp(self) -> None:
        super().setUp()
        self.capi.provider = {"apiServerLoadBalancer": {"id": "balancer-1"}}
        self.capi.settle()

    def hooks(self) -> list[str]:
        """Return the hooks of the machines, other than Cluster API's own."""
        return [
            name
            for each in self.server.list(kinds.MACHINE, base.NAMESPACE)
            for name in view.annotations_of(each)
            if ".hook." in name and not name.endswith("/kcp-cleanup")
        ]

    def renew(self) -> None:
        """A rotation has asked Cluster API for other machines."""
        self.rotate_ca()
        for _ in range(3):
            self.poll()
            self.capi.settle()
        plane = self.server.get(kinds.CONTROL_PLANE, base.NAMESPACE, _PLANE)
        self.assertNotEqual(0.0, replacement.renewal_time(plane))


class NoHookTest(MachinesTestCase):
    """A rotation of this version."""

    def test_machines_go_while_no_conductor_runs(self) -> None:
        self.renew()
        self.assertEqual([], self.hooks())
        self.assertEqual([_PLANE], self.capi.roll())


class OldHookTest(MachinesTestCase):
    """An earlier version let machines wait for Magnum's polls."""

    def hold(self) -> None:
        """Cluster API deletes a machine that has the hook."""
        held = {"metadata": {"annotations": {_HOOK: ""}}}
        place = (kinds.MACHINE, base.NAMESPACE, f"{_PLANE}-m0")
        self.server.patch(*place, held)

    def waiting(self) -> None:
        """A machine of a rotation waits for its hook."""
        self.renew()
        self.hold()
        self.assertEqual([], self.capi.roll())
        self.assertEqual([_HOOK], self.hooks())

    def test_a_rotation_that_goes_on(self) -> None:
        self.waiting()
        self.poll()
        self.assertEqual([], self.hooks())
        self.assertEqual([_PLANE], self.capi.roll())
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_rotation_that_is_taken_back(self) -> None:
        self.renew()
        self.hold()
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollback.rollback(operation)
        self.until_complete()
        self.assertEqual([], self.hooks())

    def test_a_failed_rotation_that_a_resize_resumes(self) -> None:
        self.waiting()
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
        self.resize(2)
        self.poll()
        self.assertEqual([], self.hooks())

    def test_a_deletion_removes_old_hooks(self) -> None:
        self.waiting()
        self.delete()
        self.poll()
        self.assertEqual([], self.hooks())

    def test_a_frozen_management_cluster_is_not_written_to(self) -> None:
        self.waiting()
        self.freeze()
        self.poll()
        self.assertEqual([_HOOK], self.hooks())


class LateTest(test_rotate_ca.RotationTestCase):
    """Cluster API replaces no machine of a step, and all looks complete."""

    def test_a_step_fails_after_its_time_and_goes_on_with_a_machine(
        self,
    ) -> None:
        self.rotate_ca()
        while "step 2 of 6" not in str(self.row().status_reason):
            self.tick()
        for seconds in (0, 10, 10, 3500):
            self.plane.clock.advance(seconds)
            self.capi.settle()
            self.poll()
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(200)
        self.poll()
        row = self.row()
        self.assertEqual("UPDATE_FAILED", row.status)
        self.assertEqual(
            "not done in time: CA rotation, step 2 of 6: workers get to trust "
            "both CAs: still to be replaced: "
            f"{base.RELEASE}-default-worker-m0, "
            f"{base.RELEASE}-default-worker-m1. The polls of the cluster's "
            "health try again; a resize to the present count does so at once. "
            "An operator can take it back before its step 3",
            row.status_reason,
        )
        self.capi.roll()
        self.plane.clock.advance(60)
        self.health_poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
