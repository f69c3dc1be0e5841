# SPDX-License-Identifier: Apache-2.0
"""Shared reads: one for all polls that accept it, and none that is old."""

from __future__ import annotations

from collections.abc import Callable, Collection
import contextlib
import threading
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.kubernetes import shared_reads
from magnum_capi_helm.model import errors

SCOPE = ("magnum-p1", "demo-1")
OTHER = ("magnum-p1", "demo-2")


class Source:
    """Readings that a test lets begin and end."""

    def __init__(self) -> None:
        self.now = 100.0
        self.readings = 0
        #: Releases of each reading, and whether it was to be fresh.
        self.asked: list[tuple[list[str], bool]] = []
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.errors: list[BaseException] = []
        self.free = True
        #: Seconds.
        self.takes = 0.0

    def clock(self) -> float:
        return self.now

    def read(
        self, scopes: Collection[location.Scope], fresh: bool
    ) -> dict[location.Scope, reads.ReleaseObjects]:
        self.readings += 1
        self.asked.append((sorted(each[1] for each in scopes), fresh))
        number = self.readings
        if not self.free:
            self.begun.release()
            assert self.go_on.acquire(timeout=5)
        self.now += self.takes
        if self.errors:
            raise self.errors.pop(0)
        return {e: reads.ReleaseObjects(f"{e[1]} #{number}") for e in scopes}


class _SharedReadsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.source = Source()
        self.snapshots = self._shared(2.0)

    def _shared(self, age: float, **more: float) -> shared_reads.SharedReads:
        source = self.source
        return shared_reads.SharedReads(
            source.read, age, 90.0, source.clock, **more
        )

    def _get(self, scope: location.Scope = SCOPE) -> str:
        return self.snapshots.get(scope).release

    def _in_threads(
        self, work: Callable[[], Any], number: int
    ) -> tuple[list[threading.Thread], list[Any]]:
        outcomes: list[Any] = []

        def run() -> None:
            try:
                outcomes.append(work())
            except errors.CapiHelmError as error:
                outcomes.append(str(error))

        threads = [
            threading.Thread(target=run, daemon=True) for _ in range(number)
        ]
        for each in threads:
            each.start()
        return threads, outcomes

    def _finish(self, threads: list[threading.Thread]) -> None:
        for each in threads:
            each.join(5)
            self.assertFalse(each.is_alive())


class AgeTest(_SharedReadsTest):
    def test_a_young_view_is_shared_an_old_one_is_not(self) -> None:
        found = []
        for seconds in (0, 1.9, 0.1, 0.1):
            self.source.now += seconds
            found.append(self._get())
        self.assertEqual(
            ["demo-1 #1", "demo-1 #1", "demo-1 #1", "demo-1 #2"], found
        )

    def test_a_slow_read_is_shared_for_longer(self) -> None:
        """Its age counts from its start; reads of health are shared longer."""
        for least, takes, age in (
            (2.0, 0.4, 2.0),
            (2.0, 1.0, 4.0),
            (2.0, 2.0, 8.0),
            (2.0, 9.0, 10.0),
            (20.0, 1.0, 20.0),
        ):
            self.snapshots = self._shared(least)
            self.source.takes = takes
            first = self._get()
            self.source.now += age - takes - 0.1
            self.assertEqual(first, self._get())
            self.source.now += 0.2
            self.assertNotEqual(first, self._get())
            self.source.now += 60

    def test_a_fresh_read_is_new_and_polls_share_it(self) -> None:
        self._get()
        self.assertEqual("demo-1 #2", self.snapshots.read(SCOPE).release)
        self.assertEqual("demo-1 #3", self.snapshots.read(SCOPE).release)
        self.source.now += 1
        self.assertEqual("demo-1 #3", self._get())

    def test_polls_of_the_health_share_a_fresh_read(self) -> None:
        health = self._shared(20.0)
        health.get(SCOPE)
        self.source.now += 5
        self.snapshots.read(SCOPE, health)
        self.source.now += 19
        self.assertEqual("demo-1 #2", health.get(SCOPE).release)

    def test_each_release_has_its_own(self) -> None:
        self.assertEqual(
            ["demo-1 #1", "demo-2 #2"], [self._get(SCOPE), self._get(OTHER)]
        )


class ThreadsTest(_SharedReadsTest):
    def test_simultaneous_polls_share_one_read_and_its_failure(self) -> None:
        unanswered = errors.ManagementUnreachable("no answer")
        self.source.free = False
        for now, error, outcome in (
            (100.0, [], "demo-1 #1"),
            (200.0, [unanswered], "no answer"),
        ):
            self.source.now, self.source.errors = now, [*error]
            threads, outcomes = self._in_threads(self._get, 20)
            self.assertTrue(self.source.begun.acquire(timeout=5))
            self.source.go_on.release()
            self._finish(threads)
            self.assertEqual([outcome] * 20, outcomes)
        self.assertEqual(2, self.source.readings)

    def test_a_fresh_read_does_not_wait_for_polls(self) -> None:
        self.source.free = False
        slow, _ = self._in_threads(self._get, 1)
        self.assertTrue(self.source.begun.acquire(timeout=5))
        self.source.free = True
        self.assertEqual("demo-2 #2", self.snapshots.read(OTHER).release)
        self.source.go_on.release()
        self._finish(slow)


class BurstTest(_SharedReadsTest):
    def test_the_first_poll_reads_for_the_whole_last_burst(self) -> None:
        for scope in (SCOPE, OTHER):
            self._get(scope)
        self.source.now += 60
        self.assertEqual("demo-1 #3", self._get(SCOPE))
        self.assertEqual("demo-2 #3", self._get(OTHER))
        both = ["demo-1", "demo-2"]
        self.assertEqual(
            [(["demo-1"], False), (both, False), (both, False)],
            self.source.asked,
        )

    def test_the_first_poll_of_a_new_burst_waits_for_the_others(self) -> None:
        self.snapshots = self._shared(2.0, gathering=0.5)
        scopes = [SCOPE, OTHER]
        threads, _ = self._in_threads(lambda: self._get(scopes.pop()), 2)
        self._finish(threads)
        self.assertEqual([(["demo-1", "demo-2"], False)], self.source.asked)

    def test_a_release_that_is_not_polled_is_not_read(self) -> None:
        for seconds, fresh in ((91, False), (60, True)):
            self._get(OTHER)
            self.source.now += seconds
            (self.snapshots.read if fresh else self._get)(SCOPE)
            self.assertEqual((["demo-1"], fresh), self.source.asked[-1])


class FailureTest(_SharedReadsTest):
    def test_an_old_view_is_never_taken_for_a_failed_one(self) -> None:
        self._get()
        self.source.now += 3
        self.source.errors = [errors.ManagementUnreachable("no answer")]
        self.assertRaises(errors.ManagementUnreachable, self._get)

    def test_attempts_and_successes_have_their_times(self) -> None:
        wall = 1000.0
        self.useFixture(fixtures.MockPatch("time.time", lambda: wall))
        self.snapshots.read(SCOPE)
        self.assertIsNone(self.snapshots.last_attempt)
        for moment, error, success in (
            (1010.0, "no answer", 1010.0),
            (1020.0, "no answer", 1010.0),
            (1030.0, "", 1030.0),
            (1040.0, "no answer", 1030.0),
        ):
            wall = moment
            self.source.now += 60
            with contextlib.suppress(errors.ManagementUnreachable):
                if error:
                    self.source.errors = [errors.ManagementUnreachable(error)]
                self._get()
            self.assertEqual(
                (moment, success),
                (self.snapshots.last_attempt, self.snapshots.last_success),
            )

    def test_a_failure_is_remembered_for_a_moment_only(self) -> None:
        self.source.errors = [errors.ManagementUnreachable("no answer")]
        for _ in range(3):
            self.assertRaises(errors.ManagementUnreachable, self._get)
        self.assertEqual(1, self.source.readings)
        self.source.now += 2.1
        self.assertEqual("demo-1 #2", self._get())
