# SPDX-License-Identifier: Apache-2.0

"""The cache of locations."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import runtime


class ManagementClusterCacheTest(base.BaseTestCase):
    def test_another_identity_drops_all_locations(self) -> None:
        cache = runtime.ManagementClusterCache()
        cache.set_identity("a", "1")
        cache.set_location("cluster", "a")
        cache.set_identity("a", "1")
        cache.set_identity("b", "2")
        self.assertEqual("a", cache.location("cluster"))
        cache.set_identity("a", "3")
        self.assertIsNone(cache.location("cluster"))

    def test_a_cluster_that_is_gone_is_forgotten(self) -> None:
        cache = runtime.ManagementClusterCache()
        cache.set_location("cluster", "a")
        cache.forget("cluster")
        self.assertIsNone(cache.location("cluster"))

    def test_a_choice_counts_for_ten_minutes(self) -> None:
        now = 1000.0
        cache = runtime.ManagementClusterCache(lambda: now)
        cache.record_choice("one", "a")
        cache.record_choice("two", "b")
        cache.forget("two")
        self.assertEqual({"one": "a"}, cache.choices())
        now += 600
        self.assertEqual({}, cache.choices())
