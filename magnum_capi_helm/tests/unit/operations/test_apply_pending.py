# SPDX-License-Identifier: Apache-2.0

"""Pending revisions are given up after the time that their helm has."""

from __future__ import annotations

from typing import Any, cast

from magnum_capi_helm import runtime
from magnum_capi_helm import schedules
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import apply
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit.lifecycle import base

SCOPE = (base.NAMESPACE, base.RELEASE)


class PendingRevisionTest(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def conductor(self, seconds: int) -> runtime.Runtime:
        """Return a runtime whose helms may take so long."""
        conf.CONF.set_override("helm_timeout", seconds, "capi_helm")
        built = runtime.build(cast("client.Client", self.management))
        built.ages = schedules.AgeTracker(self.plane.clock)
        return built

    def begun(
        self,
        status: str = "pending-upgrade",
        chart: str = "0.27.0",
        **changed: object,
    ) -> None:
        """A helm began the next revision, with the values that there are."""
        made = records.Revision(
            release=base.RELEASE,
            namespace=base.NAMESPACE,
            version=2,
            status=status,
            chart_version=chart,
            values={**self.helm.upgrades[0].values, **changed},
        ).record()
        self.server.create(kinds.SECRET, made)

    def ended(self) -> None:
        """Its record is gone."""
        name = names.helm_record(base.RELEASE, 2)
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)

    def patience(self, rt: runtime.Runtime) -> float:
        """For how many seconds the newest revision is left to somebody."""
        release = held.release(self.row(), rt)
        revisions = release.revisions()
        for seconds in range(0, 1000, 10):
            try:
                apply.give_up_dead(release, revisions)
            except errors.HelmBusy:
                self.plane.clock.advance(10)
                continue
            return seconds
        raise AssertionError

    def test_any_helm_has_the_time_that_one_of_ours_has(self) -> None:
        rows: tuple[tuple[int, dict[str, Any], float], ...] = (
            (60, {}, 90),
            (60, {"status": "pending-install"}, 90),
            (60, {"status": "pending-rollback"}, 90),
            (60, {"chart": "0.28.0"}, 90),
            (60, {"osDistro": "flatcar"}, 90),
            (300, {}, 330),
            (600, {"status": "pending-rollback"}, 630),
        )
        for timeout, change, seconds in rows:
            self.begun(**change)
            rt = self.conductor(timeout)
            self.assertEqual(seconds, self.patience(rt), (timeout, change))
            self.ended()
