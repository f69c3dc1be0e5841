# SPDX-License-Identifier: Apache-2.0

"""A cluster whose network the management cluster does not reach."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from lab.nodes import host
from lab.nodes import mode
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.nodes import base
from magnum_capi_helm.tests.functional.nodes import inside

_LABELS = {
    "api_master_lb_allowed_cidrs": f"{mode.ADDRESS}/32",
    "api_server_network": "public",
    "master_lb_floating_ip_enabled": "false",
}


class IsolatedTest(base.NodesCase):
    """The API has an address in another network, and no floating IP."""

    record_name = "nodes-isolated"

    def template(self, **fields: Any) -> str:
        """The UUID of a new template, with the labels of this test."""
        return super().template(**{"labels": _LABELS, **fields})

    def test_a_cluster_without_a_route_to_its_network(self) -> None:
        self.make(node_count=1)
        address, port = self.endpoint()
        self.record(
            "a cluster with one worker is complete, with all addons; its API "
            f"has {address}"
        )
        self.assertIn(
            ipaddress.ip_address(address), ipaddress.ip_network(mode.NETWORK)
        )
        self.nothing_leads_to_its_network(address)
        self.until_health(self.uuid, "HEALTHY")
        self.ask(2)
        self.complete()
        self.record("2 workers; the cluster is HEALTHY")

        nodes = self.nodes()
        self.assertEqual(3, len(nodes))
        worker = inside.machine_of(max(nodes))
        foreign = self.foreign_machine()
        self.assertEqual(
            ["answers", "closed"],
            [
                inside.connects(each, address, port)
                for each in (worker, foreign)
            ],
        )
        self.record("a machine of another project: the API closes")

    def nothing_leads_to_its_network(self, address: str) -> None:
        """Fail if there is a floating IP, or if this host has a route."""
        floating = json.loads(
            programs.openstack(
                *("floating", "ip", "list", "--status", "ACTIVE"),
                *("--format", "json"),
            )
        )
        taken = {each["Floating IP Address"] for each in floating}
        self.assertNotIn(address, taken)
        for node in self.nodes():
            inner = self.address_of(node)
            [route] = json.loads(
                programs.run("ip", "-json", "route", "get", inner)
            )
            self.assertNotEqual(host.BRIDGE, route["dev"])
        self.record("this host has no route to the nodes")
