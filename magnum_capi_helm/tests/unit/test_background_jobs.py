# SPDX-License-Identifier: Apache-2.0

"""Jobs beside the polls: when they are due, and that nobody waits."""

from __future__ import annotations

from collections.abc import Callable
import threading

import fixtures
from oslotest import base

from magnum_capi_helm import schedules

ONE, TWO = ("n", "one"), ("n", "two")


class BackgroundJobsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 1000.0
        self.done: list[str] = []
        self.begun: list[Callable[[], None]] = []
        self.outcome = schedules.Outcome(60.0, pending=False)
        self.jobs = self.made(0.0)

    def made(self, spread: float) -> schedules.BackgroundJobs:
        """Return jobs whose thread a test runs."""
        return schedules.BackgroundJobs(
            lambda: self.now, lambda: spread, self.begun.append
        )

    def request(
        self,
        scope: tuple[str, str] = ONE,
        state: str = "a",
        now: bool = False,
    ) -> None:
        """A poll sees a cluster."""

        def job() -> schedules.Outcome:
            self.done.append(f"{scope[1]} {state}")
            return self.outcome

        self.jobs.request(scope, state, job, now=now)

    def run_thread(self) -> None:
        """The thread that was begun comes to its end."""
        self.begun.pop()()

    def test_nothing_is_done_in_the_caller(self) -> None:
        self.request()
        self.assertEqual([], self.done)
        self.run_thread()
        self.assertEqual(["one a"], self.done)

    def test_it_is_due_again_when_the_job_said(self) -> None:
        self.request()
        self.run_thread()
        self.now += 59
        self.request()
        self.assertEqual([], self.begun)
        self.now += 1
        self.request()
        self.run_thread()
        self.assertEqual(["one a", "one a"], self.done)

    def test_a_changed_state_is_due_at_once(self) -> None:
        self.request()
        self.run_thread()
        self.request(state="b")
        self.run_thread()
        self.request(state="b")
        self.request(state="b", now=True)
        self.run_thread()
        self.assertEqual(["one a", "one b", "one b"], self.done)

    def test_a_process_that_starts_runs_all_within_five_minutes(self) -> None:
        self.jobs = self.made(0.5)
        self.request()
        self.request(TWO, now=True)
        self.run_thread()
        self.now += 150
        self.request()
        self.run_thread()
        self.assertEqual(["two a", "one a"], self.done)

    def test_one_thread_does_all_and_the_newest_of_each(self) -> None:
        self.request()
        self.request(TWO)
        self.request(state="b")
        self.assertEqual(1, len(self.begun))
        self.run_thread()
        self.assertEqual(["one b", "two a"], self.done)

    def test_a_job_that_is_due_at_once_keeps_no_other_waiting(self) -> None:
        states = ["b", "c", "d"]

        def job() -> schedules.Outcome:
            self.done.append("one")
            if states:
                self.jobs.request(ONE, states.pop(), job)
            return self.outcome

        self.jobs.request(ONE, "a", job)
        self.request(TWO)
        self.run_thread()
        self.assertEqual(["one", "two a", "one", "one", "one"], self.done)

    def test_a_poll_meanwhile_repeats_nothing(self) -> None:
        def job() -> schedules.Outcome:
            self.request()
            self.done.append("first")
            return self.outcome

        self.jobs.request(ONE, "a", job)
        self.run_thread()
        self.assertEqual(["first"], self.done)

    def test_a_change_meanwhile_is_not_lost(self) -> None:
        def job() -> schedules.Outcome:
            self.request(state="b")
            self.done.append("first")
            return self.outcome

        self.jobs.request(ONE, "a", job)
        self.run_thread()
        self.assertEqual(["first", "one b"], self.done)

    def test_a_job_that_breaks_off_keeps_no_other_and_tells_no_text(
        self,
    ) -> None:
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))

        def job() -> schedules.Outcome:
            raise KeyError("canary")

        self.jobs.request(ONE, "a", job)
        self.request(TWO)
        self.run_thread()
        self.assertEqual(["two a"], self.done)
        self.assertEqual(
            "The delivery of one failed unexpectedly: KeyError\n", log.output
        )
        self.assertEqual(1, self.jobs.pending())

    def test_without_a_free_thread_the_next_poll_tries(self) -> None:
        def begin(work: Callable[[], None]) -> None:
            if not self.begun:
                self.begun.append(work)
                raise RuntimeError("can't start new thread")
            work()

        self.jobs = schedules.BackgroundJobs(
            lambda: self.now, lambda: 0.0, begin
        )
        self.request()
        self.assertEqual([], self.done)
        self.request()
        self.assertEqual(["one a"], self.done)

    def test_number_of_pending_jobs(self) -> None:
        self.assertIsNone(self.jobs.pending())
        self.outcome = schedules.Outcome(1.0, pending=True)
        self.request()
        self.request(TWO)
        self.run_thread()
        self.assertEqual(2, self.jobs.pending())
        self.jobs.forget(TWO)
        self.assertEqual(1, self.jobs.pending())
        self.outcome = schedules.Outcome(1.0)
        self.request(now=True)
        self.run_thread()
        self.assertEqual(1, self.jobs.pending())

    def test_a_thread_of_its_own(self) -> None:
        found: list[str] = []
        done = threading.Event()

        def job() -> schedules.Outcome:
            found.append(threading.current_thread().name)
            done.set()
            return self.outcome

        schedules.BackgroundJobs(spread=lambda: 0.0).request(ONE, "a", job)
        self.assertTrue(done.wait(30.0))
        self.assertEqual(["delivery"], found)
