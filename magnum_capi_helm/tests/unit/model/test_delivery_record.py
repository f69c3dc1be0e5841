# SPDX-License-Identifier: Apache-2.0

"""The record of a delivery, as the Secret has it."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.model import delivery_record
from magnum_capi_helm.model import errors

FIRST = delivery_record.following(None, "u-1", "looks", 1000.0)
#: As earlier commits of 2.0 wrote it, for a user with fewer rights.
LIMITED = {
    "delivery.json": base64.b64encode(
        b'{"attempts": 2, "created": 1000.0, "delivered": 1030.5, "event": '
        b'"cluster.ready", "format": "1", "id": '
        b'"kc_1f0eacf09afec7675b9a845d4cb58fe7", "looks": "looks", '
        b'"not_before": 1060.0}'
    ).decode(),
    "tls.crt": "Y2VydGlmaWNhdGU=",
    "tls.key": "a2V5",
}


def secret(data: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "web-delivery"}, "data": data}


class RecordTest(base.BaseTestCase):
    def test_a_first_record_is_ready(self) -> None:
        self.assertEqual(
            delivery_record.Record(
                id="kc_1f0eacf09afec7675b9a845d4cb58fe7",
                event="cluster.ready",
                looks="looks",
                created=1000.0,
            ),
            FIRST,
        )

    def test_the_event_is_ready_until_a_delivery_succeeded(self) -> None:
        again = delivery_record.following(FIRST, "u-1", "other", 1001.0)
        self.assertEqual("cluster.ready", again.event)
        found = dataclasses.replace(FIRST, delivered=1001.0)
        for looks, now in (("other", 1002.0), ("looks", 1003.0)):
            found = delivery_record.following(found, "u-1", looks, now)
            self.assertEqual("cluster.credentials_changed", found.event)

    def test_an_id_is_of_what_is_delivered_and_of_what_was_before(
        self,
    ) -> None:
        same = delivery_record.following(None, "u-1", "looks", 2000.0)
        self.assertEqual(FIRST.id, same.id)
        second = delivery_record.following(FIRST, "u-1", "other", 2000.0)
        third = delivery_record.following(second, "u-1", "looks", 3000.0)
        other = delivery_record.following(None, "u-2", "looks", 1000.0)
        ids = {each.id for each in (FIRST, second, third, other)}
        self.assertEqual(4, len(ids))

    def test_a_later_one_is_later_whatever_the_clock_says(self) -> None:
        second = delivery_record.following(FIRST, "u-1", "other", 5.0)
        self.assertEqual(1001.0, second.created)

    def test_pauses_double_up_to_an_hour(self) -> None:
        found = FIRST
        pauses = []
        for _ in range(9):
            found = found.claimed(0.0)
            pauses.append(found.not_before)
        self.assertEqual(
            [30, 60, 120, 240, 480, 960, 1920, 3600, 3600], pauses
        )
        self.assertEqual(9, found.attempts)
        many = dataclasses.replace(FIRST, attempts=10_000)
        self.assertEqual(3600.0, many.claimed(0.0).not_before)

    def test_a_clock_that_was_wrong_puts_nothing_off_for_long(self) -> None:
        waits = dataclasses.replace(FIRST, not_before=5000.0)
        self.assertEqual(4000.0, waits.wait(1000.0))
        wrong = dataclasses.replace(FIRST, not_before=1e9)
        self.assertEqual(0.0, wrong.wait(1000.0))

    def test_a_record_survives_its_secret(self) -> None:
        for each in (
            FIRST,
            FIRST.claimed(1.0),
            dataclasses.replace(FIRST, delivered=1001.0),
            delivery_record.following(None, "u-1", "looks", 1000.0),
        ):
            self.assertEqual(
                each, delivery_record.read(secret(each.to_secret()))
            )

    def test_a_record_of_an_earlier_commit_is_read(self) -> None:
        found = delivery_record.read(secret(LIMITED))
        self.assertEqual(
            dataclasses.replace(
                FIRST, attempts=2, not_before=1060.0, delivered=1030.5
            ),
            found,
        )
        # The key of that user is not kept.
        self.assertEqual(
            {"delivery.json": LIMITED["delivery.json"]}, found.to_secret()
        )

    def test_a_damaged_one_says_what_to_do_and_quotes_nothing(self) -> None:
        for content in (b"", b"canary", b'{"format": "9"}'):
            text = base64.b64encode(content).decode()
            damaged = secret({**FIRST.to_secret(), "delivery.json": text})
            error = self.assertRaises(
                errors.ManagementError, delivery_record.read, damaged
            )
            for words in (
                "the Secret web-delivery has no readable record",
                "delete it",
            ):
                self.assertIn(words, str(error))
            self.assertNotIn("canary", str(error))
            self.assertIsNone(error.__cause__)
