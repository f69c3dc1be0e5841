# SPDX-License-Identifier: Apache-2.0

"""Each kind of plan is known; machines of a rotation go without Magnum."""

from __future__ import annotations

import importlib
import pkgutil

from oslotest import base as test_base

from magnum_capi_helm import chart
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.model import plan as plans
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
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
            set(plan_steps.MODULES),
            "MODULES, lifecycle/plan_steps.py",
        )
        keys = [each.KEY for each in kinds_of_plans]
        self.assertEqual(sorted(set(keys)), sorted(keys))


class HookTest(placing.FrozenTestCase, test_rotate_ca.RotationTestCase):
    """A cluster whose API has a load balancer.

    An earlier version let its machines wait for Magnum's polls.
    """

    def setUp(self) -> None:
        super().setUp()
        self.capi.provider = {"apiServerLoadBalancer": {"id": "balancer-1"}}
        self.capi.settle()
        self.rotate_ca()
        for _ in range(3):
            self.poll()
            self.capi.settle()
        plane = self.live(kinds.CONTROL_PLANE, _PLANE)
        self.assertNotEqual(0.0, replacement.renewal_time(plane))

    def hooks(self) -> list[str]:
        """Return the hooks of the machines, other than Cluster API's own."""
        return [
            name
            for each in self.server.list(kinds.MACHINE, base.NAMESPACE)
            for name in view.annotations_of(each)
            if ".hook." in name and not name.endswith("/kcp-cleanup")
        ]

    def wait(self) -> None:
        """A machine of the rotation waits for its hook."""
        held = {"metadata": {"annotations": {_HOOK: ""}}}
        place = (kinds.MACHINE, base.NAMESPACE, f"{_PLANE}-m0")
        self.server.patch(*place, held)
        self.assertEqual([], self.capi.roll())
        self.assertEqual([_HOOK], self.hooks())

    def test_machines_go_while_no_conductor_runs(self) -> None:
        self.assertEqual([], self.hooks())
        self.assertEqual([_PLANE], self.capi.roll())

    def test_a_rotation_that_goes_on(self) -> None:
        self.wait()
        self.freeze()
        self.poll()
        # Nothing is written to a frozen management cluster.
        self.assertEqual([_HOOK], self.hooks())
        self.thaw()
        self.poll()
        self.assertEqual([], self.hooks())
        self.assertEqual([_PLANE], self.capi.roll())
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_other_ways_from_there_remove_old_hooks(self) -> None:
        self.wait()
        self.save(status="UPDATE_FAILED")
        self.resize(2)
        self.poll()
        self.assertEqual([], self.hooks())
        self.wait()
        self.roll_back()
        self.until_complete()
        self.assertEqual([], self.hooks())

    def test_a_deletion_removes_old_hooks(self) -> None:
        self.wait()
        self.delete()
        self.poll()
        self.assertEqual([], self.hooks())


class LateTest(test_rotate_ca.RotationTestCase):
    """Cluster API replaces no machine of a step, and all looks complete."""

    def test_a_late_step_fails_and_goes_on_with_a_machine(self) -> None:
        self.rotate_ca()
        while "step 2 of 6" not in str(self.why()):
            self.tick()
        for seconds in (0, 10, 10, 3500):
            self.plane.clock.advance(seconds)
            self.capi.settle()
            self.poll()
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll_after(200)
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(
            "not done in time: CA rotation, step 2 of 6: workers get to trust "
            "both CAs: still to be replaced: "
            f"{base.RELEASE}-default-worker-m0, "
            f"{base.RELEASE}-default-worker-m1. The polls of the cluster's "
            "health try again; a resize to the present count does so at once. "
            "An operator can take it back before its step 3",
            self.why(),
        )
        self.capi.roll()
        self.plane.clock.advance(60)
        self.health_poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
