# SPDX-License-Identifier: Apache-2.0

"""Types of labels and options that hold networks."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.model import label_types
from magnum_capi_helm.tests.unit import type_case

NETWORK = label_types.IPv4Network()
SMALL = label_types.IPv4Network(label_types.Sizes(24, 28))
NETWORKS = label_types.IPv4Networks()
CLUSTER = label_types.ClusterNetworks(
    label_types.Sizes(8, 24), label_types.Sizes(48, 64)
)
DOMAIN = label_types.DOMAIN

ACCEPTED: list[tuple[Any, Any, Any]] = [
    (NETWORK, "10.0.0.0/24", "10.0.0.0/24"),
    (NETWORK, " 10.0.0.0/255.255.255.0 ", "10.0.0.0/24"),
    (NETWORK, "192.0.2.7", "192.0.2.7/32"),
    (SMALL, "10.0.0.0/24", "10.0.0.0/24"),
    (SMALL, "10.0.0.0/28", "10.0.0.0/28"),
    (NETWORKS, "", ()),
    (
        NETWORKS,
        "192.0.2.0/24, 198.51.100.0/25,",
        ("192.0.2.0/24", "198.51.100.0/25"),
    ),
    (NETWORKS, ("192.0.2.0/24",), ("192.0.2.0/24",)),
    (CLUSTER, "10.100.0.0/16", ("10.100.0.0/16",)),
    (CLUSTER, " 10.0.0.0/8 ", ("10.0.0.0/8",)),
    (CLUSTER, "10.0.0.0/24,fd00::/48", ("10.0.0.0/24", "fd00::/48")),
    (CLUSTER, "10.0.0.0/24 fd00:0::/64", ("10.0.0.0/24", "fd00::/64")),
    (CLUSTER, "10.0.0.0/24, fd00::/64", ("10.0.0.0/24", "fd00::/64")),
    (CLUSTER, ("10.0.0.0/24",), ("10.0.0.0/24",)),
    (DOMAIN, "cluster.local", "cluster.local"),
    (DOMAIN, "k8s-1", "k8s-1"),
    (DOMAIN, "a." * 126 + "a", "a." * 126 + "a"),
]

REFUSED: list[tuple[Any, Any]] = [
    (NETWORK, "10.0.0.1/24"),
    (NETWORK, "10.0.0.0/33"),
    (NETWORK, "0.0.0.0/8"),
    (NETWORK, "127.0.0.0/24"),
    (NETWORK, "169.0.0.0/8"),
    (NETWORK, "224.0.0.0/24"),
    (NETWORK, "fd00::/64"),
    (NETWORK, ""),
    (SMALL, "10.0.0.0/23"),
    (SMALL, "10.0.0.0/29"),
    (NETWORKS, "192.0.2.0/24 198.51.100.0/25"),
    (NETWORKS, "192.0.2.0/24,::/0"),
    (CLUSTER, ""),
    (CLUSTER, "10.0.0.1/24"),
    (CLUSTER, "10.0.0.0/25"),
    (CLUSTER, "8.0.0.0/7"),
    (CLUSTER, "fd00::/64"),
    (CLUSTER, "fd00::/64,10.0.0.0/24"),
    (CLUSTER, "10.0.0.0/24,10.1.0.0/24"),
    (CLUSTER, "10.0.0.0/24,fd00::/47"),
    (CLUSTER, "10.0.0.0/24,fd00::/65"),
    (CLUSTER, "10.0.0.0/24,fd00::/64,fd01::/64"),
    (CLUSTER, "10.0.0.0/24,,"),
    (CLUSTER, "0.0.0.0/8"),
    (CLUSTER, "127.0.0.0/16"),
    (CLUSTER, "169.254.0.0/16"),
    (CLUSTER, "224.0.0.0/16"),
    (CLUSTER, "10.0.0.0/24,fe80::/64"),
    (CLUSTER, "10.0.0.0/24,fd00::%eth0/64"),
    (CLUSTER, "10.0.0.0/24,fd00::%{{x}}/64"),
    (CLUSTER, ("10.0.0.0/24", "fd00::%{{ x }} $(y)/64")),
    (DOMAIN, ""),
    (DOMAIN, "Cluster.local"),
    (DOMAIN, "cluster.local."),
    (DOMAIN, "cluster.local\n"),
    (DOMAIN, "-a.local"),
    (DOMAIN, "a" * 64),
    (DOMAIN, "a." * 127 + "a"),
]


class NetworkTypesTest(type_case.TypeTestCase):
    accepted = ACCEPTED
    refused = REFUSED

    def test_each_has_a_name_for_the_sample_configuration(self) -> None:
        self.assertEqual(
            ["IPv4 network", "list of IPv4 networks", "networks", "domain"],
            [each.type_name for each in (NETWORK, NETWORKS, CLUSTER, DOMAIN)],
        )

    def test_sizes_read_as_prefixes(self) -> None:
        self.assertEqual("/8 to /24", str(label_types.Sizes(8, 24)))
