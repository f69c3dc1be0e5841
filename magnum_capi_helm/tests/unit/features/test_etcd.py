# SPDX-License-Identifier: Apache-2.0

"""etcd: its disk, and encryption of its data."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import etcd
from magnum_capi_helm.tests.unit.features import specs

ON = {"etcd_encryption_enabled": "true"}


class EncryptionTest(base.BaseTestCase):
    def test_secrets_are_encrypted_with_secretbox_by_default(self) -> None:
        values = etcd.ENCRYPTION_TOPIC.cluster(specs.cluster(ON))
        self.assertEqual(
            {
                "etcd": {
                    "encryption": {
                        "enabled": True,
                        "provider": "secretbox",
                        "resources": ["secrets"],
                    }
                }
            },
            values,
        )
        self.assertTrue(etcd.needs_key(values))

    def test_no_key_is_needed_where_values_say_nothing_of_it(self) -> None:
        rows: list[dict[str, Any]] = [
            etcd.ENCRYPTION_TOPIC.cluster(specs.cluster()),
            {},
            {"etcd": None},
            {"etcd": {"blockDevice": {"size": 10}}},
            {"etcd": {"encryption": {"enabled": False}}},
        ]
        for values in rows:
            self.assertFalse(etcd.needs_key(values), values)

    def test_a_list_with_which_the_api_server_would_not_start(self) -> None:
        for text in ("", "secrets,secrets"):
            self.assertEqual(
                "label etcd_encryption_resources: give each resource once, "
                f"at least one. It is {text!r}",
                specs.refusal(
                    etcd.ENCRYPTION_TOPIC.check,
                    specs.cluster({**ON, "etcd_encryption_resources": text}),
                ),
            )


class EtcdTest(base.BaseTestCase):
    def test_each_disk_has_its_values(self) -> None:
        volume = {
            "etcd_blockdevice_volume_type": "fast",
            "etcd_blockdevice_volume_az": "az1",
        }
        for given, disk in (
            ({**volume, "etcd_blockdevice_type": "local"}, None),
            # A local disk has neither type nor zone.
            (
                {
                    **volume,
                    "etcd_blockdevice_size": "10",
                    "etcd_blockdevice_type": "LOCAL",
                },
                {"size": 10, "type": "Local"},
            ),
            # The new names beat the former ones.
            (
                {
                    "etcd_volume_size": "10",
                    "etcd_blockdevice_size": "20",
                    "etcd_volume_type": "slow",
                    "etcd_blockdevice_volume_type": "fast",
                },
                {"size": 20, "type": "Volume", "volumeType": "fast"},
            ),
        ):
            self.assertEqual(
                {"etcd": {"blockDevice": disk}} if disk else {},
                etcd.TOPIC.cluster(specs.cluster(given)),
            )

    def test_the_former_options_are_read_where_they_were(self) -> None:
        declared = {option.name: option for option in conf.label_opts}
        for name, former in (
            ("etcd_blockdevice_size", "etcd_volume_size"),
            ("etcd_blockdevice_volume_type", "etcd_volume_type"),
        ):
            self.assertEqual(
                {
                    ("capi_helm", former),
                    ("capi_helm_cluster_labels", former),
                },
                {(o.group, o.name) for o in declared[name].deprecated_opts},
            )
