# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Networks, the Kubernetes API and load balancers: whole values."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import spec
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import load_balancing
from magnum_capi_helm.features import networking
from magnum_capi_helm.tests.unit.features import specs


class NetworksTest(base.BaseTestCase):
    def _networking(
        self, network: spec.Network, given: dict[str, str] | None = None
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
                spec.Network(
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
                spec.Network(fixed_id="net", dns_nameservers=servers),
                {"networkFilter": {"id": "net"}},
            ),
            (
                spec.Network(fixed_subnet_id="sub", dns_nameservers=servers),
                {"subnetFilter": {"id": "sub"}},
            ),
            (
                spec.Network(fixed_id="net", fixed_subnet_id="sub"),
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

    def test_extra_networks_follow_the_port_in_the_own_network(self) -> None:
        cluster = specs.cluster({"extra_network_names": "storage backup"})
        self.assertEqual(
            {
                "machineNetworking": {
                    "ports": [
                        {},
                        {"network": {"name": "storage"}},
                        {"network": {"name": "backup"}},
                    ]
                }
            },
            networking.TOPIC.cluster(cluster)["nodeGroupDefaults"],
        )

    def test_cni_is_the_one_of_the_spec(self) -> None:
        values = networking.TOPIC.cluster(specs.cluster(cni="cilium"))
        self.assertEqual({"cni": {"type": "cilium"}}, values["addons"])


class ApiServerTest(base.BaseTestCase):
    def test_defaults(self) -> None:
        self.assertEqual(
            {
                "apiServer": {
                    "enableLoadBalancer": True,
                    "loadBalancerProvider": "amphora",
                    "associateFloatingIP": True,
                }
            },
            api_server.TOPIC.cluster(specs.cluster()),
        )

    def test_allow_list_is_sent_in_both_spellings_of_the_charts(self) -> None:
        cluster = specs.cluster(
            {
                "api_master_lb_allowed_cidrs": "192.0.2.0/24, 198.51.100.7/32",
                "master_lb_floating_ip_enabled": "no",
                "octavia_provider": "ovn",
            }
        )
        networks = ["192.0.2.0/24", "198.51.100.7/32"]
        self.assertEqual(
            {
                "apiServer": {
                    "enableLoadBalancer": True,
                    "loadBalancerProvider": "ovn",
                    "associateFloatingIP": False,
                    "allowedCidrs": networks,
                    "allowedCIDRs": networks,
                }
            },
            api_server.TOPIC.cluster(cluster),
        )


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
                load_balancing.TOPIC.cluster(specs.cluster(given)),
            )
