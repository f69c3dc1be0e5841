# SPDX-License-Identifier: Apache-2.0

"""Turns to run helm: how many at once, and who is next."""

from __future__ import annotations

import contextlib
import functools
import threading
import time

from oslotest import base

from magnum_capi_helm.helm import turns
from magnum_capi_helm.model import errors


class TurnsTest(base.BaseTestCase):
    """Turns whose queue is worked off when the test says so."""

    def setUp(self) -> None:
        super().setUp()
        self.due: list[turns.Work] = []
        self.done: list[str] = []

    def _turns(self, number: int) -> turns.Turns:
        return turns.Turns(number, self.due.append)

    def _held(self, of: turns.Turns) -> threading.Event:
        """A turn that another thread has, until the event is set."""
        has, ends = threading.Event(), threading.Event()

        def hold() -> None:
            with of.turn():
                has.set()
                ends.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(ends.set)
        self.assertTrue(has.wait(10))
        self.thread = thread
        return ends

    def _end(self, ends: threading.Event) -> None:
        ends.set()
        self.thread.join()

    def _later(self, of: turns.Turns, *keys: str) -> None:
        for key in keys:
            of.later(key, functools.partial(self.done.append, key))

    def _work_off(self) -> None:
        while self.due:
            self.due.pop(0)()

    def test_no_more_than_the_number_have_a_turn(self) -> None:
        two = self._turns(2)
        self._held(two)
        with two.turn():
            pass
        self._held(two)
        error = self.assertRaises(errors.NoTurn, two.turn().__enter__)
        self.assertEqual("waiting for helm: 0 before it", str(error))

    def test_a_thread_with_a_turn_may_ask_again(self) -> None:
        one = self._turns(1)
        with one.turn(), one.turn():
            pass
        with contextlib.suppress(ValueError), one.turn():
            raise ValueError
        with one.turn():
            pass

    def test_the_queue_moves_in_order_as_turns_end(self) -> None:
        one = self._turns(1)
        ends = self._held(one)
        self._later(one, "a", "b", "c")
        self.assertEqual([0, 1, 2, None], [one.before(key) for key in "abcd"])
        self.assertEqual([], self.due)
        self._end(ends)
        self.assertEqual(1, len(self.due))
        self._work_off()
        self.assertEqual(["a", "b", "c"], self.done)
        with one.turn():
            pass

    def test_no_thread_overtakes_the_queue(self) -> None:
        one = self._turns(1)
        ends = self._held(one)
        self._later(one, "a", "b")
        self._end(ends)
        error = self.assertRaises(errors.NoTurn, one.turn().__enter__)
        self.assertEqual("waiting for helm: 1 before it", str(error))

    def test_with_a_free_turn_the_queue_does_not_wait(self) -> None:
        two = self._turns(2)
        self._held(two)

        def work() -> None:
            # It has the turn that it asks for.
            with two.turn():
                self.done.append("a")

        two.later("a", work)
        self._work_off()
        self.assertEqual(["a"], self.done)

    def test_a_key_has_one_place_and_its_newest_work(self) -> None:
        one = self._turns(1)
        ends = self._held(one)
        self._later(one, "a", "b")
        one.later("a", lambda: self.done.append("a again"))
        self._end(ends)
        self._work_off()
        self.assertEqual(["a again", "b"], self.done)

    def test_work_that_fails_gives_its_turn_on(self) -> None:
        one = self._turns(1)
        ends = self._held(one)
        one.later("a", self.fail)
        self._later(one, "b")
        self._end(ends)
        self._work_off()
        self.assertEqual(["b"], self.done)

    def test_a_thread_that_cannot_start_takes_no_turn(self) -> None:
        def refuse(work: turns.Work) -> None:
            raise RuntimeError("can't start new thread")

        one = turns.Turns(1, refuse)
        ends = self._held(one)
        self._later(one, "a", "b")
        self._end(ends)
        self._later(one, "c")
        self.assertEqual(0, one.running)
        # Polls do the work: nothing keeps them from it.
        self.assertEqual([None] * 3, [one.before(key) for key in "abc"])
        with one.turn():
            pass

    def test_a_waiting_thread_comes_before_the_queue(self) -> None:
        one = self._turns(1)
        ends = self._held(one)
        self._later(one, "a")
        threading.Timer(0.2, ends.set).start()
        with one.turn(patience=10):
            self.assertEqual([], self.due)
        self._work_off()
        self.assertEqual(["a"], self.done)

    def test_a_thread_in_a_hurry_takes_no_turn_from_one_waiting(self) -> None:
        one = self._turns(1)
        had = threading.Event()

        def wait() -> None:
            with one.turn(patience=10):
                had.set()

        holds = one.turn()
        holds.__enter__()
        waits = threading.Thread(target=wait)
        waits.start()
        self.addCleanup(waits.join)
        while not one._urgent:
            time.sleep(0.001)
        # The waiting thread is notified, and can't take the turn yet.
        with one._changed:
            holds.__exit__(None, None, None)
            self.assertRaises(errors.NoTurn, one.turn().__enter__)
        self.assertTrue(had.wait(10))

    def test_patience_ends(self) -> None:
        one = self._turns(1)
        ends = self._held(one)
        self._later(one, "a")
        self.assertRaises(errors.NoTurn, one.turn(0.05).__enter__)
        self._end(ends)
        self._work_off()
        self.assertEqual(["a"], self.done)

    def test_the_queue_has_threads_of_its_own(self) -> None:
        one = turns.Turns(1)
        done = threading.Event()
        with one.turn():
            one.later("a", done.set)
            self.assertFalse(done.wait(0.05))
        self.assertTrue(done.wait(10))
