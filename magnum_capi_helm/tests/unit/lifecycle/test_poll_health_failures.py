# SPDX-License-Identifier: Apache-2.0

"""Why a request came to nothing can be read before the cluster is well."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.tests.unit.lifecycle import base


class FailuresToldTest(base.FlowTestCase):
    """A complete cluster, of which something was asked that is refused."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        runtime.get().failure_display = 30.0
        self.refuse("node_count is at most 1, not 2")

    def refuse(self, why: str) -> None:
        """As Magnum's handler writes it."""
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.status_reason = why
        row.save()

    def polled(self) -> tuple[str, str | None]:
        """What a user reads after the next health poll."""
        self.health_poll()
        row = self.row()
        return row.status, row.status_reason

    def test_a_poll_right_after_it_takes_nothing_away(self) -> None:
        refused = ("UPDATE_FAILED", "node_count is at most 1, not 2")
        self.assertEqual(refused, self.polled())
        self.plane.clock.advance(20)
        self.assertEqual(refused, self.polled())
        self.plane.clock.advance(10)
        self.assertEqual(("UPDATE_COMPLETE", None), self.polled())

    def test_the_same_one_again_is_told_as_long(self) -> None:
        self.polled()
        self.plane.clock.advance(30)
        self.polled()
        self.assertEqual(("UPDATE_COMPLETE", None), self.polled())
        self.refuse("node_count is at most 1, not 2")
        self.assertEqual(
            ("UPDATE_FAILED", "node_count is at most 1, not 2"), self.polled()
        )

    def test_the_next_one_is_told_as_long(self) -> None:
        self.polled()
        self.plane.clock.advance(30)
        self.refuse("a rollback is not supported")
        self.assertEqual(
            ("UPDATE_FAILED", "a rollback is not supported"), self.polled()
        )
