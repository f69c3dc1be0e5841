# SPDX-License-Identifier: Apache-2.0

"""The network of a cluster: faults of CAPO, and the state of its balancer."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes


class NetworkTest(base.BaseTestCase):
    """``OpenStackCluster.status.ready``, and conditions that are false."""

    TAKEN = "Failed to reconcile control plane endpoint: 409"

    def reason(self, **status: Any) -> set[str]:
        found = {
            "APIEndpointReady": (
                "False",
                "APIEndpointConfigFailed",
                self.TAKEN,
            )
        }
        network = shapes.network(
            {**found, "Ready": ("False", "OpenStackError", self.TAKEN)}
        )
        network["status"] |= status
        return {
            shapes.verdict(
                shapes.complete(
                    shape,
                    deployments=(shapes.workers(shape, ready=1),),
                    infrastructure=network,
                )
            ).reason
            for shape in shapes.GENERATIONS
        }

    def test_an_error_counts_until_machines_may_be_made(self) -> None:
        told = {f"infrastructure: {self.TAKEN} [cloud]"}
        waiting = {"nodegroup default-worker: 1 of 2 machines ready"}
        done = {"initialization": {"provisioned": True}}
        rows: list[tuple[dict[str, Any], set[str]]] = [
            ({}, told),
            ({"ready": False}, told),
            ({"initialization": {"provisioned": False}}, told),
            ({"ready": True}, waiting),
            (done, waiting),
            ({"ready": True, **done}, waiting),
        ]
        for status, expected in rows:
            self.assertEqual(expected, self.reason(**status), str(status))


class BalancerTest(base.BaseTestCase):
    """Octavia's answer about the API's load balancer."""

    NAME = f"k8s-clusterapi-cluster-magnum-p-{shapes.RELEASE}-kubeapi"

    def network(self, **status: Any) -> view.Object:
        found = shapes.network()
        found["metadata"]["namespace"] = "magnum-p"
        found["spec"] = {"apiServerLoadBalancer": {"enabled": True}}
        found["status"] |= status
        return found

    def test_its_state_is_the_reason(self) -> None:
        error = f"load balancer {self.NAME} is in state ERROR"
        advice = (
            "`openstack loadbalancer delete --cascade` deletes it, and "
            "another one is made; or ask the operator"
        )
        for fault, told in (
            (view.Fault(error), f"{error}: {advice}"),
            (
                view.Fault(unread="Keystone: no answer"),
                "no load balancer yet: Octavia could not be asked: Keystone: "
                "no answer",
            ),
            (view.Fault(), ""),
        ):
            seen = view.View(shapes.RELEASE, infrastructure=self.network())
            seen = shapes.answered(seen, fault)
            self.assertEqual(told, infrastructure.network_error(seen).text)
