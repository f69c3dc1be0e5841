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
"""Machines and the autoscaler: the whole values of each case."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm import spec
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import nodes
from magnum_capi_helm.tests.unit.features import specs

IMAGE_ID = specs.IMAGE.id
ON = {"auto_scaling_enabled": "true"}


class ClusterTest(base.BaseTestCase):
    def test_control_plane_has_flavor_image_version_and_count(self) -> None:
        self.assertEqual(
            {
                "kubernetesVersion": "1.34.2",
                "machineImageId": IMAGE_ID,
                "osDistro": "ubuntu",
                "controlPlane": {
                    "machineFlavor": "m1.large",
                    "machineImageId": IMAGE_ID,
                    "kubernetesVersion": "1.34.2",
                    "machineCount": 3,
                },
            },
            nodes.TOPIC.cluster(specs.cluster()),
        )

    def test_keypair_goes_to_every_machine(self) -> None:
        values = nodes.TOPIC.cluster(specs.cluster(keypair="mine"))
        self.assertEqual("mine", values["machineSSHKeyName"])

    def test_boot_volume_of_a_group(self) -> None:
        for disk, wanted in (
            (spec.Disk(30, "fast"), {"diskSize": 30, "volumeType": "fast"}),
            # Without a type it is Cinder's default one.
            (spec.Disk(30), {"diskSize": 30}),
            # Without a size machines boot from the flavor's own disk.
            (spec.Disk(0, "fast"), None),
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


class GroupTest(base.BaseTestCase):
    def test_each_group_has_an_image_and_a_version_of_its_own(self) -> None:
        image = dataclasses.replace(
            specs.IMAGE, id="older", kube_version="1.33.6"
        )
        self.assertEqual(
            {
                "name": "gpu",
                "machineFlavor": "g1.large",
                "machineImageId": "older",
                "kubernetesVersion": "1.33.6",
                "machineCount": 0,
            },
            nodes.TOPIC.group(
                specs.cluster(),
                spec.NodeGroup("gpu", "g1.large", 0, image),
            ),
        )


class AutoscalingTest(base.BaseTestCase):
    def test_a_scaled_group_has_bounds_and_no_count(self) -> None:
        group = specs.group(minimum=1, maximum=5)
        cluster = specs.cluster(ON)
        self.assertEqual(
            {"autoscale": True, "machineCountMin": 1, "machineCountMax": 5},
            autoscaling.TOPIC.group(cluster, group),
        )
        self.assertNotIn("machineCount", nodes.TOPIC.group(cluster, group))

    def test_a_group_that_is_not_scaled_keeps_its_count(self) -> None:
        off: dict[str, str] = {}
        rows = {
            "label off": (off, specs.group(minimum=1, maximum=5)),
            "no maximum": (ON, specs.group(minimum=1)),
            "min is max": (ON, specs.group(minimum=2, maximum=2)),
        }
        found = {}
        for what, (given, group) in rows.items():
            cluster = specs.cluster(given)
            found[what] = (
                autoscaling.TOPIC.group(cluster, group),
                nodes.TOPIC.group(cluster, group)["machineCount"],
            )
        self.assertEqual(dict.fromkeys(rows, ({}, 2)), found)
