# SPDX-License-Identifier: Apache-2.0

"""The question about a network that CAPO makes or deletes."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import faults
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes


def _network(**status: Any) -> view.Object:
    found = shapes.network()
    found["metadata"]["namespace"] = "magnum-p"
    found["spec"] = {"apiServerLoadBalancer": {"enabled": True}}
    found["status"] |= status
    return found


class NetworkTest(base.BaseTestCase):
    def test_octavia_is_asked_until_the_network_is_made(self) -> None:
        name = f"k8s-clusterapi-cluster-magnum-p-{shapes.RELEASE}-kubeapi"
        question = runtime.Question("Octavia", name)
        events = runtime.Question(
            "Kubernetes", shapes.RELEASE, "OpenStackCluster"
        )
        disabled = _network()
        disabled["spec"]["apiServerLoadBalancer"]["enabled"] = False
        leaving = _network()
        leaving["metadata"]["deletionTimestamp"] = "2026-11-21T11:00:00Z"
        newer = _network()
        newer["spec"] = {
            "apiServer": {"managedLoadBalancer": {"enabled": True}}
        }
        for network, asked in (
            (_network(), [question]),
            (newer, [question]),
            (_network(ready=True), []),
            (disabled, []),
            (leaving, [events]),
        ):
            self.assertEqual(asked, faults.about_network(network))
