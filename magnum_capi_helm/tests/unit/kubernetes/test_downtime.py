# SPDX-License-Identifier: Apache-2.0

"""When a process could not read the management cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from oslotest import base

from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors


class OutagesTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.error: Exception | None = None
        self.steady = 5000.0
        self.downtime = maintenance.Downtime(
            lambda: self.now, lambda: self.steady
        )
        self.read = self.downtime.recorded(self._read)

    def _read(
        self,
        scopes: Collection[location.Scope],
        fresh: bool,
        known: Mapping[location.Scope, str],
    ) -> Mapping[location.Scope, str]:
        self.now += 10
        if self.error:
            raise self.error
        return {}

    def at(self, now: float, error: Exception | None = None) -> None:
        """A reading that begins then, and takes ten seconds."""
        self.now, self.error = now, error
        if error is None:
            self.assertEqual({}, self.read([], False, {}))
        else:
            self.assertRaises(type(error), self.read, [], False, {})

    def test_from_the_first_failure_to_the_first_answer(self) -> None:
        away = errors.ManagementUnreachable("away")
        self.at(100)
        self.assertEqual((), self.downtime.spans(110))
        self.at(200, away)
        self.at(300, away)
        self.assertEqual(((200, 310),), self.downtime.spans(310))
        self.at(400)
        self.at(500)
        self.at(600, away)
        self.assertEqual(((200, 410), (600, 700)), self.downtime.spans(700))

    def test_a_refusal_is_an_answer(self) -> None:
        self.at(100, errors.ManagementError("forbidden"))
        self.assertEqual((), self.downtime.spans(200))

    def test_fifty_are_remembered(self) -> None:
        for each in range(60):
            self.downtime.begin(each * 10.0)
            self.now = each * 10.0 + 1
            self.downtime.end()
        spans = self.downtime.spans(self.now)
        self.assertEqual((50, (100.0, 101.0)), (len(spans), spans[0]))

    def test_ten_minutes_or_the_limit_are_watched_from_the_first_answer(
        self,
    ) -> None:
        rows: tuple[tuple[float, float, float], ...] = (
            # seconds since the first answer, limit, left
            (0, 3600, 600),
            (0, 60, 60),
            (100, 3600, 500),
            (100, 60, -40),
            (700, 3600, -100),
        )
        self.at(100, errors.ManagementUnreachable("away"))
        self.steady += 900
        self.at(200)
        for seconds, limit, left in rows:
            self.steady = 5900 + seconds
            self.assertEqual(
                left,
                self.downtime.seconds_to_watch(limit),
                f"{seconds} {limit}",
            )
            self.at(300)

    def test_the_first_question_counts_as_an_answer(self) -> None:
        self.assertEqual(600, self.downtime.seconds_to_watch(3600))
        self.steady += 10
        self.assertEqual(590, self.downtime.seconds_to_watch(3600))
