# SPDX-License-Identifier: Apache-2.0

"""A Lease that is held is renewed, until it is given back or lost."""

from __future__ import annotations

import threading
from unittest import mock

from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import lease_case


class RenewalTest(lease_case.LeaseTestCase):
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
        self.assertNotIn(f"lease-{lease_case.RELEASE}", names)

    def test_a_delete_mark_survives_renewals_and_the_end(self) -> None:
        leases = self.leases()
        with self.hold(leases) as hold:
            self.assertFalse(hold.marked_deleted)
            self.leases("two").mark_deleted(
                lease_case.NAMESPACE, lease_case.RELEASE
            )
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
