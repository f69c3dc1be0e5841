# SPDX-License-Identifier: Apache-2.0

"""Limits of time while a management cluster is frozen, or away."""

from __future__ import annotations

import time

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import freezing


class ClockTest(freezing.FrozenTestCase):
    """Time in which nothing could go on does not count."""

    def creating(self, minutes: float) -> None:
        """A create with 60 minutes began that long ago."""
        self.create()
        self.backdate(minutes)

    def away(self, minutes: float) -> None:
        """This conductor could not read for so long, until now."""
        rt = runtime.get()
        rt.downtime.begin(time.time() - minutes * 60)
        rt.downtime.end()

    def test_a_create(self) -> None:
        rows: tuple[tuple[float, float, float, str], ...] = (
            # created, frozen, away: minutes ago
            (70, 0, 0, "CREATE_FAILED"),
            (70, 20, 0, "CREATE_IN_PROGRESS"),
            (70, 0, 20, "CREATE_IN_PROGRESS"),
            (90, 20, 20, "CREATE_FAILED"),
            (70, 5, 0, "CREATE_FAILED"),
        )
        self.creating(0)
        for created, frozen, away, status in rows:
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
            if away:
                self.away(away)
            self.poll()
            self.assertEqual(status, self.row().status, (frozen, away))

    def test_while_it_is_frozen(self) -> None:
        self.creating(70)
        self.freeze(20)
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)

    def test_an_update_that_was_not_applied(self) -> None:
        self.complete()
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE] * 9
        self.resize(3)
        self.poll()
        limit = conf.CONF.capi_helm.operation_timeout
        self.plane.clock.advance(limit * 60 + 60)
        self.away(limit / 2)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(limit * 60)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)

    def test_a_deletion(self) -> None:
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


class StartedTest(freezing.FrozenTestCase):
    """A conductor that was started after an outage, and knows of none."""

    def start(self) -> None:
        """Another one, which has seen nothing yet."""
        self.plane.watched = 0.0
        base.install(self, self.plane.runtime("conductor-2"))

    def lasts(self, seconds: float, status: str) -> None:
        """It is in progress for so long, and then that."""
        action = self.row().status.partition("_")[0]
        for after, expected in (
            (0, f"{action}_IN_PROGRESS"),
            (seconds - 10, f"{action}_IN_PROGRESS"),
            (20, status),
        ):
            self.plane.clock.advance(after)
            self.poll()
            self.assertEqual(expected, self.row().status, after)

    def test_a_create_has_ten_minutes_more(self) -> None:
        self.create()
        self.backdate(90)
        self.start()
        self.lasts(600, "CREATE_FAILED")

    def test_or_as_long_as_it_has_at_all(self) -> None:
        self.create(create_timeout=2)
        self.backdate(90)
        self.start()
        self.lasts(120, "CREATE_FAILED")

    def test_a_deletion_has_them_too(self) -> None:
        self.complete()
        self.delete()
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {
                "metadata": {
                    "annotations": {
                        lease.DELETE_MARK: "2026-01-01T00:00:00.000000Z"
                    }
                }
            },
        )
        self.start()
        self.lasts(600, "DELETE_FAILED")

    def test_in_them_it_is_complete(self) -> None:
        self.create()
        self.backdate(90)
        self.start()
        self.poll()
        self.capi.settle()
        self.plane.clock.advance(300)
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
