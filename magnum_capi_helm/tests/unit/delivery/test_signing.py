# SPDX-License-Identifier: Apache-2.0

"""The receiver's key, and what is signed with it."""

from __future__ import annotations

import base64
import os
import pathlib

import fixtures
from oslotest import base

from magnum_capi_helm.delivery import signing
from magnum_capi_helm.model import errors

ONE = base64.b64encode(b"1" * 24).decode()
TWO = base64.b64encode(b"2" * 64).decode()
OPTION = "[capi_helm] delivery_key_file"
WANTED = (
    "has no key: give 24 to 64 bytes in base64, such as openssl rand -base64 "
    "32 prints"
)


class KeysTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(directory) / "key"

    def keys(self, text: str, mode: int = 0o600) -> tuple[bytes, ...]:
        """Those of a file with such a text."""
        self.path.write_text(text)
        self.path.chmod(mode)
        return signing.keys(str(self.path))

    def refused(self, text: str, mode: int = 0o600) -> str:
        """Why there are none."""
        return str(
            self.assertRaises(errors.NotConfigured, self.keys, text, mode)
        )

    def test_what_files_have_keys(self) -> None:
        for text, found in (
            (ONE, (b"1" * 24,)),
            (f"{ONE}\n", (b"1" * 24,)),
            (f"whsec_{TWO}\n", (b"2" * 64,)),
            (f"{TWO}\nwhsec_{ONE}\n", (b"2" * 64, b"1" * 24)),
        ):
            self.assertEqual(found, self.keys(text), text)

    def test_what_files_have_none(self) -> None:
        for text, why in (
            ("", "has 0 keys: give one, or the new one and the former one"),
            (f"{ONE} {ONE} {ONE}", "has 3 keys"),
            ("passphrase", WANTED),
            ("b3Vyc2VjcmV0", WANTED),
            (base64.b64encode(b"3" * 65).decode(), WANTED),
            ("s\u00e9cret", WANTED),
        ):
            said = self.refused(text)
            self.assertIn(f"{OPTION} {self.path} ", said)
            self.assertIn(why, said)
            self.assertNotIn(text or "?", said)

    def test_who_may_read_and_write_the_file(self) -> None:
        for mode in (0o600, 0o400, 0o640):
            self.assertEqual(1, len(self.keys(ONE, mode)), oct(mode))
        for mode in (0o644, 0o604, 0o602, 0o660, 0o666):
            self.assertEqual(
                f"{OPTION} {self.path} has mode {mode:04o}: give one that "
                "others can't read and a group can't write, 0600 or 0640",
                self.refused(ONE, mode),
            )

    def test_what_is_no_file_is_not_waited_for(self) -> None:
        os.mkfifo(self.path, 0o600)
        error = self.assertRaises(
            errors.NotConfigured, signing.keys, str(self.path)
        )
        self.assertEqual(f"{OPTION} {self.path} is no file", str(error))

    def test_no_file_is_named(self) -> None:
        error = self.assertRaises(errors.NotConfigured, signing.keys, "")
        self.assertEqual(
            f"{OPTION} is empty: name a file with the key that signs what is "
            "sent to delivery_url",
            str(error),
        )


class HeadersTest(base.BaseTestCase):
    def test_the_example_of_standard_webhooks(self) -> None:
        key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        self.assertEqual(
            {
                "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
                "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,"
                "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
            signing.headers(
                [key],
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1614265330.9,
                b'{"test": 2432232314}',
            ),
        )

    def test_the_former_key_signs_too(self) -> None:
        made = signing.headers([b"1" * 24, b"2" * 24], "kc_1", 1.0, b"{}")
        first, second = made["webhook-signature"].split(" ")
        alone = signing.headers([b"2" * 24], "kc_1", 1.0, b"{}")
        self.assertEqual(alone["webhook-signature"], second)
        self.assertNotEqual(first, second)
