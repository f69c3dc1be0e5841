# SPDX-License-Identifier: Apache-2.0

"""The volume for containers: the whole values of each case."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

DISK = cluster_spec.Disk(50, "fast")
MACHINE = {
    "additionalBlockDevices": {
        "containers": {"size": 50, "type": "Volume", "volumeType": "fast"}
    },
    "kubeadmConfigSpec": {
        "diskSetup": {
            "filesystems": [
                {
                    "device": "/dev/disk/openstack/by-tag/containers",
                    "filesystem": "ext4",
                    "label": "containers",
                }
            ]
        },
        "mounts": [
            [
                "LABEL=containers",
                "/var/lib/containerd",
                "ext4",
                "defaults,nofail,x-systemd.before=containerd.service",
            ]
        ],
    },
}


class DisksTest(base.BaseTestCase):
    def test_a_machine_formats_and_mounts_its_volume(self) -> None:
        cluster = specs.cluster(control_plane=specs.group(container_disk=DISK))
        self.assertEqual(
            {"controlPlane": MACHINE}, nodes.CONTAINER_STORAGE.cluster(cluster)
        )
        self.assertEqual(
            MACHINE,
            nodes.CONTAINER_STORAGE.group(
                cluster, specs.group(container_disk=DISK)
            ),
        )

    def test_without_a_size_there_is_none(self) -> None:
        cluster = specs.cluster()
        self.assertEqual({}, nodes.CONTAINER_STORAGE.cluster(cluster))
        self.assertEqual(
            {}, nodes.CONTAINER_STORAGE.group(cluster, specs.group())
        )

    def test_it_is_in_the_zone_of_the_machines_other_volumes(self) -> None:
        group = specs.group(
            {"boot_volume_availability_zone": "ssd-zone"},
            container_disk=cluster_spec.Disk(50),
        )
        self.assertEqual(
            {
                "containers": {
                    "size": 50,
                    "type": "Volume",
                    "availabilityZone": "ssd-zone",
                }
            },
            nodes.CONTAINER_STORAGE.group(specs.cluster(), group)[
                "additionalBlockDevices"
            ],
        )

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

    def test_etcds_disk_is_the_charts(self) -> None:
        cluster = specs.cluster(
            {"etcd_blockdevice_size": "10"},
            control_plane=specs.group(container_disk=DISK),
        )
        found = values.build(cluster)
        self.assertEqual(
            MACHINE["additionalBlockDevices"],
            found["controlPlane"]["additionalBlockDevices"],
        )

    def refused(self, group: cluster_spec.NodeGroup) -> str:
        cluster = specs.cluster(node_groups=(group,))
        return str(
            self.assertRaises(
                errors.InvalidInput, nodes.CONTAINER_STORAGE.check, cluster
            )
        )

    def test_flatcar_can_not_find_it(self) -> None:
        image = dataclasses.replace(specs.IMAGE, os_distro="flatcar")
        text = self.refused(specs.group(image=image, container_disk=DISK))
        self.assertIn("docker_volume_size=50", text)
        self.assertIn("flatcar", text)

    def test_a_type_without_a_size_is_refused(self) -> None:
        text = self.refused(specs.group({"docker_volume_type": "fast"}))
        self.assertEqual(
            "label docker_volume_type: give it together with "
            "docker_volume_size. It is 'fast'",
            text,
        )
