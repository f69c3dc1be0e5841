# SPDX-License-Identifier: Apache-2.0

"""Where the time of an operation goes."""

from __future__ import annotations

import threading
import time

from oslotest import base

from magnum_capi_helm.model import call


class CoveredTest(base.BaseTestCase):
    """Waits side by side count once."""

    def test_the_length_of_a_union(self) -> None:
        for intervals, expected in (
            ([], 0.0),
            ([(1.0, 3.0)], 2.0),
            ([(1.0, 3.0), (5.0, 6.0)], 3.0),
            ([(5.0, 6.0), (1.0, 3.0)], 3.0),
            ([(1.0, 3.0), (2.0, 4.0)], 3.0),
            ([(1.0, 9.0), (2.0, 4.0), (8.0, 10.0)], 9.0),
            ([(1.0, 3.0), (1.0, 3.0)], 2.0),
        ):
            self.assertEqual(expected, call.covered(intervals))


class SpentTest(base.BaseTestCase):
    """What is said of a block."""

    def _said(self, measured: call.Spent, what: str) -> str:
        found = [part for part in str(measured).split(", ") if what in part]
        return found[0]

    def test_what_is_waited_for_at_once_counts_for_one_of_them(self) -> None:
        measured = call.Spent()
        now = time.monotonic()
        measured.add(call.OPENSTACK, now - 3.0, now - 1.0)
        measured.add(call.OPENSTACK, now - 2.5, now - 0.5)
        measured.add(call.MANAGEMENT, now - 3.25, now - 1.5)
        measured.add(call.MANAGEMENT, now - 2.0, now - 1.5)
        measured.add(call.HELM, now - 0.75, now)
        text = str(measured)
        self.assertIn("helm 0.750 s (1 processes)", text)
        self.assertIn("OpenStack 2.250 s (2 requests)", text)
        self.assertIn("management cluster 0.250 s (2 requests)", text)

    def test_the_drivers_own_time_is_that_without_any_wait(self) -> None:
        with call.measured() as measured:
            time.sleep(0.1)
            with call.waiting(call.HELM):
                time.sleep(0.3)
            text = self._said(measured, "driver")
        own = float(text.split()[1])
        self.assertTrue(0.1 <= own < 0.3, text)

    def test_threads_are_measured_with_who_started_them(self) -> None:
        def ask() -> None:
            with call.waiting(call.OPENSTACK):
                pass

        with call.measured() as measured, call.Threads(2) as threads:
            threads.submit(ask).result()
            list(threads.map(lambda _: ask(), range(2)))
        self.assertIn("(3 requests)", self._said(measured, "OpenStack"))

    def test_other_operations_are_not(self) -> None:
        def another() -> None:
            with call.measured(), call.waiting(call.HELM):
                pass

        with call.measured() as measured:
            thread = threading.Thread(target=another)
            thread.start()
            thread.join()
        with call.waiting(call.HELM):
            pass
        self.assertIn("(0 processes)", self._said(measured, "helm"))

    def test_a_block_inside_another_goes_on_with_its_measure(self) -> None:
        with call.measured() as outer:
            with call.measured() as inner, call.waiting(call.HELM):
                pass
            self.assertIs(outer, inner)
            self.assertIn("(1 processes)", self._said(outer, "helm"))
