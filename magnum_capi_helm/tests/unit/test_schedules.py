# SPDX-License-Identifier: Apache-2.0

"""The lock that one release holds for a limited time."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import schedules


class ExpiringLockTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.lock = schedules.ExpiringLock(60.0, lambda: self.now)

    def test_one_release_holds_it_until_it_gives_it_back(self) -> None:
        first, second = ("ns", "first"), ("ns", "second")
        self.assertTrue(self.lock.acquire(first))
        self.assertFalse(self.lock.acquire(second))
        self.assertFalse(self.lock.acquire(first))
        self.lock.release(second)
        self.assertFalse(self.lock.acquire(second))
        self.lock.release(first)
        self.assertTrue(self.lock.acquire(second))

    def test_a_release_that_holds_it_for_too_long_loses_it(self) -> None:
        self.lock.acquire(("ns", "gone"))
        self.now = 59.0
        self.assertFalse(self.lock.acquire(("ns", "next")))
        self.now = 60.0
        self.assertTrue(self.lock.acquire(("ns", "next")))
