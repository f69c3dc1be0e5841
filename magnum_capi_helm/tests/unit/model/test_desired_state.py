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
        twin = dataclasses.replace(STATE)
        self.assertEqual(STATE.to_secret(), twin.to_secret())
        for state in (STATE, dataclasses.replace(STATE, digest="ab12")):
            secret = {**state.to_secret(), "ssh.pub": encoded(b"key")}
            self.assertEqual(state, desired_state.from_secret(secret))

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
        self.assertNotIn("hunter2", str(error))

    def test_a_damaged_part_is_refused_and_not_quoted(self) -> None:
        whole = base64.b64decode(STATE.to_secret()["values.json.gz"])
        formats: tuple[object, ...] = ("0", "x", "1.5", None, [])
        for part in (
            *("absent", "!", *map(encoded, (b"{", b"[]", b"{}"))),
            *(head(chart={"name": "x"}), head(chart=None), head(since="now")),
            *(head(format=wrong) for wrong in formats),
        ):
            self._refused(**{"intent.json": part})
        for part in (
            *("absent", "!", encoded(b"{}"), encoded(whole[:-12])),
            encoded(gzip.compress(b"{")),
            encoded(gzip.compress(b'{"password": "hunter2')),
        ):
            self._refused(**{"values.json.gz": part})

    def test_any_damaged_byte_of_the_values_is_noticed(self) -> None:
        whole = base64.b64decode(STATE.to_secret()["values.json.gz"])
        header = 10  # of gzip: time, flags and the like
        for position in range(header, len(whole)):
            damaged = bytearray(whole)
            damaged[position] ^= 0xFF
            self._refused(**{"values.json.gz": encoded(bytes(damaged))})


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
        # A change is for the settings that it was made for.
        other = dataclasses.replace(GROUP, maximum=6)
        self.assertEqual({}, found.change_of(other))
        self.assertEqual({BIG}, found.deleted)
        key = desired_state.item_key(GPU)
        self.assertEqual(
            {key, desired_state.change_key(GROUP)}, found.keys_of([GPU])
        )
        self.assertEqual(STATE, desired_state.from_secret(self.DATA))
        self.assertTrue(desired_state.is_stored(self.DATA))
        self.assertFalse(desired_state.is_stored({key: self.DATA[key]}))

    def test_a_damaged_request_is_a_management_error(self) -> None:
        error = self.assertRaises(
            errors.ManagementError,
            desired_state.pending_requests,
            {desired_state.item_key(GPU): "!"},
        )
        self.assertIn("a nodegroup in the Secret", str(error))
