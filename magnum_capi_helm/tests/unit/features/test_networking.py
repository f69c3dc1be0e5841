# SPDX-License-Identifier: Apache-2.0
"""Networks and address ranges: whole values."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import networking
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests.unit.features import specs


class NetworksTest(base.BaseTestCase):
    def test_a_given_network_gets_neither_cidr_nor_name_servers(self) -> None:
        network, subnet = {"id": "net"}, {"id": "sub"}
        rows: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
            ({"fixed_id": "net"}, {"networkFilter": network}),
            ({"fixed_subnet_id": "sub"}, {"subnetFilter": subnet}),
            (
                {"fixed_id": "net", "fixed_subnet_id": "sub"},
                {"networkFilter": network, "subnetFilter": subnet},
            ),
        )
        for fields, internal in rows:
            given = cluster_spec.Network(
                dns_nameservers=("192.0.2.1",), **fields
            )
            cluster = specs.cluster(network=given)
            found = networking.TOPIC.cluster(cluster)["clusterNetworking"]
            self.assertEqual({"internalNetwork": internal}, found)

    def test_each_chart_version_has_its_place_for_name_servers(self) -> None:
        network = cluster_spec.Network(dns_nameservers=("192.0.2.1",))
        node_cidr = {"nodeCidr": "10.0.0.0/24"}
        servers = {"dnsNameservers": ["192.0.2.1"]}
        for version, expected in (
            ("0.10.1", {"internalNetwork": node_cidr, **servers}),
            ("0.16.0", {"internalNetwork": {**node_cidr, **servers}}),
            ("0.27.0", {"internalNetwork": {**node_cidr, **servers}}),
        ):
            chart = specs.chart(version)
            cluster = specs.cluster(network=network, chart=chart)
            found = paths.spelled(networking.TOPIC.cluster(cluster), version)
            self.assertEqual(expected, found["clusterNetworking"], version)

    def test_a_chart_that_loses_name_servers_is_refused(self) -> None:
        servers = ("192.0.2.1", "192.0.2.2")
        made = cluster_spec.Network(dns_nameservers=servers)
        given = cluster_spec.Network(fixed_id="net", dns_nameservers=servers)
        for version in ("0.11.0", "0.15.0"):
            chart = specs.chart(version)
            networking.TOPIC.check(specs.cluster(network=given, chart=chart))
            self.assertRegex(
                specs.refusal(
                    networking.TOPIC.check,
                    specs.cluster(network=made, chart=chart),
                ),
                "^dns_nameserver: .* 192.0.2.1,192.0.2.2; charts up to 0.10.1,"
                f" 0.16.0 and later do, and this is {version}$",
            )

    def test_dual_stack_has_pools_and_addresses_of_calico_for_ipv6(
        self,
    ) -> None:
        network = {
            "nodeAddressAutodetectionV6": {"kubernetes": "NodeInternalIP"}
        }
        values = {"installation": {"calicoNetwork": network}}
        cluster = specs.cluster(DUAL, network=BOTH_VERSIONS)
        self.assertEqual(
            {
                "type": "calico",
                "calico": {"dualStack": True, "release": {"values": values}},
            },
            networking.TOPIC.cluster(cluster)["addons"]["cni"],
        )

    def test_labels_of_the_other_network_plugin_are_idle(self) -> None:
        """Defaults of the operator: no user asked a cluster for these."""
        defaults = labels.Values(
            {
                "cilium_hubble_ui_enabled": True,
                "calico_chart_version": "v3.31.6",
                "cilium_chart_version": "1.19.4",
            }
        )
        hubble = {"relay": {"enabled": True}, "ui": {"enabled": True}}
        for cni, expected in (
            ("calico", {"chart": {"version": "v3.31.6"}}),
            (
                "cilium",
                {
                    "chart": {"version": "1.19.4"},
                    "release": {"values": {"hubble": hubble}},
                },
            ),
        ):
            cluster = specs.cluster(cni=cni)
            cluster = dataclasses.replace(cluster, labels=defaults)
            networking.TOPIC.check(cluster)
            self.assertEqual(
                {"type": cni, cni: expected},
                networking.TOPIC.cluster(cluster)["addons"]["cni"],
            )

    def test_only_ports_in_extra_networks_lose_their_security(self) -> None:
        group = specs.group(
            {
                "extra_network_names": "storage",
                "extra_network_port_security": "false",
            }
        )
        port = {"network": {"name": "storage"}, "disablePortSecurity": True}
        self.assertEqual(
            {"machineNetworking": {"ports": [{}, port]}},
            networking.TOPIC.group(specs.cluster(), group),
        )

    def test_security_groups_come_beside_the_one_of_capo(self) -> None:
        uuid = "8a1b2c3d-0000-4000-8000-000000000001"
        cluster = specs.cluster(namespace="magnum-p1")
        secured = {
            "securityGroups": [
                {
                    "filter": {
                        "name": "k8s-cluster-magnum-p1-demo-45f11a8de301"
                        "-secgroup-worker"
                    }
                },
                {"filter": {"name": "web"}},
                {"id": uuid},
            ]
        }
        own = {"extra_security_groups": f"web {uuid}"}
        extra = {**own, "extra_network_names": "storage"}
        network = {"network": {"name": "storage"}}
        for given, ports in (
            (
                {"extra_network_names": f"storage {uuid}"},
                [{}, network, {"network": {"id": uuid}}],
            ),
            (own, [secured]),
            (extra, [secured, {**network, **secured}]),
            (
                {**extra, "extra_network_port_security": "false"},
                [secured, {**network, "disablePortSecurity": True}],
            ),
        ):
            self.assertEqual(
                {"machineNetworking": {"ports": ports}},
                networking.TOPIC.group(cluster, specs.group(given)),
            )

    def test_each_group_has_the_extra_networks_of_its_own_labels(self) -> None:
        cluster = specs.cluster({"extra_network_names": "storage"})
        [item] = values.build(cluster)["nodeGroups"]
        self.assertIn("machineNetworking", item)
        plain = specs.group({"extra_network_names": ""})
        self.assertEqual({}, networking.TOPIC.group(cluster, plain))

    def test_charts_that_write_ports_as_nobody_reads_them(self) -> None:
        given = {"extra_network_names": "storage"}
        for version, refused in (
            ("0.10.1", False),
            ("0.11.0", True),
            ("0.14.0", True),
            ("0.14.1", False),
        ):
            cluster = specs.cluster(given, chart=specs.chart(version))
            text = specs.refusal(values.checked, cluster)
            self.assertEqual(refused, bool(text), version)


DUAL = {
    "pods_cidr": "10.100.0.0/16, fd00:1::/56",
    "service_cluster_ip_range": "10.254.0.0/16 fd00:2::/112",
}


def _given(*cidrs: str) -> cluster_spec.Network:
    return cluster_spec.Network(fixed_id="net", subnet_cidrs=cidrs)


BOTH_VERSIONS = _given("192.168.0.0/24", "fd00:3::/64")


def _refusal(given: dict[str, str] | None = None, **fields: Any) -> str:
    cluster = specs.cluster(given, **fields)
    return specs.refusal(networking.TOPIC.check, cluster) or "accepted"


#: Labels, fields, and the two ranges that a user reads of.
OVERLAPPING: list[tuple[dict[str, str], dict[str, Any], str, str]] = [
    (
        {"pods_cidr": "10.0.0.0/16"},
        {},
        *("pods_cidr and fixed_subnet_cidr", "10.0.0.0/16 and 10.0.0.0/24"),
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
        *("pods_cidr and fixed_network", "172.16.0.0/13 and 172.20.1.0/24"),
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
        given = {"pods_cidr": "10.0.0.0/16"}
        self.assertEqual(
            "accepted", _refusal(given, network=_given("10.1.0.0/24"))
        )

    def test_pods_and_services_have_the_same_ip_versions(self) -> None:
        self.assertRegex(
            _refusal({"pods_cidr": DUAL["pods_cidr"]}, cni="cilium"),
            "^pods_cidr and service_cluster_ip_range differ .* 172.24.0.0/13$",
        )

    def test_dual_stack_needs_nodes_with_both_versions(self) -> None:
        networks = (cluster_spec.Network(), _given("192.168.0.0/24"))
        for cni in networking.CNIS:
            # A network that is not looked up, but for an outline, passes.
            for network in (BOTH_VERSIONS, _given()):
                found = _refusal(DUAL, cni=cni, network=network)
                self.assertEqual("accepted", found)
            for network in networks:
                self.assertRegex(
                    _refusal(DUAL, cni=cni, network=network),
                    "^pods_cidr: nodes need IPv6 .* 10.100.0.0/16, "
                    "fd00:1::/56; Cluster API's .* IPv4 subnets alone$",
                )

    def test_each_node_needs_its_block_of_the_pods_addresses(self) -> None:
        # Three of the control plane, one more of it, and the workers.
        small = {"pods_cidr": "10.100.0.0/23"}
        four, five = specs.group(), specs.group(maximum=5)
        four = dataclasses.replace(four, count=4)
        networking.TOPIC.check(specs.cluster(small, node_groups=(four,)))
        self.assertRegex(
            _refusal(small, node_groups=(five,)),
            "^pods_cidr has room for 8 nodes .* have 9 .*10.100.0.0/23$",
        )
        self.assertIn(
            "has room for 2 nodes of a /24 each",
            _refusal(small, node_groups=(four,), cni="cilium"),
        )
