# SPDX-License-Identifier: Apache-2.0
"""Machines and the autoscaler: the whole values of each case."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs


class ClusterTest(base.BaseTestCase):
    def test_a_boot_volume_has_its_size_and_type(self) -> None:
        for disk, wanted in (
            (
                cluster_spec.Disk(30, "fast"),
                {"diskSize": 30, "volumeType": "fast"},
            ),
            # Without a type it is Cinder's default one.
            (cluster_spec.Disk(30), {"diskSize": 30}),
            # Without a size machines boot from the flavor's own disk.
            (cluster_spec.Disk(0, "fast"), None),
        ):
            master = specs.group(boot_disk=disk)
            values = nodes.TOPIC.cluster(specs.cluster(control_plane=master))
            self.assertEqual(
                wanted, values["controlPlane"].get("machineRootVolume")
            )
            group = nodes.TOPIC.group(
                specs.cluster(), specs.group(boot_disk=disk)
            )
            self.assertEqual(wanted, group.get("machineRootVolume"))

    def test_a_type_without_a_size_is_refused(self) -> None:
        group = specs.group({"boot_volume_type": "fast"})
        self.assertRegex(
            specs.refusal(
                nodes.TOPIC.check, specs.cluster(node_groups=(group,))
            ),
            "^label boot_volume_type: .*with boot_volume_size, .* 'fast'$",
        )

    def test_a_type_for_the_size_of_the_operator_is_fine(self) -> None:
        group = specs.group(
            {"boot_volume_type": "fast"},
            boot_disk=cluster_spec.Disk(20, "fast"),
        )
        nodes.TOPIC.check(specs.cluster(node_groups=(group,)))


class MetadataTest(base.BaseTestCase):
    def metadata(self, **changes: Any) -> dict[str, str]:
        values = nodes.TOPIC.cluster(specs.cluster(**changes))
        found: dict[str, str] = values["machineMetadata"]
        return found

    def test_servers_say_whose_they_are(self) -> None:
        self.assertEqual(
            {
                "magnum_cluster_uuid": "45f11a8d",
                "magnum_cluster_name": "demo",
                "magnum_template_name": "k8s-1.34",
            },
            self.metadata(uuid="45f11a8d", name="demo", template="k8s-1.34"),
        )

    def test_the_operators_metadata_wins(self) -> None:
        site = cluster_spec.Site(
            metadata=(("billing", "a1"), ("magnum_cluster_name", "hidden"))
        )
        self.assertEqual(
            {
                "magnum_cluster_uuid": "45f11a8d",
                "magnum_cluster_name": "hidden",
                "billing": "a1",
            },
            self.metadata(uuid="45f11a8d", name="demo", site=site),
        )

    def test_a_name_that_nova_does_not_take_is_cut(self) -> None:
        found = self.metadata(uuid="45f11a8d", name="n" * 300)
        self.assertEqual("n" * 255, found["magnum_cluster_name"])

    def test_metadata_that_nova_does_not_take_is_the_operators_fault(
        self,
    ) -> None:
        for key, value in (("k" * 256, "v"), ("k", "v" * 256), ("", "v")):
            site = cluster_spec.Site(metadata=((key, value),))
            with self.assertRaisesRegex(
                errors.NotConfigured, "server_metadata .* 255"
            ):
                nodes.TOPIC.check(specs.cluster(site=site))


class GroupTest(base.BaseTestCase):
    def test_nodes_get_their_labels_and_taints(self) -> None:
        image = dataclasses.replace(
            specs.IMAGE, id="older", kube_version="1.33.6"
        )
        group = specs.group(
            image=image,
            magnum_name="GPU nodes (new)",
            role="ml/worker",
            node_labels=(("disk", "ssd"), ("example.org/team", "a")),
            taints=(
                cluster_spec.Taint("gpu", "NoSchedule", "yes"),
                cluster_spec.Taint("slow", "NoExecute"),
            ),
        )
        taints = [
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "slow", "effect": "NoExecute"},
        ]
        registration = {"nodeRegistration": {"taints": taints}}
        self.assertEqual(
            {
                "name": "default-worker",
                "machineFlavor": "m1.small",
                "machineImageId": "older",
                "kubernetesVersion": "1.33.6",
                "machineCount": 2,
                "nodeLabels": {
                    "magnum.openstack.org/role": "ml-worker",
                    "magnum.openstack.org/nodegroup": "GPU-nodes-new",
                    "disk": "ssd",
                    "example.org/team": "a",
                },
                "kubeadmConfigSpec": {"joinConfiguration": registration},
            },
            nodes.TOPIC.group(specs.cluster(), group),
        )


class JoinTest(base.BaseTestCase):
    """Workers whose image is another one than the control plane's."""

    def _cluster(self, **image: Any) -> cluster_spec.Cluster:
        other = dataclasses.replace(specs.IMAGE, name="other", **image)
        return specs.cluster(node_groups=(specs.group(image=other),))

    def test_a_cluster_has_one_distribution(self) -> None:
        self.assertRegex(
            specs.refusal(
                nodes.TOPIC.check, self._cluster(os_distro="flatcar")
            ),
            "^image_id: .* one os_distro. .*'other' has flatcar,.* ubuntu$",
        )

    def test_workers_have_the_minor_version_of_the_control_plane(self) -> None:
        for version in ("1.34.9", "1.34.0", "1.34.0-rc.1", ""):
            nodes.TOPIC.check(self._cluster(kube_version=version))
        for version in ("1.35.0", "1.33.9", "1.35.0-rc.1"):
            self.assertRegex(
                specs.refusal(
                    nodes.TOPIC.check, self._cluster(kube_version=version)
                ),
                f"^image_id: .* Image 'other' has {version}, and the "
                "control plane has 1.34.2$",
            )


DISK = cluster_spec.Disk(50, "fast")


class DisksTest(base.BaseTestCase):
    def test_the_machines_of_other_groups_stay_as_they_are(self) -> None:
        # What is in the defaults would roll all groups.
        plain = values.build(specs.cluster())
        mixed = values.build(
            specs.cluster(
                node_groups=(specs.group(), specs.group(container_disk=DISK))
            )
        )
        self.assertEqual(
            plain["nodeGroupDefaults"], mixed["nodeGroupDefaults"]
        )
        self.assertEqual(plain["nodeGroups"][0], mixed["nodeGroups"][0])

    def test_further_volumes_are_beside_it(self) -> None:
        given = {
            "extra_volumes": "data:100, logs:20:very:fast",
            "boot_volume_availability_zone": "ssd-zone",
        }
        group = specs.group(given, container_disk=cluster_spec.Disk(50))
        volume = {"type": "Volume", "availabilityZone": "ssd-zone"}
        cluster = specs.cluster(given)
        self.assertEqual(
            {
                "containers": {**volume, "size": 50},
                "data": {**volume, "size": 100},
                "logs": {**volume, "size": 20, "volumeType": "very:fast"},
            },
            values.node_group(cluster, group)["additionalBlockDevices"],
        )
        control_plane = values.build(cluster)["controlPlane"]
        self.assertNotIn("additionalBlockDevices", control_plane)

    def refused(self, group: cluster_spec.NodeGroup) -> str:
        cluster = specs.cluster(node_groups=(group,))
        return specs.refusal(nodes.CONTAINER_STORAGE.check, cluster)

    def test_flatcar_can_not_find_it(self) -> None:
        image = dataclasses.replace(specs.IMAGE, os_distro="flatcar")
        text = self.refused(specs.group(image=image, container_disk=DISK))
        self.assertIn("docker_volume_size=50", text)
        self.assertIn("flatcar", text)


ONE = {"availability_zone": "az3"}


class PlacementTest(base.BaseTestCase):
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
