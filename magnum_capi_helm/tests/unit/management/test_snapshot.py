# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Snapshots: one reading for all who may share it, and no stale one."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from oslotest import base

from magnum_capi_helm import exceptions
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.status import view

SCOPE = ("magnum-p1", "demo-1")
OTHER = ("magnum-p1", "demo-2")


class Source:
    """Readings that a test lets begin and end."""

    def __init__(self) -> None:
        self.now = 100.0
        self.readings = 0
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.errors: list[BaseException] = []
        self.free = True

    def clock(self) -> float:
        return self.now

    def read(self, scope: snapshot.Scope) -> view.View:
        self.readings += 1
        number = self.readings
        if not self.free:
            self.begun.release()
            assert self.go_on.acquire(timeout=5)
        if self.errors:
            raise self.errors.pop(0)
        return view.View(release=f"{scope[1]} #{number}")


class _SnapshotTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.source = Source()
        self.snapshots = snapshot.Snapshots(
            self.source.read, self.source.clock, max_age=2.0
        )

    def _get(self, scope: snapshot.Scope = SCOPE, **options: Any) -> str:
        return self.snapshots.get(scope, **options).release

    def _in_threads(
        self, work: Callable[[], Any], number: int
    ) -> tuple[list[threading.Thread], list[Any]]:
        outcomes: list[Any] = []

        def run() -> None:
            try:
                outcomes.append(work())
            except exceptions.CapiHelmError as error:
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


class AgeTest(_SnapshotTest):
    def test_a_young_view_is_shared_an_old_one_is_not(self) -> None:
        found = []
        for seconds in (0, 1.9, 0.1, 0.1):
            self.source.now += seconds
            found.append(self._get())
        self.assertEqual(
            ["demo-1 #1", "demo-1 #1", "demo-1 #1", "demo-1 #2"], found
        )

    def test_age_counts_from_the_start_of_the_reading(self) -> None:
        slow = self.source.read

        def read(scope: snapshot.Scope) -> view.View:
            found = slow(scope)
            self.source.now += 5
            return found

        snapshots = snapshot.Snapshots(read, self.source.clock, max_age=2.0)
        self.assertEqual("demo-1 #1", snapshots.get(SCOPE).release)
        self.assertEqual("demo-1 #2", snapshots.get(SCOPE).release)

    def test_not_before_asks_for_a_fresher_one(self) -> None:
        self._get()
        self.source.now += 1
        self.assertEqual(
            ["demo-1 #1", "demo-1 #2", "demo-1 #2"],
            [
                self._get(not_before=100.0),
                self._get(not_before=100.5),
                self._get(not_before=100.5),
            ],
        )

    def test_each_release_has_its_own(self) -> None:
        self.assertEqual(
            ["demo-1 #1", "demo-2 #2"], [self._get(SCOPE), self._get(OTHER)]
        )

    def test_what_was_forgotten_is_read_again(self) -> None:
        self._get()
        self.snapshots.forget(SCOPE)
        self.snapshots.forget(OTHER)
        self.assertEqual("demo-1 #2", self._get())


class ThreadsTest(_SnapshotTest):
    def test_all_who_ask_at_once_share_one_reading(self) -> None:
        self.source.free = False
        threads, outcomes = self._in_threads(self._get, 20)
        self.assertTrue(self.source.begun.acquire(timeout=5))
        self.source.go_on.release()
        self._finish(threads)
        self.assertEqual(["demo-1 #1"] * 20, outcomes)

    def test_who_needs_a_fresher_one_waits_for_the_next(self) -> None:
        self.source.free = False
        first, early = self._in_threads(self._get, 1)
        self.assertTrue(self.source.begun.acquire(timeout=5))
        self.source.now += 1  # somebody writes, and wants to see it
        later, late = self._in_threads(lambda: self._get(not_before=101.0), 10)
        # Not beside the one under way: that would double the load.
        self.assertFalse(self.source.begun.acquire(timeout=0.05))
        self.source.go_on.release()
        self.assertTrue(self.source.begun.acquire(timeout=5))
        self._finish(first)
        self.assertEqual(["demo-1 #1"], early)
        self.source.go_on.release()
        self._finish(later)
        self.assertEqual(["demo-1 #2"] * 10, late)
        self.assertEqual(2, self.source.readings)

    def test_one_slow_release_does_not_hold_up_another(self) -> None:
        self.source.free = False
        slow, _ = self._in_threads(self._get, 1)
        self.assertTrue(self.source.begun.acquire(timeout=5))
        self.source.free = True
        self.assertEqual("demo-2 #2", self._get(OTHER))
        self.source.go_on.release()
        self._finish(slow)

    def test_a_reading_that_fails_fails_once_for_all(self) -> None:
        self.source.free = False
        self.source.errors = [exceptions.ManagementUnreachable("no answer")]
        threads, outcomes = self._in_threads(self._get, 20)
        self.assertTrue(self.source.begun.acquire(timeout=5))
        self.source.go_on.release()
        self._finish(threads)
        self.assertEqual(["no answer"] * 20, outcomes)
        self.assertEqual(1, self.source.readings)

    def test_nobody_waits_for_a_reading_that_broke_off(self) -> None:
        self.source.free = False
        self.source.errors = [ZeroDivisionError()]
        broken: list[str] = []

        def read() -> None:
            try:
                self._get()
            except ZeroDivisionError:
                broken.append("its own error")

        first = threading.Thread(target=read, daemon=True)
        first.start()
        self.assertTrue(self.source.begun.acquire(timeout=5))
        waiting, outcomes = self._in_threads(self._get, 5)
        self.source.go_on.release()
        self._finish([first, *waiting])
        self.assertEqual(["its own error"], broken)
        self.assertEqual(
            ["reading demo-1 broke off: ZeroDivisionError"] * 5, outcomes
        )


class FailureTest(_SnapshotTest):
    def test_an_old_view_is_never_taken_for_a_failed_one(self) -> None:
        self._get()
        self.source.now += 3
        self.source.errors = [exceptions.ManagementUnreachable("no answer")]
        self.assertRaises(exceptions.ManagementUnreachable, self._get)

    def test_a_failure_is_remembered_for_a_moment_only(self) -> None:
        self.source.errors = [exceptions.ManagementUnreachable("no answer")]
        for _ in range(3):
            self.assertRaises(exceptions.ManagementUnreachable, self._get)
        self.assertEqual(1, self.source.readings)
        self.source.now += 2.1
        self.assertEqual("demo-1 #2", self._get())
