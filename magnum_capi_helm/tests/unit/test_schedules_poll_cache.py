# SPDX-License-Identifier: Apache-2.0

"""Results of polls of unchanged releases: kept, and for how long."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import schedules

SCOPE = ("magnum-p1", "demo-1")
OTHER = ("magnum-p1", "demo-2")


class SteadyTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.cache: schedules.PollCache[str] = schedules.PollCache(
            60.0, lambda: self.now, lambda: 0.5
        )
        self.cache.put(SCOPE, "looks", "found")

    def test_an_unchanged_version_has_the_result(self) -> None:
        self.assertEqual("found", self.cache.get(SCOPE, "looks"))

    def test_another_version_has_no_result(self) -> None:
        self.assertIsNone(self.cache.get(SCOPE, "other looks"))

    def test_each_release_has_its_own(self) -> None:
        self.assertIsNone(self.cache.get(OTHER, "looks"))
        self.assertEqual(
            (True, False), tuple(map(self.cache.has, (SCOPE, OTHER)))
        )

    def test_a_result_ends_after_a_minute(self) -> None:
        self.now += 59.9
        self.assertEqual("found", self.cache.get(SCOPE, "looks"))
        self.now += 0.1
        self.assertIsNone(self.cache.get(SCOPE, "looks"))

    def test_a_result_that_time_changes_ends_in_time(self) -> None:
        self.cache.put(SCOPE, "looks", "found", 5.0)
        self.now += 4.9
        self.assertEqual("found", self.cache.get(SCOPE, "looks"))
        self.now += 0.1
        self.assertIsNone(self.cache.get(SCOPE, "looks"))

    def test_results_of_one_moment_do_not_end_together(self) -> None:
        spread = iter((0.0, 1.0))
        found: schedules.PollCache[str] = schedules.PollCache(
            60.0, lambda: self.now, lambda: next(spread)
        )
        for scope in (SCOPE, OTHER):
            found.put(scope, "looks", "found")
        self.now += 30
        self.assertIsNone(found.get(SCOPE, "looks"))
        self.now += 59
        self.assertEqual("found", found.get(OTHER, "looks"))

    def test_a_change_by_this_process_ends_it(self) -> None:
        self.cache.forget(SCOPE)
        self.cache.forget(OTHER)
        self.assertIsNone(self.cache.get(SCOPE, "looks"))
