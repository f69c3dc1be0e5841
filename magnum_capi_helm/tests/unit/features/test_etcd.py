# SPDX-License-Identifier: Apache-2.0

"""A disk of its own for etcd: names of the labels, old and new."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import etcd
from magnum_capi_helm.tests.unit.features import specs


class EtcdLabelsTest(base.BaseTestCase):
    def test_the_new_names_beat_the_former_ones(self) -> None:
        given = {
            "etcd_volume_size": "10",
            "etcd_blockdevice_size": "20",
            "etcd_volume_type": "slow",
            "etcd_blockdevice_volume_type": "fast",
        }
        self.assertEqual(
            {
                "etcd": {
                    "blockDevice": {
                        "size": 20,
                        "type": "Volume",
                        "volumeType": "fast",
                    }
                }
            },
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
                {
                    (old.group, old.name)
                    for old in declared[name].deprecated_opts
                },
            )
