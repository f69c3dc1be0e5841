# SPDX-License-Identifier: Apache-2.0
"""Disks, storage classes and authentication: whole values."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import authentication
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import storage
from magnum_capi_helm.features import template
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.unit.features import specs


class EtcdTest(base.BaseTestCase):
    def test_without_a_size_etcd_stays_on_the_root_disk(self) -> None:
        given = {
            "etcd_blockdevice_type": "local",
            "etcd_blockdevice_volume_type": "fast",
        }
        self.assertEqual({}, etcd.TOPIC.cluster(specs.cluster(given)))

    def test_volume_has_type_and_zone(self) -> None:
        given = {
            "etcd_blockdevice_size": "10",
            "etcd_blockdevice_volume_type": "fast",
            "etcd_blockdevice_volume_az": "az1",
        }
        self.assertEqual(
            {
                "etcd": {
                    "blockDevice": {
                        "size": 10,
                        "type": "Volume",
                        "volumeType": "fast",
                        "availabilityZone": "az1",
                    }
                }
            },
            etcd.TOPIC.cluster(specs.cluster(given)),
        )

    def test_local_disk_has_neither_type_nor_zone(self) -> None:
        given = {
            "etcd_blockdevice_size": "10",
            "etcd_blockdevice_type": "LOCAL",
            "etcd_blockdevice_volume_type": "fast",
            "etcd_blockdevice_volume_az": "az1",
        }
        self.assertEqual(
            {"etcd": {"blockDevice": {"size": 10, "type": "Local"}}},
            etcd.TOPIC.cluster(specs.cluster(given)),
        )

    def test_former_label_names_still_work(self) -> None:
        given = {"etcd_volume_size": "10", "etcd_volume_type": "fast"}
        self.assertEqual(
            {
                "etcd": {
                    "blockDevice": {
                        "size": 10,
                        "type": "Volume",
                        "volumeType": "fast",
                    }
                }
            },
            etcd.TOPIC.cluster(specs.cluster(given)),
        )


class StorageTest(base.BaseTestCase):
    def _csi(self, given: dict[str, str] | None = None, **changes: Any) -> Any:
        values = storage.TOPIC.cluster(specs.cluster(given, **changes))
        self.assertEqual(["addons"], list(values))
        self.assertEqual(["openstack"], list(values["addons"]))
        return values["addons"]["openstack"]

    def test_a_cloud_without_volume_types_gets_no_class(self) -> None:
        self.assertEqual(
            {"csiCinder": {"defaultStorageClass": {"enabled": False}}},
            self._csi(),
        )

    def test_the_default_class_is_not_among_the_others(self) -> None:
        classes = (
            cluster_spec.StorageClass("fast", "Fast", default=True),
            cluster_spec.StorageClass("bulk", "bulk"),
        )
        common: dict[str, Any] = {
            "enabled": True,
            "reclaimPolicy": "Retain",
            "allowVolumeExpansion": True,
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [],
            "fstype": "ext4",
            "availabilityZone": "nova",
        }
        self.assertEqual(
            {
                "csiCinder": {
                    "defaultStorageClass": common
                    | {
                        "name": "fast",
                        "volumeType": "Fast",
                        "isClusterDefault": True,
                    },
                    "additionalStorageClasses": [
                        common
                        | {
                            "name": "bulk",
                            "volumeType": "bulk",
                            "isClusterDefault": False,
                        }
                    ],
                }
            },
            self._csi(storage_classes=classes),
        )

    def test_labels_and_zones_reach_each_class(self) -> None:
        found = self._csi(
            {
                "csi_cinder_reclaim_policy": "Delete",
                "csi_cinder_allow_volume_expansion": "false",
                "csi_cinder_volume_binding_mode": "Immediate",
                "csi_cinder_fstype": "xfs",
                "csi_cinder_availability_zone": "az1",
            },
            storage_classes=(
                cluster_spec.StorageClass("fast", "Fast", default=True),
            ),
            allowed_zones=("az1", "az2"),
        )
        zone = "topology.cinder.csi.openstack.org/zone"
        self.assertEqual(
            {
                "enabled": True,
                "name": "fast",
                "isClusterDefault": True,
                "reclaimPolicy": "Delete",
                "allowVolumeExpansion": False,
                "volumeBindingMode": "Immediate",
                "allowedTopologies": [
                    {
                        "matchLabelExpressions": [
                            {"key": zone, "values": ["az1", "az2"]}
                        ]
                    }
                ],
                "fstype": "xfs",
                "availabilityZone": "az1",
                "volumeType": "Fast",
            },
            found["csiCinder"]["defaultStorageClass"],
        )


class AccessTest(base.BaseTestCase):
    def test_the_cluster_has_a_credential_of_its_own(self) -> None:
        # And no authWebhook: old charts take any string for a webhook.
        self.assertEqual(
            {
                "cloudCredentialsSecretName": (
                    "demo-45f11a8de301-cloud-credentials"
                )
            },
            authentication.TOPIC.cluster(specs.cluster()),
        )

    def test_keystone_users(self) -> None:
        given = {"keystone_auth_enabled": "true"}
        self.assertEqual(
            {
                "cloudCredentialsSecretName": (
                    "demo-45f11a8de301-cloud-credentials"
                ),
                "authWebhook": "k8s-keystone-auth",
                "addons": {
                    "openstack": {
                        "k8sKeystoneAuth": {
                            "enabled": True,
                            "values": {
                                "openstackAuthUrl": (
                                    "https://keystone.example.org/v3"
                                ),
                                "projectId": "p1",
                            },
                        }
                    }
                },
            },
            authentication.TOPIC.cluster(specs.cluster(given)),
        )

    def test_the_chart_version_is_no_value(self) -> None:
        cluster = specs.cluster({"capi_helm_chart_version": "0.26.0"})
        self.assertEqual({}, template.TOPIC.cluster(cluster))
        self.assertEqual("0.26.0", cluster.labels[template.VERSION])
