# SPDX-License-Identifier: Apache-2.0

"""Storage classes of Cinder and Manila: from the cloud to the values."""

from __future__ import annotations

from typing import Any

from oslo_config import fixture as config_fixture
from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import storage
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import cluster as resolve_storage
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.features import specs


class FoundClassesTest(base.BaseTestCase):
    """What Cinder's volume types become."""

    def setUp(self) -> None:
        super().setUp()
        self.config = self.useFixture(config_fixture.Config(conf.CONF))

    def _found(
        self, *volume_types: str, default: str | None = None
    ) -> tuple[cluster_spec.StorageClass, ...]:
        known: Any = fake_cloud.FakeCloud(
            types=volume_types, default_type=default
        )
        return resolve_storage.storage_classes(known, specs.parsed({}))

    def test_volume_types_become_classes_and_none_is_a_guess(self) -> None:
        """Similar types do not share a class."""
        made = cluster_spec.StorageClass
        two = (made("bulk", "bulk"), made("slow", "slow"))
        for types, default, expected in (
            (
                ("bulk", "Fast_SSD", "slow"),
                "slow",
                (
                    made("slow", "slow", default=True),
                    made("fast-ssd", "Fast_SSD"),
                    made("bulk", "bulk"),
                ),
            ),
            (("bulk", "slow"), "__DEFAULT__", two),
            (("bulk", "slow"), "of-another-project", two),
            (
                ("SSD_1", "ssd-1"),
                "ssd-1",
                (
                    made("ssd-1", "ssd-1", default=True),
                    made("ssd-1--c4b584e3", "SSD_1"),
                ),
            ),
            # A cloud without types of its own, and one without any.
            ((), "__DEFAULT__", (made("default", None, default=True),)),
            ((), None, ()),
        ):
            found = self._found(*types, default=default)
            self.assertEqual(expected, found)

    def test_the_operators_choice_is_stronger_than_cinders(self) -> None:
        option = "csi_cinder_default_volume_type"
        self.config.config(group="capi_helm", **{option: "bulk"})
        found = self._found("bulk", "slow", default="slow")
        self.assertEqual(
            [("bulk", True), ("slow", False)],
            [(each.volume_type, each.default) for each in found],
        )
        # A choice that Cinder has not is the operator's fault.
        self.config.config(group="capi_helm", **{option: "gold"})
        error = self.assertRaises(
            errors.NotConfigured, self._found, "bulk", "slow"
        )
        self.assertRegex(str(error), f"{option}: .* 'gold'; .* bulk, slow$")

    def test_a_cluster_without_cinder_asks_it_nothing(self) -> None:
        found = specs.parsed({"cinder_csi_enabled": "false"})
        nothing: Any = object()
        self.assertEqual((), resolve_storage.storage_classes(nothing, found))


class CinderTest(base.BaseTestCase):
    def _csi(self, given: dict[str, str] | None = None, **changes: Any) -> Any:
        values = storage.TOPIC.cluster(specs.cluster(given, **changes))
        return values["addons"]["openstack"]["csiCinder"]

    def test_a_class_that_leaves_the_type_to_cinder_names_none(self) -> None:
        found = self._csi(
            storage_classes=(
                cluster_spec.StorageClass("default", None, default=True),
            ),
            allowed_zones=("az1", "az2"),
        )
        zone = "topology.cinder.csi.openstack.org/zone"
        zones = [{"key": zone, "values": ["az1", "az2"]}]
        self.assertEqual(
            {
                "defaultStorageClass": {
                    "enabled": True,
                    "name": "default",
                    "isClusterDefault": True,
                    "reclaimPolicy": "Retain",
                    "allowVolumeExpansion": True,
                    "volumeBindingMode": "WaitForFirstConsumer",
                    "allowedTopologies": [{"matchLabelExpressions": zones}],
                    "fstype": "ext4",
                    "availabilityZone": "nova",
                },
                "additionalStorageClasses": [],
            },
            found,
        )

    def test_without_classes_the_charts_own_stays_off(self) -> None:
        off = {"enabled": False}
        self.assertEqual(off, self._csi({"cinder_csi_enabled": "false"}))
        self.assertEqual({"defaultStorageClass": off}, self._csi())
        bulk = (cluster_spec.StorageClass("bulk", "bulk"),)
        found = self._csi(storage_classes=bulk)
        self.assertEqual(off, found["defaultStorageClass"])
        [other] = found["additionalStorageClasses"]
        self.assertEqual(
            ("bulk", False), (other["name"], other["isClusterDefault"])
        )


MANILA = {"manila_csi_enabled": "true", "manila_csi_share_type": "default"}
SHARE_NETWORK = "manila_csi_share_network_id"
UUID = "0b8ac6b8-3e5c-4f0e-9d5c-8a7f1c2d3e4f"


class ManilaTest(base.BaseTestCase):
    def _values(self, given: dict[str, str]) -> Any:
        return storage.SHARED_VOLUMES.cluster(specs.cluster(given))

    def test_the_nfs_driver_comes_from_the_operators_repository(self) -> None:
        given = {"manila_csi_enabled": "true", "manila_csi_share_type": "a"}
        site = cluster_spec.Site(addon_repository="https://charts.example.org")
        addons = storage.SHARED_VOLUMES.cluster(
            specs.cluster(given, site=site)
        )
        chart = addons["addons"]["custom"]["csi-driver-nfs"]["spec"]["chart"]
        self.assertEqual("https://charts.example.org", chart["repo"])
        self.assertNotEqual(
            chart["repo"], storage.NFS_MOUNTER["chart"]["repo"]
        )

    def test_cephfs_shares_are_mounted_by_the_charts_driver(self) -> None:
        manila = {
            "enabled": True,
            "defaultStorageClass": {
                "provisioner": "cephfs.manila.csi.openstack.org",
                "parameters": {"type": "default"},
            },
        }
        addons = {
            "openstack": {"csiManila": manila},
            "csi": {"cephfs": {"enabled": True}},
        }
        self.assertEqual(
            {"addons": addons},
            self._values({**MANILA, "manila_csi_protocol": "CephFS"}),
        )

    def test_a_share_network_of_cephfs_is_refused(self) -> None:
        given = {**MANILA, "manila_csi_protocol": "cephfs"}
        cluster = specs.cluster({**given, SHARE_NETWORK: UUID})
        self.assertEqual(
            f"label {SHARE_NETWORK}: give it with manila_csi_protocol=nfs "
            f"only. It is {UUID!r}",
            specs.refusal(storage.SHARED_VOLUMES.check, cluster),
        )

    def test_a_cluster_may_switch_off_what_its_template_has(self) -> None:
        given = {**MANILA, "manila_csi_enabled": "false"}
        storage.SHARED_VOLUMES.check(specs.cluster(given))
        self.assertEqual({}, self._values(given))
