# SPDX-License-Identifier: Apache-2.0
"""The stored intent: what went in comes out, or one clear exception."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from typing import ClassVar

from oslotest import base

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups

STATE = desired_state.DesiredState(
    chart=cluster_spec.Chart(
        name="openstack-cluster",
        version="0.27.0",
        repository="https://charts.example.org",
    ),
    values={
        "nodeGroups": [{"name": "größe", "machineCount": 2}],
        "osDistro": None,
    },
    fingerprint="v1-abc",
    since=1764000000.25,
)


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def head(**changes: object) -> str:
    found = json.loads(base64.b64decode(STATE.to_secret()["intent.json"]))
    return encoded(json.dumps({**found, **changes}).encode())


class RoundTripTest(base.BaseTestCase):
    def test_a_state_survives_its_secret(self) -> None:
        self.assertEqual(STATE, desired_state.from_secret(STATE.to_secret()))

    def test_the_digest_of_the_chart_is_read_again(self) -> None:
        known = dataclasses.replace(STATE, digest="ab12")
        self.assertEqual(known, desired_state.from_secret(known.to_secret()))

    def test_the_same_intent_is_the_same_secret(self) -> None:
        twin = dataclasses.replace(STATE)
        self.assertEqual(STATE.to_secret(), twin.to_secret())

    def test_people_can_read_the_head(self) -> None:
        self.assertEqual(
            {
                "format": "1",
                "chart": {
                    "name": "openstack-cluster",
                    "version": "0.27.0",
                    "repository": "https://charts.example.org",
                },
                "fingerprint": "v1-abc",
                "since": 1764000000.25,
            },
            json.loads(base64.b64decode(STATE.to_secret()["intent.json"])),
        )

    def test_other_keys_of_the_secret_are_no_harm(self) -> None:
        secret = {**STATE.to_secret(), "ssh.pub": encoded(b"key")}
        self.assertEqual(STATE, desired_state.from_secret(secret))


class DamagedTest(base.BaseTestCase):
    def _refused(self, **changes: str) -> None:
        secret = {
            key: value
            for key, value in {**STATE.to_secret(), **changes}.items()
            if value != "absent"
        }
        error = self.assertRaises(
            errors.ManagementError, desired_state.from_secret, secret
        )
        self.assertIn("<release>-intent, is damaged", str(error))

    def test_a_missing_part_is_refused(self) -> None:
        self._refused(**{"intent.json": "absent"})
        self._refused(**{"values.json.gz": "absent"})

    def test_a_part_without_base64_is_refused(self) -> None:
        self._refused(**{"intent.json": "!"})
        self._refused(**{"values.json.gz": "!"})

    def test_a_head_that_is_none(self) -> None:
        self._refused(**{"intent.json": encoded(b"{")})
        self._refused(**{"intent.json": encoded(b"[]")})
        self._refused(**{"intent.json": encoded(b"{}")})

    def test_a_chart_that_is_none(self) -> None:
        self._refused(**{"intent.json": head(chart={"name": "x"})})
        self._refused(**{"intent.json": head(chart=None)})

    def test_a_time_that_is_none(self) -> None:
        self._refused(**{"intent.json": head(since="now")})

    def test_a_format_that_is_none(self) -> None:
        wrongs: tuple[object, ...] = ("0", "x", "1.5", None, [])
        for wrong in wrongs:
            self._refused(**{"intent.json": head(format=wrong)})

    def test_values_that_are_not_compressed(self) -> None:
        self._refused(**{"values.json.gz": encoded(b"{}")})

    def test_values_that_are_cut_short(self) -> None:
        whole = base64.b64decode(STATE.to_secret()["values.json.gz"])
        self._refused(**{"values.json.gz": encoded(whole[:-12])})

    def test_any_damaged_byte_of_the_values_is_noticed(self) -> None:
        whole = base64.b64decode(STATE.to_secret()["values.json.gz"])
        header = 10  # of gzip: time, flags and the like
        for position in range(header, len(whole)):
            damaged = bytearray(whole)
            damaged[position] ^= 0xFF
            self._refused(**{"values.json.gz": encoded(bytes(damaged))})

    def test_values_that_are_no_json(self) -> None:
        self._refused(**{"values.json.gz": encoded(gzip.compress(b"{"))})

    def test_the_message_quotes_nothing_of_the_values(self) -> None:
        secret = {
            **STATE.to_secret(),
            "values.json.gz": encoded(gzip.compress(b'{"password": "hunter2')),
        }
        error = self.assertRaises(
            errors.ManagementError, desired_state.from_secret, secret
        )
        self.assertNotIn("hunter2", str(error))


MOVES = desired_state.Moves("t2", {"u1": {"image_id": "new"}})
WHOLE = dataclasses.replace(
    STATE,
    labels={"a": "b"},
    moves=MOVES,
    before=desired_state.Before(STATE.chart, {"osDistro": "x"}, None, MOVES),
)


class NewerTest(base.BaseTestCase):
    """A conductor of a later version has written it."""

    def _read(self, name: str, *path: str) -> dict[str, str]:
        """The Secret, with a key more in one of its mappings."""
        secret = WHOLE.to_secret()
        found = json.loads(base64.b64decode(secret[name]))
        place = found
        for each in path:
            place = place[each]
        place["newer"] = {"a": ["b"]}
        return {**secret, name: encoding.plain(found)}

    def test_another_format_says_whose_it_is(self) -> None:
        for later in ("3", 3, "10"):
            secret = {**WHOLE.to_secret(), "intent.json": head(format=later)}
            error = self.assertRaises(
                desired_state.NewerError, desired_state.from_secret, secret
            )
            self.assertTrue(error.retriable)
            self.assertIn("<release>-intent", str(error))
            self.assertIn("of a newer version of the driver", str(error))

    def test_a_key_more_is_no_harm_and_is_written_again(self) -> None:
        for place in (
            ("intent.json",),
            ("intent.json", "chart"),
            ("moves.json",),
            ("before.json",),
            ("before.json", "chart"),
            ("before.json", "moves"),
        ):
            secret = self._read(*place)
            found = desired_state.from_secret(secret)
            self.assertEqual(
                WHOLE, dataclasses.replace(found, more={}), str(place)
            )
            self.assertEqual(secret, found.to_secret(), str(place))

    def test_current_fields_overrule_fields_that_were_read(self) -> None:
        found = desired_state.from_secret(self._read("intent.json"))
        later = dataclasses.replace(found, labels=None, since=2.0)
        written = later.to_secret()["intent.json"]
        self.assertEqual(
            {
                "format": "1",
                "chart": dataclasses.asdict(STATE.chart),
                "fingerprint": "v1-abc",
                "since": 2.0,
                "newer": {"a": ["b"]},
            },
            json.loads(base64.b64decode(written)),
        )


GPU = "0c2a2b07-8b5c-4a3b-9b7b-0d4b8b1f6a11"
BIG = "0c2a2b07-8b5c-4a3b-9b7b-0d4b8b1f6a12"
GROUP = requested_groups.Group(GPU, "gpu", "gpu", False, 1, maximum=5)


class ParkedTest(base.BaseTestCase):
    DATA: ClassVar[dict[str, str]] = {
        **STATE.to_secret(),
        "ssh.pub": encoded(b"key"),
        desired_state.item_key(GPU): encoding.plain({"name": "gpu"}),
        desired_state.change_key(GROUP): encoding.plain(
            {"machineCountMax": 5}
        ),
        desired_state.deleted_key(BIG): encoding.plain(True),
    }

    def test_keys_that_kubernetes_takes(self) -> None:
        for key in self.DATA:
            self.assertRegex(key, r"^[-._a-zA-Z0-9]{1,253}$")

    def test_parked_requests_are_read(self) -> None:
        found = desired_state.pending_requests(self.DATA)
        self.assertEqual({GPU: {"name": "gpu"}}, found.items)
        self.assertEqual({"machineCountMax": 5}, found.change_of(GROUP))
        self.assertEqual({BIG}, found.deleted)
        self.assertEqual(
            {desired_state.item_key(GPU), desired_state.change_key(GROUP)},
            found.keys_of([GPU]),
        )

    def test_a_change_is_for_the_settings_it_was_made_for(self) -> None:
        other = dataclasses.replace(GROUP, maximum=6)
        self.assertEqual(
            {}, desired_state.pending_requests(self.DATA).change_of(other)
        )

    def test_parked_requests_leave_the_intent_readable(self) -> None:
        self.assertEqual(STATE, desired_state.from_secret(self.DATA))

    def test_a_secret_may_hold_nothing_else(self) -> None:
        key = desired_state.item_key(GPU)
        self.assertFalse(desired_state.is_stored({key: self.DATA[key]}))
        self.assertTrue(desired_state.is_stored(self.DATA))

    def test_a_damaged_request_is_a_management_error(self) -> None:
        error = self.assertRaises(
            errors.ManagementError,
            desired_state.pending_requests,
            {desired_state.item_key(GPU): "!"},
        )
        self.assertIn("a nodegroup in the Secret", str(error))
