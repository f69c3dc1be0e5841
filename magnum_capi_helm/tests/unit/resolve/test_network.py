# SPDX-License-Identifier: Apache-2.0

"""The networks of a cluster, looked up in Neutron."""

from __future__ import annotations

import types
from typing import Any
import uuid

from oslotest import base as oslotest_base

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import network
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.features import specs
from magnum_capi_helm.tests.unit.lifecycle import base

_FIELDS = (
    "external_network_id",
    "fixed_network",
    "fixed_subnet",
    "dns_nameserver",
)


class NetworkTestCase(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.openstack = base.configure(self)
        self.cloud = catalogue.Cloud(openstack.session())

    def subnet(self, name: str, network_id: str, cidr: str) -> None:
        """One more subnet; its name is its id as well."""
        self.openstack.subnets[name] = name
        self.openstack.details[name] = {
            "network_id": network_id,
            "cidr": cidr,
        }

    def network(
        self, cluster: dict[str, str] | None = None, **template: str
    ) -> cluster_spec.Network:
        none = dict.fromkeys(_FIELDS)
        row: Any = types.SimpleNamespace(
            **{**none, **(cluster or {})},
            cluster_template=types.SimpleNamespace(**{**none, **template}),
        )
        return network.network(row, self.cloud)

    def refusal(self, **template: str) -> str:
        error = self.assertRaises(
            errors.InvalidInput, self.network, **template
        )
        return str(error)

    def asked(self) -> list[str]:
        return [
            request.path.removeprefix("/v2.0/") + f"?{request.query}"
            for request in self.openstack.mocker.request_history
            if request.hostname == "neutron.test"
            and request.path.startswith("/v2.0/")
        ]


class GivenTest(NetworkTestCase):
    def test_an_empty_network_sends_no_request(self) -> None:
        self.assertEqual(cluster_spec.Network(), self.network())
        self.assertEqual([], self.asked())

    def test_a_network_comes_with_the_ranges_of_its_subnets(self) -> None:
        self.subnet("v6", "net-2", "fd00:3::/64")
        self.subnet("elsewhere", "net-9", "192.0.2.0/24")
        self.assertEqual(
            cluster_spec.Network(
                external_id="net-1",
                fixed_id="net-2",
                subnet_cidrs=("192.168.0.0/24", "fd00:3::/64"),
            ),
            self.network(
                external_network_id="public", fixed_network="private"
            ),
        )
        self.assertEqual(
            [
                "networks?name=private",
                "subnets?network_id=net-2",
                "networks?name=public",
            ],
            self.asked(),
        )

    def test_a_subnet_alone_needs_one_question(self) -> None:
        self.subnet("other", "net-2", "192.168.1.0/24")
        self.assertEqual(
            cluster_spec.Network(
                fixed_subnet_id="subnet-2", subnet_cidrs=("192.168.0.0/24",)
            ),
            self.network(fixed_subnet="private-subnet"),
        )
        self.assertEqual(["subnets?name=private-subnet"], self.asked())

    def test_a_uuid_needs_one_question_unless_it_is_a_name(self) -> None:
        ref, name = str(uuid.uuid4()), str(uuid.uuid4())
        self.openstack.networks["by-uuid"] = ref
        self.assertEqual(ref, self.cloud.network(ref))
        self.assertEqual([f"networks/{ref}?"], self.asked())
        self.openstack.networks[name] = "net-9"
        self.assertEqual("net-9", self.cloud.network(name))

    def test_the_cluster_beats_its_template(self) -> None:
        self.subnet("other", "net-1", "192.0.2.0/24")
        found = self.network(
            {"fixed_network": "private", "fixed_subnet": "private-subnet"},
            fixed_network="public",
            fixed_subnet="other",
        )
        ids = (found.fixed_id, found.fixed_subnet_id)
        self.assertEqual(("net-2", "subnet-2"), ids)

    def test_the_external_network_is_chosen_among_equal_names(self) -> None:
        self.openstack.networks["mine"] = "net-3"
        self.openstack.details["net-3"] = {"name": "public"}
        found = self.network(external_network_id="public")
        self.assertEqual("net-1", found.external_id)

    def test_subnets_are_in_the_same_order_each_time(self) -> None:
        self.subnet("a", "net-3", "10.0.0.0/24")
        self.subnet("b", "net-3", "fd00::/64")
        expected = (
            catalogue.Subnet("a", "net-3", "10.0.0.0/24"),
            catalogue.Subnet("b", "net-3", "fd00::/64"),
        )
        self.assertEqual(expected, self.cloud.subnets_of("net-3"))
        turned = reversed(list(self.openstack.subnets.items()))
        self.openstack.subnets = dict(turned)
        self.assertEqual(expected, self.cloud.subnets_of("net-3"))

    def test_name_servers_are_addresses(self) -> None:
        found = self.network(dns_nameserver="192.0.2.1, 2001:db8::1,")
        self.assertEqual(("192.0.2.1", "2001:db8::1"), found.dns_nameservers)

    def test_extra_networks_are_asked_for_once(self) -> None:
        group = specs.parsed({"extra_network_names": "private public"})
        for _ in range(2):
            network.check_extra(group, self.cloud)
        self.assertEqual(
            ["networks?name=private", "networks?name=public"], self.asked()
        )


class RefusedTest(NetworkTestCase):
    """What does not fit together; the message names field and value."""

    def check(self, *rows: tuple[dict[str, str], str]) -> None:
        for template, message in rows:
            self.assertRegex(self.refusal(**template), f"^{message}$")

    def test_networks_that_can_not_be_used(self) -> None:
        self.subnet("v6", "net-2", "fd00:3::/64")
        self.check(
            (
                {"fixed_network": "public", "fixed_subnet": "private-subnet"},
                "fixed_subnet: .* not in fixed_network.* 'private-subnet' .*"
                "net-2; fixed_network is 'public'",
            ),
            (
                {"external_network_id": "private"},
                "external_network_id: .* not external.* 'private'",
            ),
            (
                {"external_network_id": "nowhere"},
                "external_network_id: .* no such network.* 'nowhere'",
            ),
            (
                {"fixed_network": "public"},
                "fixed_network: .* no IPv4 addresses.* 'public'",
            ),
            (
                {"fixed_subnet": "v6"},
                "fixed_subnet: .* no IPv4 addresses.* 'v6'",
            ),
        )

    def test_a_name_of_two(self) -> None:
        details = self.openstack.details
        self.openstack.networks |= {"other": "net-3", "more": "net-4"}
        details["net-3"] = {"name": "private"}
        details["net-4"] = {"name": "public", "router:external": True}
        self.subnet("sub-3", "net-3", "192.0.2.0/24")
        details["sub-3"]["name"] = "private-subnet"
        self.check(
            (
                {"fixed_network": "private"},
                "fixed_network: 2 networks have that name.* 'private'",
            ),
            (
                {"fixed_subnet": "private-subnet"},
                "fixed_subnet: 2 subnets have that name.* 'private-subnet'",
            ),
            (
                {"external_network_id": "public"},
                "external_network_id: 2 networks have that name.*",
            ),
        )

    def test_a_network_with_two_equal_subnets_needs_a_choice(self) -> None:
        self.subnet("other", "net-2", "192.168.1.0/24")
        self.check(
            (
                {"fixed_network": "private"},
                "fixed_network: it has 2 IPv4 subnets.* 'private'",
            )
        )
        chosen = self.network(fixed_network="private", fixed_subnet="other")
        self.assertEqual(("192.168.1.0/24",), chosen.subnet_cidrs)

    def test_an_extra_network_or_group_that_is_not_there(self) -> None:
        self.openstack.workloads.group("web", "")
        for label, text, kind, missing in (
            ("extra_network_names", "private nowhere", "network", "nowhere"),
            ("extra_network_name", "nowhere", "network", "nowhere"),
            ("extra_network_names", "Storage Net", "network", "Storage"),
            ("extra_security_groups", "web db", "security group", "db"),
        ):
            given = (specs.parsed({label: text}), self.cloud)
            error = self.assertRaises(
                errors.InvalidInput, network.check_extra, *given
            )
            self.assertEqual(
                f"label {label} (spaces separate names): there is no such "
                f"{kind}; choose one of `openstack {kind} list`. It is "
                f"'{missing}'",
                str(error),
            )
