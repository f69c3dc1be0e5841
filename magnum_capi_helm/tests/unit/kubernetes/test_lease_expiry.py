# SPDX-License-Identifier: Apache-2.0

"""A holder's death: others notice it by their own clock."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.kubernetes import lease_case


class ExpiryTest(lease_case.LeaseTestCase):
    def test_a_holder_is_alive_until_its_time_passed_unrenewed(self) -> None:
        self.left_behind()
        leases = self.leases()
        found = []
        for seconds in (0, 29.9, 0.1):
            self.clock.now += seconds
            found.append(
                leases.held(
                    leases.read(lease_case.NAMESPACE, lease_case.RELEASE)
                )
            )
        self.assertEqual([True, True, False], found)

    def test_the_time_in_the_lease_is_never_compared_with_ours(self) -> None:
        for stamp in ("1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
            self.left_behind(renewTime=stamp)
            leases = self.leases()
            self.assertTrue(leases.held(self.live()))
            self.clock.now += 30
            self.assertFalse(leases.held(self.live()))

    def test_a_renewal_starts_the_wait_again(self) -> None:
        leases = self.leases()
        self.left_behind(renewTime="1")
        leases.held(self.live())
        self.clock.now += 29
        self.left_behind(renewTime="2")
        self.assertTrue(leases.held(self.live()))
        self.clock.now += 29
        self.assertTrue(leases.held(self.live()))

    def test_another_holder_starts_the_wait_again(self) -> None:
        leases = self.leases()
        self.left_behind("dead/1")
        leases.held(self.live())
        self.clock.now += 30
        self.left_behind("dead/2")
        self.assertTrue(leases.held(self.live()))

    def test_the_leases_own_duration_counts(self) -> None:
        leases = self.leases()
        self.left_behind(leaseDurationSeconds=5)
        leases.held(self.live())
        self.clock.now += 5
        self.assertFalse(leases.held(self.live()))

    def test_an_expired_lease_is_taken_with_all_it_carries(self) -> None:
        self.left_behind()
        leases = self.leases("two")
        leases.mark_deleted(lease_case.NAMESPACE, lease_case.RELEASE)
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
