# SPDX-License-Identifier: Apache-2.0

"""The values that 1.4.0 makes, by template, labels, options and rows."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import predecessor
from magnum_capi_helm.tests.unit.swap import subjects

#: Labels of the template, of the cluster, and options of labels -> what the
#: values say at a path.
LABELS: dict[
    str, tuple[dict[str, str], dict[str, str], dict[str, Any], str, Any]
] = {
    "the default": ({}, {}, {}, "apiServer.loadBalancerProvider", "amphora"),
    "the option is a default": (
        {},
        {},
        {"octavia_provider": "ovn"},
        "apiServer.loadBalancerProvider",
        "ovn",
    ),
    "the template beats the option": (
        {"octavia_provider": "amphora"},
        {},
        {"octavia_provider": "ovn"},
        "apiServer.loadBalancerProvider",
        "amphora",
    ),
    "the cluster beats the template": (
        {"octavia_provider": "amphora"},
        {"octavia_provider": "ovn"},
        {},
        "apiServer.loadBalancerProvider",
        "ovn",
    ),
    "characters that it does not like are taken out": (
        {"octavia_provider": "o{v}n;"},
        {},
        {},
        "apiServer.loadBalancerProvider",
        "ovn",
    ),
    "the algorithm follows the provider": (
        {"octavia_provider": "ovn"},
        {},
        {},
        "addons.openstack.cloudConfig.LoadBalancer.lb-method",
        "SOURCE_IP_PORT",
    ),
    "a switch in many words": (
        {"monitoring_enabled": "Yes"},
        {},
        {},
        "addons.monitoring.enabled",
        True,
    ),
    "what is no switch is the default": (
        {"monitoring_enabled": "maybe"},
        {},
        {"monitoring_enabled": True},
        "addons.monitoring.enabled",
        True,
    ),
    "what is no number is the default": (
        {"boot_volume_size": "large"},
        {},
        {"boot_volume_size": 40},
        "controlPlane.machineRootVolume.diskSize",
        40,
    ),
    "Magnum's own default of the boot volume": (
        {},
        {},
        {"boot_volume_size": None},
        "nodeGroupDefaults.machineRootVolume.diskSize",
        7,
    ),
    "no etcd volume": ({}, {}, {"etcd_blockdevice_size": 0}, "etcd", {}),
    "the old name of the etcd volume": (
        {"etcd_volume_size": "10", "etcd_volume_type": "ssd"},
        {},
        {},
        "etcd.blockDevice",
        {
            "size": 10,
            "type": "Volume",
            "volumeType": "ssd",
            "availabilityZone": "",
        },
    ),
    "a local etcd disk": (
        {"etcd_blockdevice_size": "10", "etcd_blockdevice_type": "local"},
        {},
        {},
        "etcd.blockDevice",
        {"size": 10, "type": "Local"},
    ),
    "extra networks, with security groups that are none": (
        {"extra_network_names": "a b"},
        {},
        {},
        "nodeGroupDefaults.machineNetworking.ports",
        [
            {},
            {"network": {"name": "a"}, "securityGroups": []},
            {"network": {"name": "b"}, "securityGroups": []},
        ],
    ),
    "the allow list, under the key of chart 0.10.1": (
        {"api_master_lb_allowed_cidrs": "192.0.2.0/24, 198.51.100.0/24"},
        {},
        {},
        "apiServer.allowedCidrs",
        ["192.0.2.0/24", "198.51.100.0/24"],
    ),
    "the operator's allow list": (
        {},
        {},
        {"api_master_lb_allowed_cidrs": ("192.0.2.0/24", "192.0.3.0/24")},
        "apiServer.allowedCidrs",
        ["192.0.2.0/24", "192.0.3.0/24"],
    ),
    "whatever the network driver is": (
        {},
        {},
        {},
        "addons.cni.type",
        "calico",
    ),
    "Keystone": (
        {"keystone_auth_enabled": "true"},
        {},
        {},
        "authWebhook",
        "k8s-keystone-auth",
    ),
}

#: Labels of the template, the option, the chart at a path -> the version.
CHARTS: dict[str, tuple[dict[str, str], str, str, str]] = {
    "its own default": ({}, "", "", "0.10.1"),
    "the option": ({}, "0.16.0", "", "0.16.0"),
    "the template": (
        {"capi_helm_chart_version": "0.27.0"},
        "0.16.0",
        "",
        "0.27.0",
    ),
    "a path has what is there": (
        {"capi_helm_chart_version": "0.27.0"},
        "0.16.0",
        "0.26.1",
        "0.26.1",
    ),
}

#: A worker group's row, and the cluster's labels -> its bounds, or why 1.4.0
#: refuses everything.
BOUNDS: dict[
    str, tuple[evidence.Group, dict[str, str], tuple[int, int] | str]
] = {
    "not set: the count": (
        dataclasses.replace(subjects.GPU, count=3, minimum=None),
        {},
        (3, 3),
    ),
    "set": (
        dataclasses.replace(subjects.GPU, count=3, maximum=5),
        {},
        (1, 5),
    ),
    "a minimum of 1 of the default group is none": (
        dataclasses.replace(subjects.WORKER, count=3, maximum=5),
        {},
        (3, 5),
    ),
    "labels are the default group's": (
        dataclasses.replace(subjects.WORKER, count=3, maximum=5),
        {"min_node_count": "2", "max_node_count": "9"},
        (2, 9),
    ),
    "labels are nobody else's": (
        dataclasses.replace(subjects.GPU, count=3, maximum=5),
        {"min_node_count": "2", "max_node_count": "9"},
        (1, 5),
    ),
    "a minimum of 0": (
        dataclasses.replace(subjects.GPU, count=3, minimum=0),
        {},
        "nodegroup gpu has a minimum below 1",
    ),
    "fewer nodes than the minimum": (
        dataclasses.replace(subjects.GPU, count=3, minimum=4),
        {},
        "nodegroup gpu has fewer nodes (3) than its minimum (4)",
    ),
    "a maximum below the minimum": (
        dataclasses.replace(subjects.GPU, count=3, minimum=3, maximum=2),
        {},
        "nodegroup gpu has a maximum (2) below its minimum (3)",
    ),
}


class PredecessorTest(base.BaseTestCase):
    def values(
        self, options: evidence.Options = subjects.OPTIONS, **changed: Any
    ) -> dict[str, Any]:
        """What it sends of the cluster, with something else."""
        return predecessor.values(
            subjects.subject(**changed), subjects.IMAGE, options
        )

    def test_labels_and_options(self) -> None:
        for name, (template, own, options, path, expected) in LABELS.items():
            with self.subTest(name):
                found: Any = self.values(
                    evidence.Options(labels=options, boot_volume_size=7),
                    template={"labels": template},
                    labels=own,
                )
                for key in path.split("."):
                    found = found[key]
                self.assertEqual(expected, found)

    def test_chart(self) -> None:
        for name, (template, option, at_path, expected) in CHARTS.items():
            with self.subTest(name):
                found = predecessor.chart(
                    dataclasses.replace(subjects.TEMPLATE, labels=template),
                    evidence.Options(chart=option, chart_at_path=at_path),
                )
                self.assertEqual(expected, found)

    def test_bounds(self) -> None:
        scaled = {"auto_scaling_enabled": "true"}
        for name, (group, own, expected) in BOUNDS.items():
            with self.subTest(name):
                if isinstance(expected, str):
                    error = self.assertRaises(
                        predecessor.Refusal,
                        self.values,
                        groups=(subjects.MASTER, group),
                        labels=scaled | own,
                    )
                    self.assertEqual(expected, str(error))
                    continue
                (item,) = self.values(
                    groups=(subjects.MASTER, group), labels=scaled | own
                )["nodeGroups"]
                least, most = expected
                bounds = (
                    item.get("machineCountMin", least),
                    item.get("machineCountMax", most),
                )
                self.assertEqual(expected, bounds)
                self.assertEqual(least != most, "autoscale" in item)

    def test_rows_of_every_kind_become_groups_with_its_names(self) -> None:
        leaving = dataclasses.replace(subjects.GPU, name="GPU_1", leaving=True)
        groups = (subjects.MASTER, subjects.WORKER, leaving)
        self.assertEqual(
            [
                {
                    "name": "default-worker",
                    "machineFlavor": "m1.w",
                    "machineCount": 2,
                },
                {
                    "name": "gpu-1",
                    "machineFlavor": "m1.gpu",
                    "machineCount": 1,
                },
            ],
            self.values(groups=groups)["nodeGroups"],
        )
