# SPDX-License-Identifier: Apache-2.0
"""Networks, the Kubernetes API and load balancers: whole values."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import networking
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs


class NetworksTest(base.BaseTestCase):
    def _networking(
        self,
        network: cluster_spec.Network,
        given: dict[str, str] | None = None,
    ) -> object:
        cluster = specs.cluster(given, network=network)
        return networking.TOPIC.cluster(cluster)["clusterNetworking"]

    def test_nothing_given_makes_a_network_of_its_own(self) -> None:
        self.assertEqual(
            {
                "clusterNetworking": {
                    "internalNetwork": {"nodeCidr": "10.0.0.0/24"}
                },
                "addons": {"cni": {"type": "calico"}},
            },
            networking.TOPIC.cluster(specs.cluster()),
        )

    def test_name_servers_belong_to_a_network_that_is_made(self) -> None:
        self.assertEqual(
            {
                "internalNetwork": {
                    "nodeCidr": "192.168.7.0/24",
                    "dnsNameservers": ["192.0.2.1", "192.0.2.2"],
                },
                "externalNetworkId": "outside",
            },
            self._networking(
                cluster_spec.Network(
                    external_id="outside",
                    dns_nameservers=("192.0.2.1", "192.0.2.2"),
                ),
                {"fixed_subnet_cidr": "192.168.7.0/24"},
            ),
        )

    def test_a_given_network_gets_neither_cidr_nor_name_servers(self) -> None:
        servers = ("192.0.2.1",)
        rows = [
            (
                cluster_spec.Network(fixed_id="net", dns_nameservers=servers),
                {"networkFilter": {"id": "net"}},
            ),
            (
                cluster_spec.Network(
                    fixed_subnet_id="sub", dns_nameservers=servers
                ),
                {"subnetFilter": {"id": "sub"}},
            ),
            (
                cluster_spec.Network(fixed_id="net", fixed_subnet_id="sub"),
                {
                    "networkFilter": {"id": "net"},
                    "subnetFilter": {"id": "sub"},
                },
            ),
        ]
        self.assertEqual(
            [{"internalNetwork": internal} for _, internal in rows],
            [self._networking(network) for network, _ in rows],
        )

    def test_each_chart_version_has_its_place_for_name_servers(self) -> None:
        network = cluster_spec.Network(dns_nameservers=("192.0.2.1",))
        node_cidr = {"nodeCidr": "10.0.0.0/24"}
        servers = {"dnsNameservers": ["192.0.2.1"]}
        for version, expected in (
            ("0.10.1", {"internalNetwork": node_cidr, **servers}),
            ("0.16.0", {"internalNetwork": {**node_cidr, **servers}}),
            ("0.27.0", {"internalNetwork": {**node_cidr, **servers}}),
        ):
            cluster = specs.cluster(
                network=network, chart=specs.chart(version)
            )
            self.assertEqual(
                expected,
                networking.TOPIC.cluster(cluster)["clusterNetworking"],
                version,
            )

    def test_a_chart_that_loses_name_servers_is_refused(self) -> None:
        servers = ("192.0.2.1", "192.0.2.2")
        made = cluster_spec.Network(dns_nameservers=servers)
        given = cluster_spec.Network(fixed_id="net", dns_nameservers=servers)
        for version in ("0.11.0", "0.15.0"):
            chart = specs.chart(version)
            networking.TOPIC.check(specs.cluster(network=given, chart=chart))
            error = self.assertRaises(
                errors.InvalidInput,
                networking.TOPIC.check,
                specs.cluster(network=made, chart=chart),
            )
            self.assertEqual(
                "dns_nameserver: give it with a chart version that applies "
                "it. It is 192.0.2.1,192.0.2.2; charts up to 0.10.1, 0.16.0 "
                f"and later do, and this is {version}",
                str(error),
            )

    def test_addresses_inside_of_the_cluster(self) -> None:
        cluster = specs.cluster(
            {
                "calico_ipv4pool": "10.100.0.0/16",
                "service_cluster_ip_range": "10.254.0.0/16",
                "dns_cluster_domain": "k8s.example.org",
            }
        )
        self.assertEqual(
            {
                "pods": {"cidrBlocks": ["10.100.0.0/16"]},
                "services": {"cidrBlocks": ["10.254.0.0/16"]},
                "serviceDomain": "k8s.example.org",
            },
            networking.TOPIC.cluster(cluster)["kubeNetwork"],
        )

    def test_dual_stack_switches_ipv6_of_cilium_on(self) -> None:
        cluster = specs.cluster(
            {
                "pods_cidr": "10.100.0.0/16, fd00:1::/56",
                "service_cluster_ip_range": "10.254.0.0/16 fd00:2::/112",
            },
            cni="cilium",
            network=cluster_spec.Network(
                fixed_id="net", subnet_cidrs=("10.1.0.0/24", "fd00:3::/64")
            ),
        )
        networking.TOPIC.check(cluster)
        found = networking.TOPIC.cluster(cluster)
        self.assertEqual(
            {
                "pods": {"cidrBlocks": ["10.100.0.0/16", "fd00:1::/56"]},
                "services": {"cidrBlocks": ["10.254.0.0/16", "fd00:2::/112"]},
            },
            found["kubeNetwork"],
        )
        self.assertEqual(
            {
                "type": "cilium",
                "cilium": {"release": {"values": {"ipv6": {"enabled": True}}}},
            },
            found["addons"]["cni"],
        )

    def test_extra_networks_follow_the_port_in_the_own_network(self) -> None:
        uuid = "8a1b2c3d-0000-4000-8000-000000000001"
        group = specs.group({"extra_network_names": f"storage {uuid}"})
        self.assertEqual(
            {
                "machineNetworking": {
                    "ports": [
                        {},
                        {"network": {"name": "storage"}},
                        {"network": {"id": uuid}},
                    ]
                }
            },
            networking.TOPIC.group(specs.cluster(), group),
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
            chart = specs.chart(version)
            try:
                values.checked(specs.cluster(given, chart=chart))
            except errors.LabelError:
                self.assertTrue(refused, version)
            else:
                self.assertFalse(refused, version)

    def test_cni_is_the_one_of_the_spec(self) -> None:
        found = networking.TOPIC.cluster(specs.cluster(cni="cilium"))
        self.assertEqual({"cni": {"type": "cilium"}}, found["addons"])


class LoadBalancersTest(base.BaseTestCase):
    def test_algorithm_fits_the_provider_unless_it_is_chosen(self) -> None:
        chosen = {"octavia_lb_algorithm": "LEAST_CONNECTIONS"}
        rows: list[tuple[dict[str, str], str, str]] = [
            ({}, "amphora", "ROUND_ROBIN"),
            ({"octavia_provider": "ovn"}, "ovn", "SOURCE_IP_PORT"),
            (chosen, "amphora", "LEAST_CONNECTIONS"),
        ]
        for given, provider, method in rows:
            section = {
                "lb-provider": provider,
                "lb-method": method,
                "create-monitor": True,
            }
            config = {"cloudConfig": {"LoadBalancer": section}}
            self.assertEqual(
                {"addons": {"openstack": config}},
                api_server.LOAD_BALANCERS.cluster(specs.cluster(given)),
            )

    def test_algorithms_that_the_provider_lacks_are_refused(self) -> None:
        for provider, algorithm, words in (
            ("ovn", "ROUND_ROBIN", "SOURCE_IP_PORT or nothing"),
            (
                "amphora",
                "SOURCE_IP_PORT",
                "ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP",
            ),
        ):
            error = self.assertRaises(
                errors.LabelError,
                api_server.LOAD_BALANCERS.check,
                specs.cluster(
                    {
                        "octavia_provider": provider,
                        "octavia_lb_algorithm": algorithm,
                    }
                ),
            )
            self.assertEqual(
                f"label octavia_lb_algorithm: give {words} with "
                f"octavia_provider={provider}. It is {algorithm!r}",
                str(error),
            )

    def test_other_providers_say_themselves_what_they_know(self) -> None:
        given = {"octavia_lb_algorithm": "SOURCE_IP_PORT"}
        for provider in ("ovn", "f5"):
            api_server.LOAD_BALANCERS.check(
                specs.cluster({**given, "octavia_provider": provider})
            )
