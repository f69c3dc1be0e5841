# SPDX-License-Identifier: Apache-2.0

"""Limits of time while a management cluster is frozen."""

from __future__ import annotations

import time

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import freezing


class ClockTest(freezing.FrozenTestCase):
    """The time of a freeze does not count."""

    def creating(self, minutes: float) -> None:
        """A create with 60 minutes began that long ago."""
        self.create()
        self.backdate(minutes)

    def test_a_create_gets_the_time_of_a_freeze_back(self) -> None:
        rows: tuple[tuple[float, float, str], ...] = (
            # created, frozen: minutes ago
            (70, 0, "CREATE_FAILED"),
            (70, 20, "CREATE_IN_PROGRESS"),
            (90, 20, "CREATE_FAILED"),
            (70, 5, "CREATE_FAILED"),
        )
        self.creating(0)
        for created, frozen, status in rows:
            row = self.row()
            row.status = "CREATE_IN_PROGRESS"
            row.save()
            base.install(self, self.plane.runtime())
            self.server.patch(
                kinds.NAMESPACE,
                "",
                "kube-system",
                {"metadata": {"annotations": None}},
            )
            self.backdate(created)
            if frozen:
                self.freeze(frozen)
                self.thaw()
            self.poll()
            self.assertEqual(status, self.row().status, frozen)

    def test_a_create_is_not_late_while_the_cluster_is_frozen(self) -> None:
        self.creating(70)
        self.freeze(20)
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)

    def test_an_update_that_was_not_applied_fails_in_the_end(self) -> None:
        self.complete()
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE] * 9
        self.resize(3)
        self.poll()
        limit = conf.CONF.capi_helm.operation_timeout
        self.plane.clock.advance(limit * 60 - 60)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(120)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)

    def test_a_deletion_gets_the_time_of_a_freeze_back(self) -> None:
        self.complete()
        self.delete()
        limit = conf.CONF.capi_helm.operation_timeout
        asked = time.gmtime(time.time() - (limit + 5) * 60)
        text = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", asked)
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"metadata": {"annotations": {lease.DELETE_MARK: text}}},
        )
        self.freeze(10)
        for _ in range(2):
            self.poll()
            self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
            self.thaw()
