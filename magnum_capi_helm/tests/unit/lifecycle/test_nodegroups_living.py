# SPDX-License-Identifier: Apache-2.0

"""Nodegroups of clusters that today's options would make otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base


@dataclasses.dataclass(frozen=True)
class Case:
    """A cluster, and what the operator says once it is there.

    :param options: (group, option, value)
    """

    template: dict[str, Any] = dataclasses.field(default_factory=dict)
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)
    options: tuple[tuple[str, str, Any], ...] = ()


DUAL_STACK = Case(
    template={"network_driver": "cilium"},
    fields={
        "fixed_network": "backend",
        "labels": {
            "pods_cidr": "10.100.0.0/16,fd00:100::/56",
            "service_cluster_ip_range": "10.254.0.0/16,fd00:254::/112",
        },
    },
)
#: Where a network of the driver's own would be.
PODS_BESIDE_A_GIVEN_NETWORK = Case(
    fields={
        "fixed_network": "backend",
        "labels": {"pods_cidr": "10.0.0.0/16"},
    },
)
OTHER_PODS_BY_NOW = Case(
    options=(("capi_helm_cluster_labels", "pods_cidr", ("10.0.0.0/16",)),),
)
NO_LOAD_BALANCER_BY_NOW = Case(
    fields={
        "master_lb_enabled": False,
        "labels": {"api_master_lb_allowed_cidrs": "192.0.2.0/24"},
    },
    options=(("capi_helm", "api_load_balancer", "requested"),),
)


class LivingTest(base.FlowTestCase):
    """A group is checked beside what its cluster has."""

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """With a network of both IP versions."""
        return dataclasses.replace(
            super().catalogue(session),
            networks={"public": "net-1", "backend": "net-2"},
            subnets={
                "four": catalogue.Subnet("four", "net-2", "192.168.0.0/24"),
                "six": catalogue.Subnet("six", "net-2", "fd00:3::/64"),
            },
        )

    def grown(self, case: Case) -> tuple[str, str]:
        """Status of such a cluster and of a group that is added to it."""
        self.created(case.template, **case.fields)
        for group, option, value in case.options:
            conf.CONF.set_override(option, value, group)
        self.add("gpu")
        self.capi.settle()
        self.poll()
        return self.row().status, self.groups()["gpu"].status

    def test_a_dual_stack_cluster_gets_a_group(self) -> None:
        self.assertEqual(COMPLETE, self.grown(DUAL_STACK))

    def test_pods_have_what_nodes_of_a_given_network_leave(self) -> None:
        self.assertEqual(COMPLETE, self.grown(PODS_BESIDE_A_GIVEN_NETWORK))

    def test_a_later_range_of_pods_is_not_its_own(self) -> None:
        self.assertEqual(COMPLETE, self.grown(OTHER_PODS_BY_NOW))

    def test_its_load_balancer_is_there_whatever_is_the_rule(self) -> None:
        self.assertEqual(COMPLETE, self.grown(NO_LOAD_BALANCER_BY_NOW))


COMPLETE = ("UPDATE_COMPLETE", "CREATE_COMPLETE")
