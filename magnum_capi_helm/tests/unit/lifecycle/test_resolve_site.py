# SPDX-License-Identifier: Apache-2.0

"""What the operator's options and files make of every cluster."""

from __future__ import annotations

import datetime
import os
import pathlib
from typing import Any

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid
import fixtures
from magnum.tests import base

from magnum_capi_helm import features
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import operator_files


def certificate(name: str) -> str:
    """A CA in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])
    begin = datetime.datetime(2026, 1, 1)
    made = x509.CertificateBuilder(
        subject,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        begin,
        begin + datetime.timedelta(days=1),
    ).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def parsed(template: dict[str, str] | None = None) -> labels.Values:
    """Labels of a template in their types."""
    sources = labels.Sources(template=template or {})
    return labels.resolve(features.LABELS, sources, {})


class FilesTestCase(base.TestCase):
    """A folder to put the operator's files into."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.addCleanup(conf.CONF.reset)

    def file(self, name: str, content: str) -> str:
        path = self.folder / name
        path.write_text(content)
        return str(path)

    def set(self, group: str = "capi_helm", **options: Any) -> None:
        for name, value in options.items():
            conf.CONF.set_override(name, value, group)

    def site(self) -> cluster_spec.Site:
        return operator_files.site(parsed({"keystone_auth_enabled": "false"}))

    def refused(self) -> str:
        return str(self.assertRaises(errors.NotConfigured, self.site))


class RegistryMirrorTest(FilesTestCase):
    def test_it_is_a_registry_with_a_path_may_be(self) -> None:
        for given, expected in (
            ("", None),
            ("mirror.example.org", "mirror.example.org"),
            ("mirror.example.org:5000/all/", "mirror.example.org:5000/all"),
        ):
            self.set(registry_mirror=given)
            self.assertEqual(expected, self.site().registry_mirror)

    def test_anything_else_is_refused(self) -> None:
        for given in ("https://mirror.example.org", "a b", "m.org/a//b"):
            self.set(registry_mirror=given)
            self.assertEqual(
                f"[capi_helm] registry_mirror={given}: give a registry such "
                "as mirror.example.org:5000/all, without https://",
                self.refused(),
            )


class RegistryAuthTest(FilesTestCase):
    def _refused(self, content: str) -> str:
        path = self.file("auth.yaml", content)
        self.set(registry_auth_file=path)
        text = self.refused()
        self.assertNotIn("hunter2", text)
        head = f"[capi_helm] registry_auth_file {path}: "
        self.assertTrue(text.startswith(head), text)
        return text.removeprefix(head)

    def test_without_a_file_there_are_no_passwords(self) -> None:
        self.assertEqual((), self.site().registry_auth)

    def test_each_registry_has_a_user_and_a_password(self) -> None:
        path = self.file(
            "auth.yaml",
            "reg.example.org:5000: {username: me, password: hunter2}\n"
            "a.example.org: {username: you, password: '2026'}\n",
        )
        self.set(registry_auth_file=path)
        self.assertEqual(
            (
                ("a.example.org", "you", "2026"),
                ("reg.example.org:5000", "me", "hunter2"),
            ),
            self.site().registry_auth,
        )

    def test_a_file_that_says_something_else_is_refused(self) -> None:
        login = "{username: me, password: hunter2}"
        wrong = "must be a mapping with username and password"
        for content, text in (
            (
                f"https://r.org: {login}",
                "a key is no registry: each must be host or host:port",
            ),
            ("r.org: hunter2", f"r.org: {wrong}"),
            ("r.org: {username: me}", f"r.org: {wrong}"),
            (
                "r.org: {username: me, password: hunter2, x: y}",
                f"r.org: {wrong}",
            ),
            (
                "r.org: {username: me, password: 2026}",
                "r.org: password must be a text",
            ),
            (
                "r.org: {username: '', password: hunter2}",
                "r.org: username must be a text",
            ),
            ("- hunter2", "must be a mapping"),
            (
                f"r.org: {login}\nr.org: {login}",
                "has a key in line 2 a second time",
            ),
            ("r.org:\n  - hunter2: [", "is no YAML in line 2"),
        ):
            self.assertEqual(text, self._refused(content), content)

    def test_a_password_that_would_break_containerd_is_refused(self) -> None:
        for character in ('\\"', "\\\\", "\\n"):
            self.assertIn(
                "password has a character that containerd's configuration "
                "can't hold",
                self._refused(
                    f'r.org: {{username: me, password: "hunter2{character}"}}'
                ),
            )

    def test_a_file_that_is_not_there(self) -> None:
        self.set(registry_auth_file="/nowhere/auth.yaml")
        self.assertEqual(
            "[capi_helm] registry_auth_file /nowhere/auth.yaml: No such file "
            "or directory",
            self.refused(),
        )


class TrustedCasTest(FilesTestCase):
    def test_nothing_configured_adds_nothing(self) -> None:
        self.assertEqual((), self.site().trusted_cas)

    def test_openstacks_ca_comes_first(self) -> None:
        cloud, proxy = certificate("cloud"), certificate("proxy")
        self.set("drivers", openstack_ca_file=self.file("ca.pem", cloud))
        self.set(trusted_ca_files=[self.file("proxy.pem", proxy)])
        self.assertEqual(
            (("openstack", cloud), ("proxy", proxy)), self.site().trusted_cas
        )

    def test_each_certificate_gets_a_file_of_its_own(self) -> None:
        one, two = certificate("one"), certificate("two")
        path = self.file("both.crt", f"# one\n{one}\n# two\n{two}")
        self.set(trusted_ca_files=[path])
        self.assertEqual(
            (("both-1", one), ("both-2", two)), self.site().trusted_cas
        )

    def test_of_a_whole_distributions_bundle_only_the_own_remain(
        self,
    ) -> None:
        cloud = certificate("cloud")
        public = pathlib.Path(certifi.where()).read_text()
        path = self.file("bundle.crt", public + cloud)
        self.set("drivers", openstack_ca_file=path)
        self.assertEqual((("openstack", cloud),), self.site().trusted_cas)

    def test_too_many_of_openstack_keep_no_cluster_from_being_made(
        self,
    ) -> None:
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        many = "".join(certificate(f"{number}") for number in range(40))
        self.set("drivers", openstack_ca_file=self.file("many.pem", many))
        self.assertEqual((), self.site().trusted_cas)
        self.assertIn("40 CAs are too many for user data", log.output)

    def test_too_many_of_the_option_are_refused(self) -> None:
        many = "".join(certificate(f"{number}") for number in range(40))
        self.set(trusted_ca_files=[self.file("many.pem", many)])
        self.assertEqual(
            "[capi_helm] trusted_ca_files: larger than 16 KiB together, too "
            "much for user data",
            self.refused(),
        )

    def test_a_file_without_certificates(self) -> None:
        key = "-----BEGIN PRIVATE KEY-----\nhunter2\n"
        for group, option in (
            ("drivers", "openstack_ca_file"),
            ("capi_helm", "trusted_ca_files"),
        ):
            path = self.file("key.pem", key)
            many = option.endswith("s")
            self.set(group, **{option: [path] if many else path})
            self.assertEqual(
                f"[{group}] {option} {path}: holds no certificates in PEM",
                self.refused(),
            )
            conf.CONF.clear_override(option, group)

    def test_a_file_that_is_not_there(self) -> None:
        self.set(trusted_ca_files=["/nowhere/ca.pem"])
        self.assertEqual(
            "[capi_helm] trusted_ca_files /nowhere/ca.pem: No such file or "
            "directory",
            self.refused(),
        )

    def test_a_name_that_is_no_name_on_a_machine(self) -> None:
        path = self.file("my ca.pem", certificate("one"))
        self.set(trusted_ca_files=[path])
        self.assertIn("give it a name of letters", self.refused())

    def test_two_files_of_one_name(self) -> None:
        os.mkdir(self.folder / "other")
        for first, second in (
            ("ca.pem", "other/ca.crt"),
            ("a.pem", "openstack.pem"),
        ):
            names = (first, second)
            paths = [self.file(name, certificate(name)) for name in names]
            self.set(trusted_ca_files=paths)
            self.assertIn("another one gives", self.refused())
