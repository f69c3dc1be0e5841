# SPDX-License-Identifier: Apache-2.0

"""The Lease: one writer of a release at a time, who renews it or loses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import contextlib
import pathlib
import threading
from typing import Any
from unittest import mock

import fixtures
from oslotest import base

import magnum_capi_helm
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api

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


class LeaseTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory()
        self.clock = Clock()

    def leases(self, holder: str = "one") -> lease.Leases:
        return lease.Leases(
            self.api.client(),
            holder,
            check_allowed=lambda: None,
            check_missing=lambda _: None,
            before_hold=lambda _: None,
            clock=self.clock,
        )

    def hold(self, leases: lease.Leases, **more: bool) -> Any:
        return leases.hold(NAMESPACE, RELEASE, LABELS, **more)

    def live(self) -> dict[str, Any]:
        found = self.api.find(*WHERE)
        assert found is not None
        return found

    def left_behind(self, holder: str = "dead/1", **spec: Any) -> None:
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

    def refused(self, leases: lease.Leases) -> None:
        error = self.assertRaises(
            errors.LeaseHeld, self.hold(leases).__enter__
        )
        self.assertEqual(f"another conductor works on {RELEASE}", str(error))


class HoldTest(LeaseTestCase):
    def test_the_first_makes_it_with_labels(self) -> None:
        with self.hold(self.leases()):
            live = self.live()
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
        with self.hold(self.leases(), new=True):
            self.assertEqual(["POST"], asked)
            # One that is there after all is looked at.
            again = self.hold(self.leases("two"), new=True)
            self.assertRaises(errors.LeaseHeld, again.__enter__)

    def test_another_holder_does_not_get_a_held_lease(self) -> None:
        mine, other = self.leases(), self.leases("two")
        with self.hold(mine):
            self.refused(other)
            # Not even another thread of the same conductor.
            self.refused(mine)

    def test_a_lease_is_given_back_however_the_work_ends(self) -> None:
        for error in (None, errors.HelmBusy("busy")):
            with (
                contextlib.suppress(errors.HelmBusy),
                self.hold(self.leases()),
            ):
                if error:
                    raise error
            self.assertEqual("", self.live()["spec"]["holderIdentity"])
        with self.hold(self.leases("two")):
            pass

    def test_a_lease_is_given_back_when_no_thread_can_renew_it(self) -> None:
        full = RuntimeError("can't start new thread")
        with fixtures.MockPatch("threading.Thread.start", side_effect=full):
            hold = self.hold(self.leases())
            self.assertRaises(RuntimeError, hold.__enter__)
        self.assertEqual("", self.live()["spec"]["holderIdentity"])

    def test_two_takers_at_once_end_with_one_holder(self) -> None:
        self.left_behind(holder="")
        rival = self.leases("two")

        def overtake(method: str, path: str) -> None:
            if method == "PUT":
                self.api.before = lambda method, path: None
                hold = self.hold(rival)
                hold.__enter__()
                self.addCleanup(hold.__exit__, None, None, None)

        self.api.before = overtake
        self.refused(self.leases())
        holder = self.live()["spec"]["holderIdentity"]
        self.assertTrue(holder.startswith("two/"), holder)

    def test_two_makers_at_once_end_with_one_holder(self) -> None:
        def overtake(method: str, path: str) -> None:
            if method == "POST":
                self.left_behind("two/1")

        self.api.before = overtake
        self.refused(self.leases())


class UnheardTest(LeaseTestCase):
    """A request is served, and its answer lost: it is made once more."""

    def setUp(self) -> None:
        super().setUp()
        api.no_pauses(self)

    def test_a_lease_is_held_though_the_answer_is_lost(self) -> None:
        for method, new in (("POST", True), ("PUT", False)):
            self.api.unheard.add(method)
            with self.hold(self.leases(), new=new) as hold:
                self.assertEqual(set(), self.api.unheard)
                self.refused(self.leases("two"))
                hold.confirm()
            self.assertEqual("", self.live()["spec"]["holderIdentity"])

    def test_a_lease_is_free_though_the_answer_is_lost(self) -> None:
        with self.hold(self.leases()):
            self.api.unheard.add("PUT")
        self.assertEqual("", self.live()["spec"]["holderIdentity"])
        with self.hold(self.leases("two")):
            pass


class DeleteTest(LeaseTestCase):
    def test_a_deleted_lease_is_gone_and_forgotten(self) -> None:
        leases = self.leases()
        self.left_behind()
        leases.held(self.live())
        self.clock.now += 30
        for _ in range(2):
            leases.delete(NAMESPACE, RELEASE)
            self.assertIsNone(self.api.find(*WHERE))
        # One that looks the same is a new one.
        self.left_behind()
        self.assertTrue(leases.held(self.live()))

    def test_a_mark_without_a_lease_is_no_error(self) -> None:
        self.leases().mark_deleted(NAMESPACE, RELEASE)
        self.assertIsNone(self.api.find(*WHERE))

    def test_a_lease_is_read_by_its_release(self) -> None:
        self.left_behind()
        leases = self.leases()
        found = leases.read(NAMESPACE, RELEASE)
        assert found is not None
        self.assertEqual("dead/1", found["spec"]["holderIdentity"])
        self.assertIsNone(leases.read(NAMESPACE, "other"))


class RenewalTest(LeaseTestCase):
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

    def test_a_held_lease_is_renewed(self) -> None:
        with self.hold(self.leases()):
            before = self.live()["spec"]["renewTime"]
            # One that came before that says nothing. Of the next two, the
            # answer to the first precedes the request of the second.
            self._drain(self.renewed)
            self._wait(self.renewed)
            self._wait(self.renewed)
            self.assertNotEqual(before, self.live()["spec"]["renewTime"])

    def test_renewal_ends_with_the_hold(self) -> None:
        with self.hold(self.leases()):
            self._wait(self.renewed)
        names = [each.name for each in threading.enumerate()]
        self.assertNotIn(f"lease-{RELEASE}", names)

    def test_a_delete_mark_survives_renewals_and_the_end(self) -> None:
        leases = self.leases()
        with self.hold(leases) as hold:
            self.assertFalse(hold.marked_deleted)
            self.leases("two").mark_deleted(NAMESPACE, RELEASE)
            self._drain(self.renewed)
            # One that may have begun before the mark, one that meets it and
            # reads the Lease again, and one that keeps it.
            for _ in range(3):
                self._wait(self.renewed)
            self.assertTrue(hold.marked_deleted)
            self.assertFalse(hold.lost)
        live = self.live()
        self.assertIn(lease.DELETE_MARK, live["metadata"]["annotations"])
        self.assertEqual("", live["spec"]["holderIdentity"])

    def test_a_lost_lease_is_left_alone(self) -> None:
        with self.hold(self.leases()) as hold:
            self._drain(self.reread)
            self.left_behind("thief/1")
            self._wait(self.reread)
        self.assertTrue(hold.lost)
        self.assertEqual("thief/1", self.live()["spec"]["holderIdentity"])

    def test_a_renewal_that_fails_is_tried_again(self) -> None:
        silent = self.api.before
        failed = threading.Event()

        def broken(method: str, path: str) -> None:
            if method == "PUT" and not failed.is_set():
                failed.set()
                raise errors.ManagementUnreachable("no answer")
            silent(method, path)

        with self.hold(self.leases()) as hold:
            self.api.before = broken
            self.assertTrue(failed.wait(5))
            self._drain(self.renewed)
            self._wait(self.renewed)
            self.assertFalse(hold.lost)


class ExpiryTest(LeaseTestCase):
    def test_a_holder_is_alive_until_its_time_passed_unrenewed(self) -> None:
        """The time in the Lease is never compared with ours."""
        rows: tuple[tuple[dict[str, Any], int], ...] = (
            ({"renewTime": "1970-01-01T00:00:00Z"}, 30),
            ({"renewTime": "2999-01-01T00:00:00Z"}, 30),
            ({"leaseDurationSeconds": 5}, 5),
        )
        for spec, seconds in rows:
            self.left_behind(**spec)
            leases = self.leases()
            found = []
            for later in (0, seconds - 0.1, 0.1):
                self.clock.now += later
                found.append(leases.held(leases.read(NAMESPACE, RELEASE)))
            self.assertEqual([True, True, False], found)

    def test_a_renewal_or_another_holder_starts_the_wait_again(self) -> None:
        for new in ({"renewTime": "2"}, {"holder": "dead/2"}):
            leases = self.leases()
            self.left_behind(renewTime="1")
            leases.held(self.live())
            self.clock.now += 29
            self.left_behind(**{"renewTime": "1", **new})
            for _ in range(2):
                self.assertTrue(leases.held(self.live()))
                self.clock.now += 29

    def test_an_expired_lease_is_taken_with_all_it_carries(self) -> None:
        self.left_behind()
        leases = self.leases("two")
        leases.mark_deleted(NAMESPACE, RELEASE)
        self.refused(leases)
        self.clock.now += 30
        with self.hold(leases) as hold:
            self.assertTrue(hold.marked_deleted)
            holder = self.live()["spec"]["holderIdentity"]
            self.assertTrue(holder.startswith("two/"), holder)

    def test_none_and_a_free_one_are_not_held(self) -> None:
        leases = self.leases()
        self.assertFalse(leases.held(None))
        self.assertFalse(leases.held({"metadata": {"name": "x"}}))
        self.left_behind(holder="")
        self.assertFalse(leases.held(self.live()))


_WITHOUT_LEASE = """\
database/status_writer.py: all polls write what they read
database/status_writer.py: nothing was begun
database/status_writer.py: a deletion waits for no operation
database/status_writer.py: a deletion waits for no operation
database/status_writer.py: a request, which the next holder finds
database/status_writer.py: it asks for polls alone
database/status_writer.py: it ends nothing
delivery.py: the API server compares the record
kubernetes/lease.py: a deletion waits for no operation
kubernetes/lease.py: a deletion waits for no operation
kubernetes/lease.py: the Lease itself, when its cluster is gone
kubernetes/lease.py: the Lease itself, which the API server compares
kubernetes/maintenance.py: a freeze holds for all clusters
kubernetes/permissions.py: a review of access is a question
lifecycle/delete.py: without a namespace there is no Lease
lifecycle/delete.py: nothing is left to guard
lifecycle/nodegroups.py: nothing was made for the cluster
lifecycle/plan_steps.py: the hook waits for nobody
lifecycle/poll_status.py: no management cluster has anything of it
lifecycle/poll_status.py: all polls write what they read
lifecycle/resize.py: marks and counts of autoscaled groups
management_clusters/identity.py: all polls write the same identity
management_clusters/placement.py: a namespace belongs to all clusters of a \
project
operations/cluster_release.py: keys of requests, which the next holder takes
"""


class StandstillTest(LeaseTestCase):
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

    @contextlib.contextmanager
    def _robbed(self) -> Iterator[lease.Hold]:
        """In the block it wakes up late: another one has the Lease."""
        with self.hold(self.leases()) as hold:
            self.clock.now += 31
            self.left_behind("two/1")
            yield hold

    def _hold_and_wake(self, seconds: float, thief: str = "") -> list[str]:
        """What is asked for one write, that much after the Lease is taken."""
        with self.hold(self.leases()):
            self.clock.now += seconds
            if thief:
                self.left_behind(thief)
            self.asked.clear()
            try:
                self._write()
            finally:
                found = list(self.asked)
        return found

    def test_a_write_in_time_asks_nobody_and_a_late_one_renews(self) -> None:
        write = "DELETE demo-1-intent"
        for seconds, asked in (
            (0, [write]),
            (lease.SAFE - 0.1, [write]),
            (lease.SAFE, ["PUT demo-1", write]),
            (3600, ["PUT demo-1", write]),
        ):
            self.assertEqual(asked, self._hold_and_wake(seconds))

    def test_a_holder_that_lost_its_lease_writes_nothing(self) -> None:
        error = self.assertRaises(
            errors.LeaseLost, self._hold_and_wake, 31, "two/1"
        )
        self.assertEqual(
            "the Lease of demo-1 was taken over by two/1", str(error)
        )
        self.assertEqual(["PUT demo-1", "GET demo-1"], self.asked)
        self.assertEqual("two/1", self.live()["spec"]["holderIdentity"])

    def test_a_lost_lease_is_asked_for_once_and_reads_go_on(self) -> None:
        with self._robbed():
            self.assertRaises(errors.LeaseLost, self._write)
            self.asked.clear()
            self.assertRaises(errors.LeaseLost, self._write)
            self.client.get(kinds.SECRET, "n", "demo-1-intent")
            self.assertEqual(["GET demo-1-intent"], self.asked)

    def test_without_an_answer_there_is_no_write(self) -> None:
        with self.hold(self.leases()):
            self.clock.now += 31
            broken = errors.ManagementUnreachable("no answer")
            self.api.before = mock.Mock(side_effect=broken)
            self.assertRaises(errors.ManagementUnreachable, self._write)

    def test_threads_of_the_block_are_held_back_as_well(self) -> None:
        with self._robbed(), call.Threads(1) as pool:
            written = pool.submit(self._write)
            self.assertRaises(errors.LeaseLost, written.result)

    def test_programs_of_the_block_learn_that_it_is_lost(self) -> None:
        with self.hold(self.leases()) as hold:
            lost = call.lease_lost()
            self.assertFalse(lost())
            self.clock.now += 31
            self.left_behind("two/1")
            self.assertRaises(errors.LeaseLost, hold.confirm)
            self.assertTrue(lost())
        self.assertFalse(call.lease_lost()())

    def test_a_call_without_the_lease_writes_nothing(self) -> None:
        with call.acting(call.Actor("a call")):
            self.assertRaises(errors.LeaseMissing, self._write)
            with self.hold(self.leases()):
                with call.acting(call.Actor("another call")):
                    self.assertRaises(errors.LeaseMissing, self._write)
                self._write()
            self.assertRaises(errors.LeaseMissing, self._write)
        self.assertEqual(1, self.asked.count("DELETE demo-1-intent"))

    def test_a_writer_that_needs_no_lease_heeds_a_lost_one(self) -> None:
        with call.without_lease("it is a test"):
            self._write()
        with self._robbed(), call.without_lease("it is a test"):
            self.assertRaises(errors.LeaseLost, self._write)


class WithoutLeaseTest(base.BaseTestCase):
    def test_no_other_writer_goes_without_the_lease(self) -> None:
        self.assertEqual(_WITHOUT_LEASE.splitlines(), list(_without_lease()))


def _without_lease() -> Iterator[str]:
    package = pathlib.Path(magnum_capi_helm.__file__).parent
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        for each in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(each, ast.Call)
                and ast.unparse(each.func) == "call.without_lease"
                and place.parts[0] != "tests"
            ):
                yield f"{place}: {ast.literal_eval(each.args[0])}"
