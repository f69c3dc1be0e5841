# SPDX-License-Identifier: Apache-2.0

"""Waiting for a place, but not for long."""

from __future__ import annotations

import contextlib
import threading

from oslotest import base

from magnum_capi_helm.memory import waits


class CourtesyTest(base.BaseTestCase):
    def test_who_finds_no_place_waits_for_one(self) -> None:
        courtesy = waits.Courtesy(2, patience=5.0)
        inside = threading.Semaphore(0)

        def go_in() -> None:
            with courtesy.turn():
                inside.release()

        with contextlib.ExitStack() as places:
            for _ in range(2):
                places.enter_context(courtesy.turn())
            third = threading.Thread(target=go_in)
            third.start()
            self.assertFalse(inside.acquire(timeout=0.05))
        self.assertTrue(inside.acquire(timeout=5))
        third.join()

    def test_nobody_waits_for_long(self) -> None:
        courtesy = waits.Courtesy(1, patience=0.01)
        with courtesy.turn():
            # Another one is in its place, and keeps it.
            with courtesy.turn():
                pass
            with courtesy.turn():
                pass

    def test_who_fails_leaves_the_place(self) -> None:
        courtesy = waits.Courtesy(1, patience=5.0)
        for _ in range(2):
            with contextlib.suppress(ValueError), courtesy.turn():
                raise ValueError


class BatonTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.baton = waits.Baton(60.0, lambda: self.now)

    def test_one_has_it_until_it_passes_it_on(self) -> None:
        first, second = ("ns", "first"), ("ns", "second")
        self.assertTrue(self.baton.take(first))
        self.assertFalse(self.baton.take(second))
        self.assertFalse(self.baton.take(first))
        self.baton.pass_on(second)
        self.assertFalse(self.baton.take(second))
        self.baton.pass_on(first)
        self.assertTrue(self.baton.take(second))

    def test_whoever_keeps_it_for_too_long_loses_it(self) -> None:
        self.baton.take(("ns", "gone"))
        self.now = 59.0
        self.assertFalse(self.baton.take(("ns", "next")))
        self.now = 60.0
        self.assertTrue(self.baton.take(("ns", "next")))
