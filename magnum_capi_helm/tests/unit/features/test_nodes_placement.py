# SPDX-License-Identifier: Apache-2.0

"""Zones and server groups: the whole values of each case."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.features import nodes
from magnum_capi_helm.tests.unit.features import specs

MANY = {"control_plane_availability_zones": "az1, az2,az1"}
ONE = {"availability_zone": "az3"}


class ZonesTest(base.BaseTestCase):
    def test_without_a_label_nova_chooses(self) -> None:
        cluster = specs.cluster()
        self.assertEqual({}, nodes.PLACEMENT.cluster(cluster))
        self.assertEqual(
            {}, nodes.PLACEMENT.group(cluster, cluster.node_groups[0])
        )

    def test_machines_of_a_group_are_in_its_zone(self) -> None:
        self.assertEqual(
            {"failureDomain": "az3"},
            nodes.PLACEMENT.group(specs.cluster(), specs.group(ONE)),
        )

    def test_the_control_plane_follows_the_zone_of_the_cluster(self) -> None:
        self.assertEqual(
            {
                "controlPlane": {
                    "omitFailureDomain": False,
                    "failureDomains": ["az3"],
                }
            },
            nodes.PLACEMENT.cluster(specs.cluster(ONE)),
        )

    def test_the_control_plane_is_spread_over_its_own_zones(self) -> None:
        self.assertEqual(
            {
                "controlPlane": {
                    "omitFailureDomain": False,
                    "failureDomains": ["az1", "az2"],
                }
            },
            nodes.PLACEMENT.cluster(specs.cluster({**ONE, **MANY})),
        )


class ServerGroupsTest(base.BaseTestCase):
    def test_only_groups_with_a_policy_need_one(self) -> None:
        self.assertEqual(
            {"a": "soft-anti-affinity"},
            nodes.server_groups(
                (
                    specs.group(
                        {"server_group_policies": "soft-anti-affinity"},
                        name="a",
                    ),
                    specs.group({"server_group_policies": ""}, name="b"),
                    specs.group(name="c"),
                )
            ),
        )

    def test_machines_are_in_the_server_group_of_their_group(self) -> None:
        master = specs.group(name="control-plane", server_group_id="sg-1")
        cluster = specs.cluster(
            control_plane=master,
            node_groups=(specs.group(server_group_id="sg-2"),),
        )
        self.assertEqual(
            {"controlPlane": {"serverGroupId": "sg-1"}},
            nodes.PLACEMENT.cluster(cluster),
        )
        self.assertEqual(
            {"serverGroupId": "sg-2"},
            nodes.PLACEMENT.group(cluster, cluster.node_groups[0]),
        )
