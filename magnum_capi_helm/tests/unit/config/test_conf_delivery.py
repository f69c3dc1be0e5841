# SPDX-License-Identifier: Apache-2.0

"""The options of delivery: what is wrong is named, with what is allowed."""

from __future__ import annotations

import base64
import os
import pathlib
from typing import Any
from unittest import mock

import fixtures
from oslo_config import cfg
from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki

GOOD = "give https://host[:port]/path, without user, password and fragment"

ONE = base64.b64encode(b"1" * 24).decode()
TWO = base64.b64encode(b"2" * 64).decode()
OPTION = "[capi_helm] delivery_key_file"
WANTED = (
    "has no key: give one, or the new one and the former one, each in a line "
    "of its own, of 24 to 64 bytes in base64, such as the output of openssl "
    "rand -base64 32"
)

#: Option, value, and what is said of it.
WRONG: list[tuple[str, Any, str]] = [
    *(
        ("delivery_url", url, GOOD)
        for url in (
            *("http://a.test", "portal.test/hook", "https://"),
            *("https:///hook", "https://u:p@a.test/", "https://a.test/#x"),
            *("https://a.test:0/", "https://a.test/a b"),
            *("https://a.test/\u00e9", "https://a.test:port/"),
            "https://[::1/",
        )
    ),
    ("delivery_key_file", "", "is empty"),
    ("delivery_ca_file", "/nowhere", "can't be used: No such file"),
]


class SettingsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(conf.CONF.reset)
        self.addCleanup(conf.CONF.clear)
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.set("delivery_url", "https://portal.test:8443/hook?token=t")
        key = base64.b64encode(b"0" * 32).decode()
        self.set("delivery_key_file", self.file("key", key))

    def set(self, name: str, value: Any) -> None:
        """Set an option until the test ends."""
        conf.CONF.set_override(name, value, "capi_helm")
        self.addCleanup(conf.CONF.clear_override, name, "capi_helm")

    def file(self, name: str, text: str) -> str:
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def test_all_options_are_read(self) -> None:
        ca = self.file("ca", pki.trusted().pem)
        self.set("delivery_ca_file", ca)
        self.assertEqual(
            conf.Delivery(
                url="https://portal.test:8443/hook?token=t",
                host="portal.test",
                port=8443,
                keys=(b"0" * 32,),
                ca_file=ca,
                user="admin",
                interval=3600.0,
            ),
            conf.delivery(),
        )

    def test_url_and_keys_are_not_shown(self) -> None:
        found = conf.delivery()
        self.assertEqual("https://portal.test:8443", found.receiver)
        self.assertNotIn("token", repr(found))
        self.assertNotIn("b'0", repr(found))
        # The port is that of https.
        self.set("delivery_url", "https://portal.test")
        self.assertEqual(443, conf.delivery().port)
        conf.CONF.clear_override("delivery_url", "capi_helm")
        self.assertFalse(conf.delivery_enabled())

    def test_wrong_options_are_refused(self) -> None:
        for name, value, said in WRONG:
            before = conf.CONF.capi_helm[name]
            self.set(name, value)
            error = self.assertRaises(errors.NotConfigured, conf.delivery)
            self.assertTrue(
                str(error).startswith(f"[capi_helm] {name} "), str(error)
            )
            self.assertIn(said, str(error))
            self.set(name, before)

    def test_a_file_without_certificates_is_refused(self) -> None:
        path = self.file("ca", "no PEM")
        self.set("delivery_ca_file", path)
        error = self.assertRaises(errors.NotConfigured, conf.delivery)
        self.assertEqual(
            f"[capi_helm] delivery_ca_file {path} can't be used: it has no "
            "certificates in PEM",
            str(error),
        )

    def test_values_that_oslo_config_refuses_are_named(self) -> None:
        for name, value, words in (
            ("delivery_user", "limited", "limited"),
            ("delivery_check_interval", "5", "equal to 60"),
        ):
            path = self.directory / "magnum.conf"
            path.write_text(f"[capi_helm]\n{name} = {value}\n")
            fresh = cfg.ConfigOpts()
            options = conf.ALL_OPTS[conf.capi_helm_group]
            fresh.register_opts(options, group="capi_helm")
            fresh(args=[], default_config_files=[str(path)])
            for each in ("delivery_url", "delivery_key_file"):
                given = conf.CONF.capi_helm[each]
                fresh.set_override(each, given, "capi_helm")
            with mock.patch.object(conf, "CONF", fresh):
                error = self.assertRaises(errors.NotConfigured, conf.delivery)
            self.assertIn(name, str(error))
            self.assertIn(words, str(error))


class KeysTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(directory) / "key"

    def keys(self, text: str, mode: int = 0o600) -> tuple[bytes, ...]:
        # Only root writes into a file of mode 0400.
        self.path.unlink(missing_ok=True)
        self.path.write_text(text)
        self.path.chmod(mode)
        return conf.read_keys(str(self.path))

    def refused(self, text: str, mode: int = 0o600) -> str:
        return str(
            self.assertRaises(errors.NotConfigured, self.keys, text, mode)
        )

    def test_files_with_keys_are_read(self) -> None:
        for text, found in (
            (ONE, (b"1" * 24,)),
            (f"{ONE}\n", (b"1" * 24,)),
            (f"whsec_{TWO}\n", (b"2" * 64,)),
            (f"{TWO}\nwhsec_{ONE}\n", (b"2" * 64, b"1" * 24)),
        ):
            self.assertEqual(found, self.keys(text), text)

    def test_files_without_keys_are_refused(self) -> None:
        for text in (
            "",
            f"{ONE} {ONE} {ONE}",
            "passphrase",
            "b3Vyc2VjcmV0",
            f"{ONE} b3Vyc2VjcmV0",
            base64.b64encode(b"3" * 65).decode(),
            "s\u00e9cret",
        ):
            said = self.refused(text)
            self.assertIn(f"{OPTION} {self.path} ", said)
            self.assertIn(WANTED, said)
            self.assertNotIn(text or "?", said)

    def test_a_file_that_others_can_open_is_refused(self) -> None:
        for mode in (0o600, 0o400, 0o640):
            self.assertEqual(1, len(self.keys(ONE, mode)), oct(mode))
        wanted = (
            "give a regular file that others can't read and a group can't "
            "write, with mode 0600 or 0640"
        )
        for mode in (0o644, 0o604, 0o602, 0o660, 0o666):
            self.assertEqual(
                f"{OPTION} {self.path} has mode {mode:04o}: {wanted}",
                self.refused(ONE, mode),
            )
        # A pipe is refused at once.
        self.path.unlink()
        os.mkfifo(self.path, 0o600)
        error = self.assertRaises(
            errors.NotConfigured, conf.read_keys, str(self.path)
        )
        self.assertIn(
            f"{OPTION} {self.path} has mode 0600: {wanted}", str(error)
        )

    def test_no_file_is_named(self) -> None:
        error = self.assertRaises(errors.NotConfigured, conf.read_keys, "")
        self.assertEqual(
            f"{OPTION} is empty: name a file with the key that signs "
            "kubeconfigs for delivery_url",
            str(error),
        )
