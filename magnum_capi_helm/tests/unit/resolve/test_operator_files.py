# SPDX-License-Identifier: Apache-2.0

"""What the operator's options and files make of every cluster."""

from __future__ import annotations

import functools
import os
import pathlib
from typing import Any

import certifi
import fixtures
from magnum.common import exception
from magnum.tests import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.features import specs
from magnum_capi_helm.tests.unit.lifecycle import base as lifecycle_base


class FilesTestCase(base.TestCase):
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
        return operator_files.site(
            specs.parsed({"keystone_auth_enabled": "false"})
        )

    def refused(self) -> str:
        return str(self.assertRaises(errors.NotConfigured, self.site))


class MissingTest(FilesTestCase):
    def test_a_file_that_is_not_there_is_named(self) -> None:
        profiles = specs.parsed({"capi_helm_values_profiles": "gpu"})
        for option, path in (
            ("registry_auth_file", "/nowhere/auth.yaml"),
            ("trusted_ca_files", "/nowhere/ca.pem"),
            ("values_files", "/nowhere/values.yaml"),
            ("values_profile_dir", "/nowhere"),
        ):
            value: Any = [path] if option.endswith("s") else path
            self.set(**{option: value})
            call: Any = self.site
            if option.startswith("values"):
                apply = operator_files.apply_overlays
                call = functools.partial(apply, {}, profiles)
            error = self.assertRaises(errors.NotConfigured, call)
            self.assertIn(
                f"[capi_helm] {option} {path}: No such file", str(error)
            )
            conf.CONF.clear_override(option, "capi_helm")


class RegistryMirrorTest(FilesTestCase):
    def test_a_registry_mirror_may_have_a_path(self) -> None:
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
            self.assertIn(
                f"[capi_helm] registry_mirror={given}: give a registry",
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

    def test_each_registry_has_a_user_and_a_password(self) -> None:
        self.assertEqual((), self.site().registry_auth)
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
        wrong = "r.org: must be a mapping with username and password"
        unfit = (
            "a character that containerd's configuration can't hold: quote, "
            "backslash or control"
        )
        for content, text in (
            (
                f"https://r.org: {login}",
                "a key is no registry: each must be host or host:port",
            ),
            ("r.org: hunter2", wrong),
            ("r.org: {username: me}", wrong),
            ("r.org: {username: me, password: hunter2, x: y}", wrong),
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
            *(
                (
                    f'r.org: {{username: me, password: "hunter2{character}"}}',
                    f"r.org: password has {unfit}",
                )
                for character in ('\\"', "\\\\", "\\n")
            ),
        ):
            self.assertEqual(text, self._refused(content), content)


class TrustedCasTest(FilesTestCase):
    def test_openstacks_ca_comes_first(self) -> None:
        self.assertEqual((), self.site().trusted_cas)
        cloud, proxy = (pki.Authority(each).pem for each in ("cloud", "proxy"))
        self.set("drivers", openstack_ca_file=self.file("ca.pem", cloud))
        self.set(trusted_ca_files=[self.file("proxy.pem", proxy)])
        self.assertEqual(
            (("openstack", cloud), ("proxy", proxy)), self.site().trusted_cas
        )

    def test_each_certificate_gets_a_file_of_its_own(self) -> None:
        one, two = (pki.Authority(each).pem for each in ("one", "two"))
        path = self.file("both.crt", f"# one\n{one}\n# two\n{two}")
        self.set(trusted_ca_files=[path])
        self.assertEqual(
            (("both-1", one), ("both-2", two)), self.site().trusted_cas
        )

    def test_public_cas_of_a_bundle_are_left_out(self) -> None:
        cloud = pki.Authority("cloud").pem
        public = pathlib.Path(certifi.where()).read_text()
        path = self.file("bundle.crt", public + cloud)
        self.set("drivers", openstack_ca_file=path)
        self.assertEqual((("openstack", cloud),), self.site().trusted_cas)

    def test_too_many_cas_of_openstack_hinder_no_cluster(self) -> None:
        """Too many of the driver's own option are refused."""
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        many = "".join(pki.Authority(f"{n}").pem for n in range(40))
        path = self.file("many.pem", many)
        self.set("drivers", openstack_ca_file=path)
        self.assertEqual((), self.site().trusted_cas)
        self.assertIn("40 CAs are too many for user data", log.output)
        self.set(trusted_ca_files=[path])
        self.assertIn(
            "[capi_helm] trusted_ca_files: larger than 16 KiB", self.refused()
        )

    def test_a_file_without_certificates_is_refused(self) -> None:
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

    def test_a_name_that_is_no_name_on_a_machine(self) -> None:
        path = self.file("my ca.pem", pki.Authority("one").pem)
        self.set(trusted_ca_files=[path])
        self.assertIn("give it a name of letters", self.refused())

    def test_two_files_of_one_name(self) -> None:
        os.mkdir(self.folder / "other")
        for first, second in (
            ("ca.pem", "other/ca.crt"),
            ("a.pem", "openstack.pem"),
        ):
            names = (first, second)
            paths = [
                self.file(name, pki.Authority(name).pem) for name in names
            ]
            self.set(trusted_ca_files=paths)
            self.assertIn("another one gives", self.refused())


TEMPLATE = {"labels": {"capi_helm_values_profiles": "gpu"}}


class OverlayFilesTest(FilesTestCase):
    def _applied(
        self, values: dict[str, Any], profiles: str = ""
    ) -> dict[str, Any]:
        given = {"capi_helm_values_profiles": profiles} if profiles else {}
        return operator_files.apply_overlays(values, specs.parsed(given))

    def _refused(self, content: str | bytes) -> str:
        path = self.folder / "values.yaml"
        raw = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(raw)
        self.set(values_files=[str(path)])
        error = self.assertRaises(errors.NotConfigured, self._applied, {})
        head = f"[capi_helm] values_files {path}: "
        self.assertTrue(str(error).startswith(head), str(error))
        self.assertNotIn("hunter2", str(error))
        return str(error).removeprefix(head)

    def test_files_come_in_order_and_profiles_on_top(self) -> None:
        """No file, and an empty one, change nothing."""
        self.assertEqual({"a": 1}, self._applied({"a": 1}))
        self.set(values_files=[self.file("none.yaml", "# nothing yet\n")])
        self.assertEqual({"a": 1}, self._applied({"a": 1}))
        self.set(
            values_files=[
                self.file("one.yaml", "a: one\nb: one\nc: one\nd: one\n"),
                self.file("two.yaml", "b: two\nc: two\nd: two\n"),
            ],
            values_profile_dir=str(self.folder),
        )
        self.file("gpu.yaml", "c: gpu\nd: gpu\n")
        self.file("small.yaml", "d: small\n")
        self.assertEqual(
            {"a": "one", "b": "two", "c": "gpu", "d": "small"},
            self._applied({"a": "driver"}, "gpu,small"),
        )

    def test_nulls_dates_and_anchors_are_as_helm_reads_them(self) -> None:
        text = "a: null\nb: 2026-01-01\nc: &c {d: 1}\ne: *c\n"
        self.set(values_files=[self.file("values.yaml", text)])
        self.assertEqual(
            {"a": None, "b": "2026-01-01", "c": {"d": 1}, "e": {"d": 1}},
            self._applied({}),
        )

    def test_a_file_that_helm_could_not_take(self) -> None:
        for content, text in (
            ("- a", "must be a mapping"),
            ("hunter2", "must be a mapping"),
            ("a: 1\nb: [hunter2", "is no YAML in line 2"),
            ("a: 1\nb:\n  c: 1\n  c: 2", "has a key in line 4 a second time"),
            ("a: !!bool hunter2", "is no YAML"),
            ("a: !!int hunter2", "is no YAML"),
            ("a: !!python/object:os.system hunter2", "is no YAML in line 1"),
            ("1: a", "has a key that is no text: quote it"),
            ("a: " + "[" * 5000, "is no YAML"),
            ("a: " + "x" * operator_files.LIMIT, "is larger than 256 KiB"),
            (b"a: \xff", "is no YAML in UTF-8"),
            ("nodeGroups: []", "nodeGroups is not theirs to set: take it out"),
        ):
            self.assertEqual(text, self._refused(content), content[:40])

    def test_a_value_that_json_can_not_hold(self) -> None:
        for content, phrase in (
            ("a: .inf", "Out of range float"),
            ("a: !!binary aGk=", "bytes"),
            ("a: !!set {hunter2}", "set"),
            ("a: &a [*a]", "Circular reference"),
        ):
            text = self._refused(content)
            self.assertIn("helm can't use it as JSON", text)
            self.assertIn(phrase, text)

    def test_an_unknown_profile_names_those_that_are(self) -> None:
        for profiles, end in (
            ("gpu", "'gpu'; there are none"),
            ("gpu,big", "'gpu,big'; .*gpu, small"),
        ):
            error = self.assertRaises(
                errors.LabelError, self._applied, {}, profiles
            )
            self.assertRegex(
                str(error), f"^label capi_helm_values_profiles: .* {end}$"
            )
            self.set(values_profile_dir=str(self.folder))
            for name in ("small.yaml", "gpu.yaml", "README", "Not.yaml"):
                self.file(name, "")

    def test_a_profile_that_is_broken_is_named(self) -> None:
        self.set(values_profile_dir=str(self.folder))
        self.file("gpu.yaml", "controlPlane: {machineCount: 5}")
        error = self.assertRaises(
            errors.NotConfigured, self._applied, {}, "gpu"
        )
        self.assertIn(
            "values profile gpu: controlPlane.machineCount", str(error)
        )


class OverlaidClusterTest(lifecycle_base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.profile = folder / "gpu.yaml"
        self.profile.write_text("etcd: {extraArgs: {v: gpu}}\n")
        conf.CONF.set_override("values_profile_dir", str(folder), "capi_helm")

    def _secret(self) -> Any:
        name = names.desired_state(lifecycle_base.RELEASE)
        return self.server.get(kinds.SECRET, lifecycle_base.NAMESPACE, name)

    def _stored(self) -> Any:
        return desired_state.from_secret(self._secret()["data"]).values

    def test_a_file_that_changes_reaches_no_cluster_by_a_resize(self) -> None:
        self.created(TEMPLATE)
        self.profile.write_text("etcd: {extraArgs: {v: other}}\n")
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertEqual("gpu", self._stored()["etcd"]["extraArgs"]["v"])

    def test_a_broken_profile_is_refused_before_any_write(self) -> None:
        self.profile.write_text("nodeGroups: []\n")
        error = self.assertRaises(
            exception.MagnumException, self.create, TEMPLATE
        )
        self.assertIn("Magnum is not configured for this", str(error))
        self.assertIn("values profile gpu: nodeGroups", self.log.output)
        self.assertEqual([], self.helm.upgrades)
        self.assertIsNone(self._secret())
