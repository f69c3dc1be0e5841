# SPDX-License-Identifier: Apache-2.0

"""A conductor stands still in the middle of its work, and wakes up late.

Another one has taken its Lease meanwhile. Whatever it was about to do, it
writes nothing more, and the other one finishes.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import functools

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.tests.fakes import faults
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base

_ASKING = faults.Request("replace", "Lease", base.RELEASE)


class StandstillTest(base.FlowTestCase):
    """At every request of an operation, one after the other."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def test_a_resize_that_wakes_up_late_writes_nothing(self) -> None:
        def resize(count: int) -> Callable[[], None]:
            return functools.partial(self.resize, count)

        self._at_every_request(resize)

    def test_a_poll_that_wakes_up_late_writes_nothing(self) -> None:
        def poll(count: int) -> Callable[[], None]:
            self.resize(count)
            self.capi.settle()
            return self.poll

        self._at_every_request(poll)

    def test_a_rotation_that_wakes_up_late_writes_nothing(self) -> None:
        def rotate(count: int) -> Callable[[], None]:
            self.resize(count)
            self.capi.settle()
            self.poll()
            return self._rotate

        self._at_every_request(rotate)

    def _rotate(self) -> None:
        """The user is told that somebody else works on it."""
        with contextlib.suppress(exception.OperationInProgress):
            self.rotate()

    def _at_every_request(
        self, prepare: Callable[[int], Callable[[], None]]
    ) -> None:
        """Of those that are made while it holds the Lease.

        :param prepare: gives what makes them, for a size of the workers
        """
        held = self._held_at(prepare(3))
        self.assertGreater(len(held), 3)
        for at in held:
            count = 1 + at % 2
            self._settle()
            self._stand_still(at, prepare(count))
            self._settle()
            self.assertLessEqual(
                self.statuses(), {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
            )
            self.assertEqual(count, self.replicas())

    def _held_at(self, act: Callable[[], None]) -> list[int]:
        """Which of the requests are made with the Lease in the hand."""
        held: list[bool] = []
        self.management.before = lambda: held.append(self._holds())
        act()
        self.management.before = lambda: None
        return [at for at, holds in enumerate(held) if holds]

    def _stand_still(self, at: int, act: Callable[[], None]) -> None:
        """Before one request; afterwards nothing is written."""
        first = len(self.management.requests)
        # Helms and rows so far. No row is read here: it may be any thread.
        known: list[tuple[int, int]] = []

        def before() -> None:
            if len(self.management.requests) == first + at and not known:
                known.append((len(self.helm.upgrades), len(saved)))
                self.plane.clock.advance(lease.DURATION + 1)
                self._take("other")

        self.management.before = before
        with self.saves() as saved:
            act()
        self.management.before = lambda: None
        late = [
            each
            for each in self.management.requests[first + at :]
            # It asks whether the Lease is still its own.
            if each.verb not in management.READS and each != _ASKING
        ]
        self.assertEqual([], late, f"request {at}")
        helms, rows = known[0]
        self.assertEqual(helms, len(self.helm.upgrades), f"request {at}")
        # Magnum itself says that it began.
        ends = [each for each in saved[rows:] if "_COMPLETE" in each]
        self.assertEqual([], ends, f"request {at}")

    def _holds(self) -> bool:
        return self._holder().startswith("conductor-")

    def _holder(self) -> str:
        found = self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        return str(found["spec"]["holderIdentity"]) if found else ""

    def _take(self, holder: str) -> None:
        """Another conductor has the Lease, or has given it back."""
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": holder, "renewTime": holder}},
        )

    def _settle(self) -> None:
        """The other one has given it back; the polls go on."""
        self._take("")
        self.poll()
        self.capi.settle()
        self.poll()
        # As in the beginning, nobody knows whether it is frozen.
        self.plane.clock.advance(maintenance.AGE)
