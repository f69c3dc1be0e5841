# SPDX-License-Identifier: Apache-2.0

"""The quota that a cluster, a group, or its growth needs."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.unit.features import specs

FLAVORS = {
    "m1.large": cluster_spec.Flavor("m1.large", vcpus=4, ram=8192, disk=20),
    "m1.small": cluster_spec.Flavor("m1.small", vcpus=2, ram=4096, disk=20),
}


def sized(group: cluster_spec.NodeGroup) -> cluster_spec.NodeGroup:
    """Return a group whose flavor was looked up."""
    return dataclasses.replace(group, machine=FLAVORS[group.flavor])


def demand(cluster: cluster_spec.Cluster) -> quota_demand.Demand:
    """Return the demand of a cluster whose flavors were looked up."""
    groups = tuple(map(sized, cluster.node_groups))
    plane = sized(cluster.control_plane)
    return quota_demand.of_cluster(
        dataclasses.replace(cluster, control_plane=plane, node_groups=groups)
    )


class DemandTest(base.BaseTestCase):
    """Three machines of a control plane and two workers, and one more."""

    def needed(
        self, given: dict[str, str] | None = None, **changes: Any
    ) -> quota_demand.Demand:
        found = demand(specs.cluster(given, **changes))
        return {name: amount for name, amount in found.items() if amount}

    def test_the_smallest_cluster_has_this_demand(self) -> None:
        self.assertEqual(
            {
                "instances": 3 + 1 + 2,
                "cores": 4 * 4 + 2 * 2,
                "ram": 4 * 8192 + 2 * 4096,
                "port": 6 + 2,
                "floatingip": 1,
                "load_balancer": 1,
                "security_group": 2,
                "network": 1,
                "subnet": 1,
                "router": 1,
            },
            self.needed(),
        )

    def test_fields_and_labels_of_a_cluster_change_its_demand(self) -> None:
        there = {"network": cluster_spec.Network(fixed_id="net-2")}
        api = cluster_spec.ApiServer(load_balancer=False, floating_ip=False)
        etcd = {
            "etcd_blockdevice_size": "10",
            "etcd_blockdevice_type": "local",
        }
        rows: tuple[tuple[dict[str, str], Any, quota_demand.Demand], ...] = (
            ({}, there, {"port": 7, "network": 0, "subnet": 0, "router": 0}),
            (
                {},
                {"api": api},
                {"load_balancer": 0, "floatingip": 0, "port": 7},
            ),
            (
                {"extra_volumes": "data:100,logs:20:fast"},
                {},
                {"volumes": 2 * 2, "gigabytes": 2 * 120},
            ),
            (etcd, {}, {}),
            (
                {"extra_network_names": "storage backup"},
                {},
                {"port": 4 + 2 * 3 + 2},
            ),
            (
                {"server_group_policies": "anti-affinity"},
                {},
                {"server_groups": 2, "server_group_members": 3},
            ),
        )
        for given, changes, changed in rows:
            expected = {**self.needed(), **changed}
            self.assertEqual(
                {name: amount for name, amount in expected.items() if amount},
                self.needed(given, **changes),
            )

    def test_each_volume_of_each_machine_counts(self) -> None:
        cluster = specs.cluster({"etcd_blockdevice_size": "10"})
        plane = dataclasses.replace(
            cluster.control_plane,
            boot_disk=cluster_spec.Disk(20),
            container_disk=cluster_spec.Disk(50),
        )
        workers = (specs.group(boot_disk=cluster_spec.Disk(30)),)
        found = demand(
            dataclasses.replace(
                cluster, control_plane=plane, node_groups=workers
            )
        )
        self.assertEqual(4 * 3 + 2, found["volumes"])
        self.assertEqual(4 * (20 + 50 + 10) + 2 * 30, found["gigabytes"])

    def test_a_new_group_demands_machines_volumes_and_more(self) -> None:
        group = specs.group(
            {"server_group_policies": "affinity"},
            boot_disk=cluster_spec.Disk(20),
        )
        self.assertEqual(
            {
                "instances": 2,
                "cores": 4,
                "ram": 8192,
                "port": 2,
                "volumes": 2,
                "gigabytes": 40,
                "server_groups": 1,
                "server_group_members": 2,
            },
            quota_demand.of_group(specs.cluster(), sized(group)),
        )

    def test_demands_beyond_the_free_quota_are_shortages(self) -> None:
        quotas = {
            "cores": quota_demand.Quota(20, 16),
            "ram": quota_demand.Quota(-1, 99999),
            "volumes": quota_demand.Quota(10, 8),
            "gigabytes": quota_demand.Quota(10, 12),
            "port": quota_demand.Quota(5, 9),
        }
        needed = {"cores": 12, "ram": 8, "volumes": 2, "port": 1, "x": 7}
        self.assertEqual(
            ["cores: 12 needed, 4 of 20 free", "port: 1 needed, 0 of 5 free"],
            [
                str(each)
                for each in quota_demand.shortages(
                    {**needed, "gigabytes": 0}, quotas
                )
            ],
        )


class GrowthTest(base.BaseTestCase):
    def test_more_workers_demand_their_machines(self) -> None:
        group = specs.group(
            {"server_group_policies": "affinity"},
            boot_disk=cluster_spec.Disk(20),
            count=5,
        )
        self.assertEqual(
            {
                "instances": 3,
                "cores": 6,
                "ram": 3 * 4096,
                "port": 3,
                "volumes": 3,
                "gigabytes": 60,
                "server_group_members": 5,
            },
            quota_demand.of_growth(specs.cluster(), sized(group), 3),
        )

    def test_more_control_planes_demand_volumes_of_etcd(self) -> None:
        cluster = specs.cluster({"etcd_blockdevice_size": "10"})
        found = quota_demand.of_growth(cluster, cluster.control_plane, 2)
        needed = [found[e] for e in ("instances", "volumes", "gigabytes")]
        self.assertEqual([2, 2, 20], needed)
