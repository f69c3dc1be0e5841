# SPDX-License-Identifier: Apache-2.0

"""What polls pay for deliveries."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm import schedules
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import delivering


class CostTest(delivering.DeliveryCase):
    """What polls pay."""

    def requests(self) -> list[tuple[str, ...]]:
        """Those of a health poll."""
        self.management.requests.clear()
        self.later(30)
        return [tuple(each) for each in self.management.requests]

    def test_nothing_is_asked_for_and_made_while_it_is_off(self) -> None:
        self.option("delivery_url", "")
        self.created()
        self.later()
        asked = {each.name for each in self.management.requests}
        self.assertNotIn(delivering.SECRET, asked)
        self.assertIsNone(self.secret())
        self.assertEqual([], self.receiver.received)
        self.assertEqual([], self.warnings())

    def test_a_poll_asks_no_more_than_without_when_nothing_is_due(
        self,
    ) -> None:
        self.created()
        self.later()
        on = self.requests()
        self.option("delivery_url", "")
        self.assertEqual(self.requests(), on)

    def test_a_poll_waits_for_no_receiver(self) -> None:
        self.complete()
        begun: list[Any] = []
        rt = self.plane.runtime()
        slow = schedules.BackgroundJobs(
            self.plane.clock, lambda: 0.0, begun.append
        )
        rt.deliveries = slow
        base.install(self, rt)
        self.health_poll()
        self.assertEqual([], self.receiver.received)
        [work] = begun
        work()
        self.assertEqual(1, len(self.receiver.received))
