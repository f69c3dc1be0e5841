# SPDX-License-Identifier: Apache-2.0

"""Waiting for a place, but not for long."""

from __future__ import annotations

import contextlib
import threading

from oslotest import base

from magnum_capi_helm import schedules


class CourtesyTest(base.BaseTestCase):
    def test_who_finds_no_place_waits_for_one(self) -> None:
        slots = schedules.BoundedSlots(2, patience=5.0)
        inside = threading.Semaphore(0)

        def go_in() -> None:
            with slots.slot():
                inside.release()

        with contextlib.ExitStack() as places:
            for _ in range(2):
                places.enter_context(slots.slot())
            third = threading.Thread(target=go_in)
            third.start()
            self.assertFalse(inside.acquire(timeout=0.05))
        self.assertTrue(inside.acquire(timeout=5))
        third.join()

    def test_nobody_waits_for_long(self) -> None:
        slots = schedules.BoundedSlots(1, patience=0.01)
        with slots.slot():
            # Another one is in its place, and keeps it.
            with slots.slot():
                pass
            with slots.slot():
                pass

    def test_who_fails_leaves_the_place(self) -> None:
        slots = schedules.BoundedSlots(1, patience=5.0)
        for _ in range(2):
            with contextlib.suppress(ValueError), slots.slot():
                raise ValueError


class BatonTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.lock = schedules.ExpiringLock(60.0, lambda: self.now)

    def test_one_has_it_until_it_passes_it_on(self) -> None:
        first, second = ("ns", "first"), ("ns", "second")
        self.assertTrue(self.lock.acquire(first))
        self.assertFalse(self.lock.acquire(second))
        self.assertFalse(self.lock.acquire(first))
        self.lock.release(second)
        self.assertFalse(self.lock.acquire(second))
        self.lock.release(first)
        self.assertTrue(self.lock.acquire(second))

    def test_whoever_keeps_it_for_too_long_loses_it(self) -> None:
        self.lock.acquire(("ns", "gone"))
        self.now = 59.0
        self.assertFalse(self.lock.acquire(("ns", "next")))
        self.now = 60.0
        self.assertTrue(self.lock.acquire(("ns", "next")))
