# SPDX-License-Identifier: Apache-2.0

"""API servers leave the load balancer before their etcd members go."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import balancer
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import freezing
from magnum_capi_helm.tests.unit.lifecycle import test_rotate_ca

_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/magnum-api-server"
_PLANE = f"{base.RELEASE}-control-plane"
#: Addresses of the only control plane machine, and of another cluster's.
_OURS, _OTHERS = "192.168.3.10", "192.168.3.99"
_FAST = {"delay": 2, "timeout": 1, "maxRetries": 2, "maxRetriesDown": 2}


class ApiServersTestCase(
    freezing.FrozenTestCase, test_rotate_ca.RotationTestCase
):
    """A cluster whose API has a load balancer."""

    def setUp(self) -> None:
        super().setUp()
        self.balancer = balancer.FakeBalancer(
            self.openstack.mocker, openstack.BALANCER
        )
        self.balancer.members = {_OURS: True, _OTHERS: True}
        self.capi.provider = {"apiServerLoadBalancer": {"id": balancer.ID}}
        self.capi.settle()

    def held(self) -> list[str]:
        """Return the machines that wait for the driver."""
        return [
            view.name_of(each).removeprefix(f"{base.RELEASE}-")
            for each in self.server.list(kinds.MACHINE, base.NAMESPACE)
            if _HOOK in view.annotations_of(each)
        ]

    def begun(self) -> None:
        """The first machine of the control plane is being deleted."""
        self.rotate_ca()
        place = (kinds.MACHINE, base.NAMESPACE, f"{_PLANE}-m0")
        for _ in range(6):
            if view.deleting(self.server.get(*place)):
                break
            self.tick()
        self.assertEqual(["control-plane-m0"], self.held())


class LeaveTest(ApiServersTestCase):
    """A rotation, while Octavia answers."""

    def test_the_member_is_disabled_before_the_machine_goes(self) -> None:
        self.begun()
        self.poll()
        self.assertEqual({_OURS: False, _OTHERS: True}, self.balancer.members)
        self.assertEqual(["control-plane-m0"], self.held())
        self.poll()
        self.assertEqual(["control-plane-m0"], self.held(), "not settled yet")
        self.balancer.settle()
        self.poll()
        self.assertEqual([], self.held())
        self.assertEqual([_PLANE], self.capi.roll())

    def test_a_busy_load_balancer_is_waited_for(self) -> None:
        self.balancer.state = "PENDING_UPDATE"
        self.begun()
        self.poll()
        self.assertTrue(self.balancer.members[_OURS])
        self.assertEqual(["control-plane-m0"], self.held())
        later = time.time() + 601
        with mock.patch("time.time", lambda: later):
            self.poll()
        self.assertEqual([], self.held())
        [warning] = [e for e in self.warnings() if "may fail" in e]
        self.assertIn("not ready for 600 seconds", warning)

    def test_one_that_gets_busy_meanwhile_is_waited_for(self) -> None:
        self.balancer.refusal = 409
        self.begun()
        self.poll()
        self.assertEqual(["control-plane-m0"], self.held())

    def test_a_broken_load_balancer_keeps_no_machine(self) -> None:
        """Octavia changes none that is in ERROR."""
        self.balancer.state = "ERROR"
        self.begun()
        self.poll()
        self.assertEqual([], self.held())
        self.assertTrue(self.balancer.members[_OURS])

    def test_octavia_that_refuses_keeps_no_machine(self) -> None:
        self.balancer.refusal = 403
        self.begun()
        self.poll()
        self.assertEqual([], self.held())
        [warning] = [e for e in self.warnings() if "may fail" in e]
        self.assertIn(f"{_PLANE}-m0", warning)

    def test_a_refused_credential_keeps_no_machine(self) -> None:
        self.begun()
        self.openstack.credentials.clear()
        self.poll()
        self.assertEqual([], self.held())

    def test_a_frozen_management_cluster_is_not_written_to(self) -> None:
        self.begun()
        self.freeze()
        self.poll()
        self.assertTrue(self.balancer.members[_OURS])
        self.assertEqual(["control-plane-m0"], self.held())

    def test_all_machines_are_replaced(self) -> None:
        self.rotate_ca()
        rolled = []
        for _ in range(60):
            if self.row().status != "UPDATE_IN_PROGRESS":
                break
            self.balancer.settle()
            rolled += self.tick()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(3, rolled.count("control-plane"))
        self.assertEqual([], self.held())


class MonitorTest(ApiServersTestCase):
    """CAPO's spec, in both versions."""

    def monitor(self, *keys: str) -> Any:
        """Return the monitor that a rotation asks CAPO for."""
        self.rotate_ca()
        self.poll()
        place = (kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE)
        found = view.spec_of(self.server.get(*place))
        for key in keys:
            found = found.get(key) or {}
        return found.get("monitor")

    def test_v1beta1(self) -> None:
        self.assertEqual(_FAST, self.monitor("apiServerLoadBalancer"))

    def test_v1beta2(self) -> None:
        spec = {"apiServer": {"managedLoadBalancer": {"enabled": "Enabled"}}}
        place = (kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*place, {"spec": spec})
        monitor = self.monitor("apiServer", "managedLoadBalancer")
        self.assertEqual(_FAST, monitor)

    def test_an_api_without_a_load_balancer(self) -> None:
        self.capi.provider = {}
        self.capi.settle()
        self.assertIsNone(self.monitor("apiServerLoadBalancer"))
        self.assertEqual([], self.held())


class NoHookTest(ApiServersTestCase):
    """Machines that don't wait for the driver, or not any more."""

    def write(self, change: dict[str, object]) -> None:
        """Change the control plane's machine."""
        place = (base.NAMESPACE, f"{_PLANE}-m0")
        self.server.patch(kinds.MACHINE, *place, change)

    def test_kubernetes_for_which_cluster_api_does_not_wait(self) -> None:
        for version, held in (("v1.30.9", 0), ("v1.31.0", 1)):
            self.write({"spec": {"version": version}})
            self.rotate_ca()
            for _ in range(3):
                self.poll()
            self.assertEqual(held, len(self.held()), version)
            self.take_back()

    def test_cluster_api_without_a_hook_of_its_own(self) -> None:
        self.write({"metadata": {"annotations": None}})
        self.rotate_ca()
        for _ in range(3):
            self.poll()
        self.assertEqual([], self.held())

    def take_back(self) -> None:
        """Take the rotation back, as the operator's command does."""
        operation = operations.Operation(self.admin, self.row(), runtime.get())
        rollback.rollback(operation)
        self.until_complete()

    def test_a_rotation_that_is_taken_back(self) -> None:
        self.rotate_ca()
        self.poll()
        self.assertEqual(["control-plane-m0"], self.held())
        self.take_back()
        self.assertEqual([], self.held())

    def test_a_deletion(self) -> None:
        self.begun()
        self.delete()
        self.poll()
        self.assertEqual([], self.held())
        self.assertTrue(self.balancer.members[_OURS])
