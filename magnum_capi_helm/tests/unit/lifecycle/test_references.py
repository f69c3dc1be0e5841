# SPDX-License-Identifier: Apache-2.0

"""Zones and volume types that labels name are looked up."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.lifecycle import test_resolve_groups


class ReferencesTest(test_resolve_groups.GroupsTestCase):
    """Zones and volume types that labels name."""

    def test_what_is_not_there_is_said_with_what_is(self) -> None:
        zones, kinds = "az1, az2", "fast, slow"
        for label, what, there in (
            ("availability_zone", "a Nova availability zone", zones),
            ("boot_volume_availability_zone", "a Cinder avail", "nova"),
            ("boot_volume_type", "a Cinder volume type", kinds),
            ("docker_volume_type", "a Cinder volume type", kinds),
        ):
            text = self.refused(labels={label: "mars"})
            self.assertIn(f"label {label}: ", text)
            self.assertIn(what, text)
            self.assertIn(
                f"'mars' is none of those that are there ({there})", text
            )

    def test_labels_of_the_cluster_are_looked_up_for_the_master(self) -> None:
        for label, value, there in (
            ("control_plane_availability_zones", "az1,mars", "az1, az2"),
            ("etcd_blockdevice_volume_az", "mars", "nova"),
            ("etcd_blockdevice_volume_type", "mars", "fast, slow"),
            ("csi_cinder_availability_zone", "mars", "nova"),
        ):
            cluster = {"labels": {label: value}}
            text = self.refused(cluster, role="master")
            self.assertIn(f"label {label}: ", text)
            self.assertIn(f"({there})", text)
            self.resolve(cluster)

    def test_what_is_there_is_fine(self) -> None:
        self.resolve(
            {
                "labels": {
                    "availability_zone": "az2",
                    "control_plane_availability_zones": "az1,az2",
                    "boot_volume_size": "20",
                    "boot_volume_type": "fast",
                    "boot_volume_availability_zone": "nova",
                    "etcd_blockdevice_volume_type": "slow",
                }
            },
            role="master",
        )

    def test_an_empty_label_names_nothing(self) -> None:
        self.resolve(
            {
                "labels": {
                    "availability_zone": "",
                    "control_plane_availability_zones": "az1,",
                    "etcd_blockdevice_volume_type": "",
                }
            },
            role="master",
        )

    def test_defaults_need_not_be_there(self) -> None:
        self.known.zones_of_volumes = ("mars",)
        for name in ("availability_zone", "boot_volume_type"):
            conf.CONF.set_override(name, "gone", "capi_helm_cluster_labels")
        self.resolve(role="master")

    def test_a_service_is_not_asked_without_need(self) -> None:
        cloud: Any = self.known
        for question in ("compute_zones", "volume_zones", "volume_types"):
            setattr(cloud, question, None)
        self.resolve(role="master")
