# SPDX-License-Identifier: Apache-2.0

"""The Lease: one writer of a release at a time."""

from __future__ import annotations

import fixtures

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.kubernetes import lease_case


class HoldTest(lease_case.LeaseTestCase):
    def test_the_first_makes_it_with_labels(self) -> None:
        with self.hold(self.leases()):
            live = self.live()
        self.assertEqual(lease_case.LABELS, live["metadata"]["labels"])
        self.assertTrue(live["spec"]["holderIdentity"].startswith("one/"))
        self.assertEqual(30, live["spec"]["leaseDurationSeconds"])
        self.assertRegex(
            live["spec"]["renewTime"],
            r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
        )

    def test_a_new_one_is_made_unseen(self) -> None:
        asked: list[str] = []
        self.api.before = lambda method, path: asked.append(method)
        leases = self.leases()
        with leases.hold(
            lease_case.NAMESPACE,
            lease_case.RELEASE,
            lease_case.LABELS,
            new=True,
        ):
            self.assertEqual(["POST"], asked)
            # One that is there after all is looked at.
            again = self.leases("two").hold(
                lease_case.NAMESPACE,
                lease_case.RELEASE,
                lease_case.LABELS,
                new=True,
            )
            self.assertRaises(errors.LeaseHeld, again.__enter__)

    def test_another_holder_does_not_get_a_held_lease(self) -> None:
        mine, other = self.leases(), self.leases("two")
        with self.hold(mine):
            self.refused(other)
            # Not even another thread of the same conductor.
            self.refused(mine)

    def test_a_lease_is_given_back(self) -> None:
        with self.hold(self.leases()):
            pass
        self.assertEqual("", self.live()["spec"]["holderIdentity"])
        with self.hold(self.leases("two")):
            pass

    def test_a_lease_is_given_back_when_the_work_fails(self) -> None:
        def work() -> None:
            with self.hold(self.leases()):
                raise errors.HelmBusy("busy")

        self.assertRaises(errors.HelmBusy, work)
        self.assertEqual("", self.live()["spec"]["holderIdentity"])

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


class UnheardTest(lease_case.LeaseTestCase):
    """A request is served, and its answer lost: it is made once more."""

    def setUp(self) -> None:
        super().setUp()
        api.no_pauses(self)

    def test_a_lease_is_held_though_the_answer_is_lost(self) -> None:
        for method, new in (("POST", True), ("PUT", False)):
            self.api.unheard.add(method)
            leases = self.leases()
            with leases.hold(
                lease_case.NAMESPACE,
                lease_case.RELEASE,
                lease_case.LABELS,
                new=new,
            ) as hold:
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


class DeleteTest(lease_case.LeaseTestCase):
    def test_a_deleted_lease_is_gone_and_forgotten(self) -> None:
        leases = self.leases()
        self.left_behind()
        leases.held(self.live())
        self.clock.now += 30
        leases.delete(lease_case.NAMESPACE, lease_case.RELEASE)
        self.assertIsNone(self.api.find(*lease_case.WHERE))
        leases.delete(lease_case.NAMESPACE, lease_case.RELEASE)
        # One that looks the same is a new one.
        self.left_behind()
        self.assertTrue(leases.held(self.live()))

    def test_a_mark_without_a_lease_is_no_error(self) -> None:
        self.leases().mark_deleted(lease_case.NAMESPACE, lease_case.RELEASE)
        self.assertIsNone(self.api.find(*lease_case.WHERE))

    def test_a_lease_is_read_by_its_release(self) -> None:
        self.left_behind()
        leases = self.leases()
        found = leases.read(lease_case.NAMESPACE, lease_case.RELEASE)
        assert found is not None
        self.assertEqual("dead/1", found["spec"]["holderIdentity"])
        self.assertIsNone(leases.read(lease_case.NAMESPACE, "other"))
        self.assertEqual("leases", kinds.LEASE.plural)
