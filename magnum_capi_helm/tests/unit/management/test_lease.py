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
"""The Lease: one writer, whose death others notice by their own clock."""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock

import fixtures
from oslotest import base

from magnum_capi_helm import exceptions
from magnum_capi_helm import fence
from magnum_capi_helm.management import insistence
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.operations import spent
from magnum_capi_helm.tests.unit.management import api

NAMESPACE = "magnum-p1"
RELEASE = "demo-1"
LABELS = {"magnum.openstack.org/cluster-uuid": "u"}
WHERE = ("leases", NAMESPACE, RELEASE)


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class _LeaseTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory()
        self.clock = Clock()

    def _leases(self, holder: str = "one") -> lease.Leases:
        return lease.Leases(self.api.client(), holder, self.clock)

    def _hold(self, leases: lease.Leases) -> Any:
        return leases.hold(NAMESPACE, RELEASE, LABELS)

    def _live(self) -> dict[str, Any]:
        found = self.api.find(*WHERE)
        assert found is not None
        return found

    def _left_behind(self, holder: str = "dead/1", **spec: Any) -> None:
        """A Lease whose holder does not renew it any more."""
        self.api.put(
            "leases",
            {
                "metadata": {"name": RELEASE, "namespace": NAMESPACE},
                "spec": {
                    "holderIdentity": holder,
                    "leaseDurationSeconds": 30,
                    "renewTime": "2026-11-21T12:00:00.000000Z",
                    **spec,
                },
            },
        )

    def _refused(self, leases: lease.Leases) -> None:
        error = self.assertRaises(
            exceptions.LeaseHeld, self._hold(leases).__enter__
        )
        self.assertEqual(f"another conductor works on {RELEASE}", str(error))


class HoldTest(_LeaseTest):
    def test_the_first_makes_it_with_labels(self) -> None:
        with self._hold(self._leases()):
            live = self._live()
        self.assertEqual(LABELS, live["metadata"]["labels"])
        self.assertTrue(live["spec"]["holderIdentity"].startswith("one/"))
        self.assertEqual(30, live["spec"]["leaseDurationSeconds"])
        self.assertRegex(
            live["spec"]["renewTime"],
            r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
        )

    def test_a_new_one_is_made_unseen(self) -> None:
        asked: list[str] = []
        self.api.before = lambda method, path: asked.append(method)
        leases = self._leases()
        with leases.hold(NAMESPACE, RELEASE, LABELS, new=True):
            self.assertEqual(["POST"], asked)
            # One that is there after all is looked at.
            again = self._leases("two").hold(
                NAMESPACE, RELEASE, LABELS, new=True
            )
            self.assertRaises(exceptions.LeaseHeld, again.__enter__)

    def test_nobody_else_gets_it_meanwhile(self) -> None:
        mine, other = self._leases(), self._leases("two")
        with self._hold(mine):
            self._refused(other)
            # Not even another thread of the same conductor.
            self._refused(mine)

    def test_it_is_given_back(self) -> None:
        with self._hold(self._leases()):
            pass
        self.assertEqual("", self._live()["spec"]["holderIdentity"])
        with self._hold(self._leases("two")):
            pass

    def test_it_is_given_back_when_the_work_fails(self) -> None:
        def work() -> None:
            with self._hold(self._leases()):
                raise exceptions.HelmBusy("busy")

        self.assertRaises(exceptions.HelmBusy, work)
        self.assertEqual("", self._live()["spec"]["holderIdentity"])

    def test_of_two_that_take_it_at_once_one_gets_it(self) -> None:
        self._left_behind(holder="")
        rival = self._leases("two")

        def overtake(method: str, path: str) -> None:
            if method == "PUT":
                self.api.before = lambda method, path: None
                hold = self._hold(rival)
                hold.__enter__()
                self.addCleanup(hold.__exit__, None, None, None)

        self.api.before = overtake
        self._refused(self._leases())
        holder = self._live()["spec"]["holderIdentity"]
        self.assertTrue(holder.startswith("two/"), holder)

    def test_of_two_that_make_it_at_once_one_gets_it(self) -> None:
        def overtake(method: str, path: str) -> None:
            if method == "POST":
                self._left_behind("two/1")

        self.api.before = overtake
        self._refused(self._leases())


class ExpiryTest(_LeaseTest):
    def test_a_holder_is_alive_until_its_time_passed_unrenewed(self) -> None:
        self._left_behind()
        leases = self._leases()
        found = []
        for seconds in (0, 29.9, 0.1):
            self.clock.now += seconds
            found.append(leases.held(leases.read(NAMESPACE, RELEASE)))
        self.assertEqual([True, True, False], found)

    def test_the_time_in_the_lease_is_never_compared_with_ours(self) -> None:
        for stamp in ("1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
            self._left_behind(renewTime=stamp)
            leases = self._leases()
            self.assertTrue(leases.held(self._live()))
            self.clock.now += 30
            self.assertFalse(leases.held(self._live()))

    def test_a_renewal_starts_the_wait_again(self) -> None:
        leases = self._leases()
        self._left_behind(renewTime="1")
        leases.held(self._live())
        self.clock.now += 29
        self._left_behind(renewTime="2")
        self.assertTrue(leases.held(self._live()))
        self.clock.now += 29
        self.assertTrue(leases.held(self._live()))

    def test_another_holder_starts_the_wait_again(self) -> None:
        leases = self._leases()
        self._left_behind("dead/1")
        leases.held(self._live())
        self.clock.now += 30
        self._left_behind("dead/2")
        self.assertTrue(leases.held(self._live()))

    def test_the_leases_own_duration_counts(self) -> None:
        leases = self._leases()
        self._left_behind(leaseDurationSeconds=5)
        leases.held(self._live())
        self.clock.now += 5
        self.assertFalse(leases.held(self._live()))

    def test_an_expired_lease_is_taken_with_all_it_carries(self) -> None:
        self._left_behind()
        leases = self._leases("two")
        leases.mark_deleted(NAMESPACE, RELEASE)
        self._refused(leases)
        self.clock.now += 30
        with self._hold(leases) as hold:
            self.assertTrue(hold.marked_deleted)
            holder = self._live()["spec"]["holderIdentity"]
            self.assertTrue(holder.startswith("two/"), holder)

    def test_none_and_a_free_one_are_not_held(self) -> None:
        leases = self._leases()
        self.assertFalse(leases.held(None))
        self.assertFalse(leases.held({"metadata": {"name": "x"}}))
        self._left_behind(holder="")
        self.assertFalse(leases.held(self._live()))


class RenewalTest(_LeaseTest):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(lease, "PERIOD", 0.001)
        patch.start()
        self.addCleanup(patch.stop)
        self.renewed = threading.Semaphore(0)
        self.reread = threading.Semaphore(0)

        def seen(method: str, path: str) -> None:
            (self.renewed if method == "PUT" else self.reread).release()

        self.api.before = seen

    def _wait(self, what: threading.Semaphore) -> None:
        self.assertTrue(what.acquire(timeout=5))

    def _drain(self, what: threading.Semaphore) -> None:
        while what.acquire(blocking=False):
            pass

    def test_it_is_renewed_while_it_is_held(self) -> None:
        with self._hold(self._leases()):
            before = self._live()["spec"]["renewTime"]
            # One that came before that says nothing. Of the next two, the
            # answer to the first precedes the request of the second.
            self._drain(self.renewed)
            self._wait(self.renewed)
            self._wait(self.renewed)
            self.assertNotEqual(before, self._live()["spec"]["renewTime"])

    def test_renewal_ends_with_the_hold(self) -> None:
        with self._hold(self._leases()):
            self._wait(self.renewed)
        names = [each.name for each in threading.enumerate()]
        self.assertNotIn(f"lease-{RELEASE}", names)

    def test_a_delete_mark_survives_renewals_and_the_end(self) -> None:
        leases = self._leases()
        with self._hold(leases) as hold:
            self.assertFalse(hold.marked_deleted)
            self._leases("two").mark_deleted(NAMESPACE, RELEASE)
            self._drain(self.renewed)
            # One that may have begun before the mark, one that meets it and
            # reads the Lease again, and one that keeps it.
            for _ in range(3):
                self._wait(self.renewed)
            self.assertTrue(hold.marked_deleted)
            self.assertFalse(hold.lost)
        live = self._live()
        self.assertIn(lease.DELETE_MARK, live["metadata"]["annotations"])
        self.assertEqual("", live["spec"]["holderIdentity"])

    def test_who_lost_it_to_another_leaves_it_alone(self) -> None:
        with self._hold(self._leases()) as hold:
            self._drain(self.reread)
            self._left_behind("thief/1")
            self._wait(self.reread)
        self.assertTrue(hold.lost)
        self.assertEqual("thief/1", self._live()["spec"]["holderIdentity"])

    def test_a_renewal_that_fails_is_tried_again(self) -> None:
        silent = self.api.before
        failed = threading.Event()

        def broken(method: str, path: str) -> None:
            if method == "PUT" and not failed.is_set():
                failed.set()
                raise exceptions.ManagementUnreachable("no answer")
            silent(method, path)

        with self._hold(self._leases()) as hold:
            self.api.before = broken
            self.assertTrue(failed.wait(5))
            self._drain(self.renewed)
            self._wait(self.renewed)
            self.assertFalse(hold.lost)


class UnheardTest(_LeaseTest):
    """A request is served, and its answer lost: it is made once more."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(insistence, "PAUSES", (0.0, 0.0))
        )

    def test_one_that_is_made_or_taken_is_held(self) -> None:
        for method, new in (("POST", True), ("PUT", False)):
            self.api.unheard.add(method)
            leases = self._leases()
            with leases.hold(NAMESPACE, RELEASE, LABELS, new=new) as hold:
                self.assertEqual(set(), self.api.unheard)
                self._refused(self._leases("two"))
                hold.confirm()
            self.assertEqual("", self._live()["spec"]["holderIdentity"])

    def test_one_that_is_given_back_is_free(self) -> None:
        with self._hold(self._leases()):
            self.api.unheard.add("PUT")
        self.assertEqual("", self._live()["spec"]["holderIdentity"])
        with self._hold(self._leases("two")):
            pass


class StandstillTest(_LeaseTest):
    """A conductor stands still while it holds the Lease, and wakes up."""

    def setUp(self) -> None:
        super().setUp()
        self.client = self.api.client()
        self.asked: list[str] = []
        self.api.before = lambda method, path: self.asked.append(
            f"{method} {path.rpartition('/')[2]}"
        )

    def _write(self) -> None:
        self.client.delete(kinds.SECRET, "n", "demo-1-intent")

    def _hold_and_wake(self, seconds: float, thief: str = "") -> list[str]:
        """What is asked for one write, that much after the Lease is taken."""
        with self._hold(self._leases()):
            self.clock.now += seconds
            if thief:
                self._left_behind(thief)
            self.asked.clear()
            try:
                self._write()
            finally:
                found = list(self.asked)
        return found

    def test_a_write_in_time_asks_nobody(self) -> None:
        for seconds in (0, lease.SAFE - 0.1):
            found = self._hold_and_wake(seconds)
            self.assertEqual(["DELETE demo-1-intent"], found)

    def test_a_late_write_renews_before(self) -> None:
        for seconds in (lease.SAFE, 3600):
            found = self._hold_and_wake(seconds)
            self.assertEqual(["PUT demo-1", "DELETE demo-1-intent"], found)

    def test_nothing_is_written_once_another_has_it(self) -> None:
        error = self.assertRaises(
            exceptions.LeaseLost, self._hold_and_wake, 31, "two/1"
        )
        self.assertEqual(
            "the Lease of demo-1 was taken over by two/1", str(error)
        )
        self.assertEqual(["PUT demo-1", "GET demo-1"], self.asked)
        self.assertEqual("two/1", self._live()["spec"]["holderIdentity"])

    def test_it_is_asked_but_once(self) -> None:
        with self._hold(self._leases()):
            self.clock.now += 31
            self._left_behind("two/1")
            self.assertRaises(exceptions.LeaseLost, self._write)
            self.asked.clear()
            self.assertRaises(exceptions.LeaseLost, self._write)
            self.assertEqual([], self.asked)

    def test_who_cannot_ask_does_not_write(self) -> None:
        def broken(method: str, path: str) -> None:
            raise exceptions.ManagementUnreachable("no answer")

        with self._hold(self._leases()):
            self.clock.now += 31
            self.api.before = broken
            self.assertRaises(exceptions.ManagementUnreachable, self._write)

    def test_reads_go_on(self) -> None:
        with self._hold(self._leases()):
            self.clock.now += 31
            self._left_behind("two/1")
            self.client.get(kinds.SECRET, "n", "demo-1-intent")

    def test_threads_of_the_block_are_held_back_as_well(self) -> None:
        with self._hold(self._leases()), spent.Threads(1) as pool:
            self.clock.now += 31
            self._left_behind("two/1")
            written = pool.submit(self._write)
            self.assertRaises(exceptions.LeaseLost, written.result)

    def test_without_a_lease_everybody_writes(self) -> None:
        with self._hold(self._leases()):
            self.clock.now += 31
            self._left_behind("two/1")
        self._write()
        fence.check()


class DeleteTest(_LeaseTest):
    def test_a_deleted_lease_is_gone_and_forgotten(self) -> None:
        leases = self._leases()
        self._left_behind()
        leases.held(self._live())
        self.clock.now += 30
        leases.delete(NAMESPACE, RELEASE)
        self.assertIsNone(self.api.find(*WHERE))
        leases.delete(NAMESPACE, RELEASE)
        # One that looks the same is a new one.
        self._left_behind()
        self.assertTrue(leases.held(self._live()))

    def test_a_mark_without_a_lease_is_no_error(self) -> None:
        self._leases().mark_deleted(NAMESPACE, RELEASE)
        self.assertIsNone(self.api.find(*WHERE))

    def test_a_lease_is_read_by_its_release(self) -> None:
        self._left_behind()
        leases = self._leases()
        found = leases.read(NAMESPACE, RELEASE)
        assert found is not None
        self.assertEqual("dead/1", found["spec"]["holderIdentity"])
        self.assertIsNone(leases.read(NAMESPACE, "other"))
        self.assertEqual("leases", kinds.LEASE.plural)
