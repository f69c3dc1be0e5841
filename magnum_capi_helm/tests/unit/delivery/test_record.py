# SPDX-License-Identifier: Apache-2.0

"""How far a delivery is, as the Secret says."""

from __future__ import annotations

import base64
import dataclasses

from oslotest import base

from magnum_capi_helm.delivery import change
from magnum_capi_helm.delivery import record
from magnum_capi_helm.model import errors

CREDENTIAL = change.Credential("ca", "certificate", "key")
FIRST = record.following(None, "u-1", "looks", 1000.0, CREDENTIAL)


class RecordTest(base.BaseTestCase):
    def test_a_first_one(self) -> None:
        self.assertEqual(
            record.Record(
                id="kc_1f0eacf09afec7675b9a845d4cb58fe7",
                event="cluster.ready",
                looks="looks",
                created=1000.0,
                certificate="certificate",
                key="key",
            ),
            FIRST,
        )

    def test_it_is_ready_until_that_was_accepted_and_changed_then(
        self,
    ) -> None:
        again = record.following(FIRST, "u-1", "other", 1001.0, None)
        self.assertEqual("cluster.ready", again.event)
        changed = record.following(
            FIRST.accepted(1001.0), "u-1", "other", 1002.0, None
        )
        self.assertEqual("cluster.credentials_changed", changed.event)
        more = record.following(changed, "u-1", "looks", 1003.0, None)
        self.assertEqual("cluster.credentials_changed", more.event)

    def test_an_id_is_of_what_is_delivered_and_of_what_was_before(
        self,
    ) -> None:
        same = record.following(None, "u-1", "looks", 2000.0, None)
        self.assertEqual(FIRST.id, same.id)
        second = record.following(FIRST, "u-1", "other", 2000.0, None)
        third = record.following(second, "u-1", "looks", 3000.0, None)
        other = record.following(None, "u-2", "looks", 1000.0, None)
        ids = {each.id for each in (FIRST, second, third, other)}
        self.assertEqual(4, len(ids))

    def test_a_later_one_is_later_whatever_the_clock_says(self) -> None:
        second = record.following(FIRST, "u-1", "other", 5.0, None)
        self.assertEqual(1001.0, second.created)

    def test_pauses(self) -> None:
        found = FIRST
        pauses = []
        for _ in range(9):
            found = found.claimed(0.0, 1.0, 0.5)
            pauses.append(found.not_before)
        self.assertEqual(
            [30, 60, 120, 240, 480, 960, 1920, 3600, 3600], pauses
        )
        self.assertEqual(9, found.attempts)
        self.assertEqual(22.5, FIRST.claimed(0.0, 1.0, 0.0).not_before)
        self.assertEqual(180.0, FIRST.claimed(0.0, 180.0, 0.0).not_before)
        many = dataclasses.replace(FIRST, attempts=10_000)
        self.assertEqual(3600.0, many.claimed(0.0, 1.0, 0.5).not_before)

    def test_a_clock_that_was_wrong_puts_nothing_off_for_long(self) -> None:
        waits = dataclasses.replace(FIRST, not_before=5000.0)
        self.assertEqual(4000.0, waits.left(1000.0))
        wrong = dataclasses.replace(FIRST, not_before=1e9)
        self.assertEqual(0.0, wrong.left(1000.0))

    def test_what_was_written_is_read(self) -> None:
        for each in (
            FIRST,
            FIRST.claimed(1.0, 2.0, 0.5),
            FIRST.accepted(1001.0),
            record.following(None, "u-1", "looks", 1000.0, None),
        ):
            self.assertEqual(each, record.from_secret("s", each.to_secret()))

    def test_the_key_is_in_no_text(self) -> None:
        self.assertNotIn("'key'", repr(FIRST))
        self.assertNotIn("'key'", repr(CREDENTIAL))

    def test_a_damaged_one_says_what_to_do_and_quotes_nothing(self) -> None:
        good = FIRST.to_secret()
        for change_of in (
            {"delivery.json": ""},
            {"delivery.json": base64.b64encode(b"canary").decode()},
            {"delivery.json": base64.b64encode(b'{"format": "9"}').decode()},
            {"tls.key": "canary!"},
        ):
            error = self.assertRaises(
                errors.ManagementError,
                record.from_secret,
                "web-delivery",
                {**good, **change_of},
            )
            self.assertIn("the Secret web-delivery does not say", str(error))
            self.assertIn("delete it", str(error))
            self.assertNotIn("canary", str(error))
            self.assertIsNone(error.__cause__)
