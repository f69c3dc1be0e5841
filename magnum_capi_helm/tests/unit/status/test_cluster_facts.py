# SPDX-License-Identifier: Apache-2.0

"""Addresses and version that the verdict on a release tells."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import reachability
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes


class FactsTest(base.BaseTestCase):
    def test_addresses_and_version_of_a_complete_cluster(self) -> None:
        for shape in shapes.GENERATIONS:
            found = releases.verdict(releases.complete(shape))
            self.assertEqual("https://192.0.2.10:6443", found.api_address)
            self.assertEqual("v1.34.2", found.coe_version)
            self.assertEqual(
                {
                    "default-master": ("192.168.3.5",),
                    "default-worker": ("192.168.3.6", "192.168.3.7"),
                },
                {name: each.addresses for name, each in found.groups.items()},
            )

    def test_an_endpoint_without_host_is_none_yet(self) -> None:
        rows: list[tuple[Any, str | None]] = [
            ({}, None),
            ({"host": "", "port": 0}, None),
            ({"host": "192.0.2.10", "port": 0}, None),
            (
                {"host": "api.example.org", "port": 443},
                "https://api.example.org:443",
            ),
            (
                {"host": "2001:db8::1", "port": 6443},
                "https://[2001:db8::1]:6443",
            ),
        ]
        for endpoint, address in rows:
            live = core_objects.cluster(shapes.V1BETA2, endpoint=endpoint)
            self.assertEqual(address, reachability.api_address(live))
        self.assertIsNone(reachability.api_address(None))

    def test_the_version_is_the_oldest_that_runs(self) -> None:
        rows: list[tuple[dict[str, Any], str | None]] = [
            ({"version": "v1.34.2"}, "v1.34.2"),
            (
                {"versions": [{"version": "v1.34.2"}, {"version": "v1.33.6"}]},
                "v1.33.6",
            ),
            (
                {
                    "versions": [
                        {"version": "v1.34.10"},
                        {"version": "v1.34.9"},
                    ]
                },
                "v1.34.9",
            ),
            ({"versions": []}, None),
            ({}, None),
        ]
        found = [
            cluster_status.coe_version(
                view.View(release="r", control_plane={"status": status})
            )
            for status, _ in rows
        ]
        self.assertEqual([version for _, version in rows], found)
        self.assertIsNone(cluster_status.coe_version(view.View(release="r")))
