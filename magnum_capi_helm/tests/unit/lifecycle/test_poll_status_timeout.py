# SPDX-License-Identifier: Apache-2.0

"""Polls of work that takes too long."""

from __future__ import annotations

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base


class TimeoutTest(base.FlowTestCase):
    """Work that takes too long."""

    def test_an_overdue_create_fails_with_the_lowest_reason(self) -> None:
        self.create(create_timeout=20)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=21)
        self.poll()
        row, groups = self.row(), self.groups()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn(cluster_api.NO_HOST, row.status_reason)
        self.assertEqual("CREATE_FAILED", groups["default-worker"].status)
        self.assertIn(
            cluster_api.NO_HOST, groups["default-worker"].status_reason
        )
        self.assertEqual("CREATE_COMPLETE", groups["default-master"].status)

    def test_a_create_that_is_not_overdue_goes_on(self) -> None:
        self.create(create_timeout=90)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=89)
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())

    def test_without_a_timeout_of_its_own_the_operators_counts(self) -> None:
        conf.CONF.set_override("operation_timeout", 30, "capi_helm")
        self.create(create_timeout=0)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=31)
        self.poll()
        self.assertEqual("CREATE_FAILED", self.row().status)

    def test_a_create_that_is_ready_too_late_is_complete(self) -> None:
        self.create()
        self.capi.settle()
        self.backdate(minutes=120)
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_create_that_never_began_fails_soon(self) -> None:
        conf.CONF.set_override("operation_timeout", 0, "capi_helm")
        self.saved(create_timeout=0)
        for minutes, status in ((14, "IN_PROGRESS"), (16, "FAILED")):
            self.backdate(minutes=minutes)
            self.poll()
            self.assertEqual({f"CREATE_{status}"}, self.statuses())
        self.assertEqual([], self.management.requests)

    def test_a_create_that_never_began_has_no_more_time_than_a_user_says(
        self,
    ) -> None:
        self.saved(create_timeout=5)
        self.backdate(minutes=6)
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())

    def test_an_overdue_update_fails(self) -> None:
        self.complete()
        self.resize(3)
        self.capi.fail_machine("default-worker")
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v2",
            {"metadata": {"labels": {"modifiedAt": "1"}}},
        )
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn(cluster_api.NO_HOST, self.row().status_reason)

    def test_an_update_that_helm_never_took_fails_in_the_end(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 100
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(3601)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
