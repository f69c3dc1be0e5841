# SPDX-License-Identifier: Apache-2.0

"""The options of delivery: what is wrong is named, with what is allowed."""

from __future__ import annotations

import base64
import pathlib
from typing import Any

import fixtures
from oslo_config import cfg
from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki

GOOD = "give https://host[:port]/path, without user, password and fragment"
NAMES = (
    "give 1 to 64 printable characters that do not begin with system:, which "
    "is Kubernetes' own"
)

#: Option, value, and what is said of it.
WRONG: list[tuple[str, Any, str]] = [
    ("delivery_url", "http://a.test", f"has the scheme 'http': {GOOD}"),
    ("delivery_url", "portal.test/hook", f"has the scheme '': {GOOD}"),
    ("delivery_url", "https://", "is not a URL to send to"),
    ("delivery_url", "https:///hook", "is not a URL to send to"),
    ("delivery_url", "https://u:p@a.test/", "is not a URL to send to"),
    ("delivery_url", "https://a.test/#x", "is not a URL to send to"),
    ("delivery_url", "https://a.test:0/", "is not a URL to send to"),
    ("delivery_url", "https://a.test/a b", "is not a URL to send to"),
    ("delivery_url", "https://a.test/\u00e9", "is not a URL to send to"),
    ("delivery_url", "https://a.test:port/", "has the scheme ''"),
    ("delivery_url", "https://[::1/", "has the scheme ''"),
    ("delivery_key_file", "", "is empty"),
    ("delivery_ca_file", "/nowhere", "can't be used: No such file"),
    ("delivery_user_name", "", f"has '': {NAMES}"),
    ("delivery_user_name", "system:admin", f"has 'system:admin': {NAMES}"),
    ("delivery_user_name", "x" * 65, NAMES),
    ("delivery_user_groups", ["view", "system:masters"], "'system:masters'"),
    ("delivery_user_groups", ["a\nb"], r"has 'a\nb'"),
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
        """A file for Magnum alone."""
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def test_what_is_read(self) -> None:
        ca = self.file("ca", pki.trusted().pem)
        self.set("delivery_ca_file", ca)
        self.set("delivery_user_groups", ["view"])
        self.assertEqual(
            settings.Settings(
                url="https://portal.test:8443/hook?token=t",
                host="portal.test",
                port=8443,
                keys=(b"0" * 32,),
                ca_file=ca,
                user=settings.User(
                    "limited", "magnum-delivery", ("view",), 90 * 86400.0
                ),
                timeout=10.0,
                interval=3600.0,
            ),
            settings.read(),
        )

    def test_what_may_be_told_of_it(self) -> None:
        found = settings.read()
        self.assertEqual("https://portal.test:8443", found.receiver)
        self.assertNotIn("token", repr(found))
        self.assertNotIn("b'0", repr(found))

    def test_the_port_is_that_of_https(self) -> None:
        self.set("delivery_url", "https://portal.test")
        self.assertEqual(443, settings.read().port)

    def test_what_is_wrong(self) -> None:
        for name, value, said in WRONG:
            before = conf.CONF.capi_helm[name]
            self.set(name, value)
            error = self.assertRaises(errors.NotConfigured, settings.read)
            self.assertTrue(
                str(error).startswith(f"[capi_helm] {name} "), str(error)
            )
            self.assertIn(said, str(error))
            self.set(name, before)

    def test_a_file_without_certificates(self) -> None:
        path = self.file("ca", "no PEM")
        self.set("delivery_ca_file", path)
        error = self.assertRaises(errors.NotConfigured, settings.read)
        self.assertEqual(
            f"[capi_helm] delivery_ca_file {path} can't be used: it has no "
            "certificates in PEM",
            str(error),
        )

    def test_an_administrator_needs_no_name(self) -> None:
        self.set("delivery_user", "admin")
        self.set("delivery_user_name", "")
        self.assertEqual("admin", settings.read().user.kind)

    def test_what_oslo_config_refuses_is_told_as_well(self) -> None:
        path = self.directory / "magnum.conf"
        path.write_text("[capi_helm]\ndelivery_timeout = 600\n")
        fresh = cfg.ConfigOpts()
        fresh.register_opts(
            conf.ALL_OPTS[conf.capi_helm_group], group="capi_helm"
        )
        fresh(args=[], default_config_files=[str(path)])
        for name in ("delivery_url", "delivery_key_file"):
            value = conf.CONF.capi_helm[name]
            fresh.set_override(name, value, "capi_helm")
        self.useFixture(fixtures.MockPatchObject(conf, "CONF", fresh))
        error = self.assertRaises(errors.NotConfigured, settings.read)
        self.assertIn("delivery_timeout", str(error))

    def test_it_is_off_by_default(self) -> None:
        conf.CONF.clear_override("delivery_url", "capi_helm")
        self.assertFalse(settings.enabled())
