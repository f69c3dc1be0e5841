# SPDX-License-Identifier: Apache-2.0

"""Address ranges of nodes, pods and services: which fit together."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.features import networking
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

DUAL = {
    "pods_cidr": "10.100.0.0/16, fd00:1::/56",
    "service_cluster_ip_range": "10.254.0.0/16 fd00:2::/112",
}


def _given(*cidrs: str) -> cluster_spec.Network:
    return cluster_spec.Network(fixed_id="net", subnet_cidrs=cidrs)


BOTH_VERSIONS = _given("192.168.0.0/24", "fd00:3::/64")


def _refusal(given: dict[str, str] | None = None, **fields: Any) -> str:
    """What a user reads who asks for such a cluster."""
    try:
        networking.TOPIC.check(specs.cluster(given, **fields))
    except errors.InvalidInput as error:
        return str(error)
    return "accepted"


#: Labels, fields, and the two ranges that a user reads of.
OVERLAPPING: list[tuple[dict[str, str], dict[str, Any], str, str]] = [
    (
        {"pods_cidr": "10.0.0.0/16"},
        {},
        "pods_cidr and fixed_subnet_cidr",
        "10.0.0.0/16 and 10.0.0.0/24",
    ),
    (
        {"flannel_network_cidr": "172.24.0.0/16"},
        {},
        "flannel_network_cidr and service_cluster_ip_range",
        "172.24.0.0/16 and 172.24.0.0/13",
    ),
    (
        {"fixed_subnet_cidr": "172.31.0.0/24"},
        {},
        "service_cluster_ip_range and fixed_subnet_cidr",
        "172.24.0.0/13 and 172.31.0.0/24",
    ),
    (
        {},
        {"network": _given("172.20.1.0/24")},
        "pods_cidr and fixed_network",
        "172.16.0.0/13 and 172.20.1.0/24",
    ),
    (
        {"service_cluster_ip_range": "192.168.0.0/24"},
        {
            "network": cluster_spec.Network(
                fixed_subnet_id="sub", subnet_cidrs=("192.168.0.0/16",)
            )
        },
        "service_cluster_ip_range and fixed_subnet",
        "192.168.0.0/24 and 192.168.0.0/16",
    ),
]


class RangesTest(base.BaseTestCase):
    def test_ranges_that_share_an_address_are_refused(self) -> None:
        self.assertEqual(
            [
                f"{fields} overlap: give ranges that have no address in "
                f"common. They are {ranges}"
                for _, _, fields, ranges in OVERLAPPING
            ],
            [_refusal(given, **fields) for given, fields, *_ in OVERLAPPING],
        )

    def test_a_given_network_makes_the_range_of_nodes_idle(self) -> None:
        networking.TOPIC.check(
            specs.cluster(
                {"pods_cidr": "10.0.0.0/16"}, network=_given("10.1.0.0/24")
            )
        )

    def test_pods_and_services_have_the_same_ip_versions(self) -> None:
        self.assertEqual(
            "pods_cidr and service_cluster_ip_range differ in their IP "
            "versions: give both IPv4 alone, or both IPv4 and IPv6. They are "
            "10.100.0.0/16, fd00:1::/56, and 172.24.0.0/13",
            _refusal({"pods_cidr": DUAL["pods_cidr"]}, cni="cilium"),
        )

    def test_calico_has_no_ipv6(self) -> None:
        self.assertEqual(
            "pods_cidr: IPv6 works with network_driver=cilium, not with "
            "calico. It is 10.100.0.0/16, fd00:1::/56",
            _refusal(DUAL, network=BOTH_VERSIONS),
        )

    def test_dual_stack_needs_nodes_with_both_versions(self) -> None:
        expected = (
            "pods_cidr: nodes need IPv6 addresses, too; give a fixed_network "
            "with an IPv4 and an IPv6 subnet. It is 10.100.0.0/16, "
            "fd00:1::/56"
        )
        for network in (cluster_spec.Network(), _given("192.168.0.0/24")):
            self.assertEqual(
                expected, _refusal(DUAL, cni="cilium", network=network)
            )

    def test_a_given_network_is_looked_up_but_for_an_outline(self) -> None:
        networking.TOPIC.check(
            specs.cluster(DUAL, cni="cilium", network=_given())
        )

    def test_each_node_needs_its_block_of_the_pods_addresses(self) -> None:
        # Three of the control plane, one more of it, and the workers.
        small = {"pods_cidr": "10.100.0.0/23"}
        four, five = specs.group(), specs.group(maximum=5)
        four = dataclasses.replace(four, count=4)
        networking.TOPIC.check(specs.cluster(small, node_groups=(four,)))
        self.assertEqual(
            "pods_cidr has room for 8 nodes of a /26 each, and the cluster "
            "can have 9 with the one that an upgrade adds: give a larger "
            "network. It is 10.100.0.0/23",
            _refusal(small, node_groups=(five,)),
        )
        self.assertIn(
            "has room for 2 nodes of a /24 each",
            _refusal(small, node_groups=(four,), cni="cilium"),
        )
