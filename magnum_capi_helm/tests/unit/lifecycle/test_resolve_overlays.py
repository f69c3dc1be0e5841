# SPDX-License-Identifier: Apache-2.0

"""The operator's files of values, and the profiles that templates pick."""

from __future__ import annotations

import pathlib
from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import test_resolve_site

TEMPLATE = {"labels": {"capi_helm_values_profiles": "gpu"}}


class OverlayFilesTest(test_resolve_site.FilesTestCase):
    def _applied(
        self, values: dict[str, Any], profiles: str = ""
    ) -> dict[str, Any]:
        given = {"capi_helm_values_profiles": profiles} if profiles else {}
        return operator_files.apply_overlays(
            values, test_resolve_site.parsed(given)
        )

    def _refused(self, content: str) -> str:
        path = self.file("values.yaml", content)
        self.set(values_files=[path])
        error = self.assertRaises(errors.NotConfigured, self._applied, {})
        head = f"[capi_helm] values_files {path}: "
        self.assertTrue(str(error).startswith(head), str(error))
        self.assertNotIn("hunter2", str(error))
        return str(error).removeprefix(head)

    def test_without_files_the_values_stay(self) -> None:
        self.assertEqual({"a": 1}, self._applied({"a": 1}))

    def test_files_come_in_order_and_profiles_on_top(self) -> None:
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

    def test_an_empty_file_changes_nothing(self) -> None:
        self.set(values_files=[self.file("none.yaml", "# nothing yet\n")])
        self.assertEqual({"a": 1}, self._applied({"a": 1}))

    def test_nulls_dates_and_anchors_are_what_helm_takes_them_for(
        self,
    ) -> None:
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
            ("a: .inf", "has a number that is not finite"),
            ("a: !!binary aGk=", "has a bytes, which helm can't use"),
            ("a: &a [*a]", "is nested too deep"),
            ("a: " + "[" * 5000, "is no YAML"),
            ("a: " + "x" * operator_files.LIMIT, "is larger than 256 KiB"),
        ):
            self.assertEqual(text, self._refused(content), content[:40])

    def test_text_that_is_no_text(self) -> None:
        path = self.folder / "values.yaml"
        path.write_bytes(b"a: \xff")
        self.set(values_files=[str(path)])
        error = self.assertRaises(errors.NotConfigured, self._applied, {})
        self.assertIn("values.yaml: is no YAML", str(error))

    def test_a_file_that_is_not_there(self) -> None:
        self.set(values_files=["/nowhere/values.yaml"])
        error = self.assertRaises(errors.NotConfigured, self._applied, {})
        self.assertEqual(
            "[capi_helm] values_files /nowhere/values.yaml: No such file or "
            "directory",
            str(error),
        )

    def test_a_file_that_wants_what_it_can_not_have(self) -> None:
        self.assertEqual(
            "nodeGroups is not theirs to set: take it out",
            self._refused("nodeGroups: []"),
        )

    def test_an_unknown_profile_names_those_that_are(self) -> None:
        self.set(values_profile_dir=str(self.folder))
        for name in ("small.yaml", "gpu.yaml", "README", "Not.yaml"):
            self.file(name, "")
        error = self.assertRaises(
            errors.LabelError, self._applied, {}, "gpu,big"
        )
        self.assertEqual(
            "label capi_helm_values_profiles: give names of the operator's "
            "profiles. It is 'gpu,big'; they are gpu, small",
            str(error),
        )

    def test_a_profile_where_the_operator_has_none(self) -> None:
        error = self.assertRaises(errors.LabelError, self._applied, {}, "gpu")
        self.assertEqual(
            "label capi_helm_values_profiles: give none, for the operator "
            "keeps no profiles. It is 'gpu'",
            str(error),
        )

    def test_a_folder_of_profiles_that_is_not_there(self) -> None:
        self.set(values_profile_dir="/nowhere")
        error = self.assertRaises(
            errors.NotConfigured, self._applied, {}, "gpu"
        )
        self.assertEqual(
            "[capi_helm] values_profile_dir /nowhere: No such file or "
            "directory",
            str(error),
        )

    def test_a_profile_that_is_broken_is_named(self) -> None:
        self.set(values_profile_dir=str(self.folder))
        self.file("gpu.yaml", "controlPlane: {machineCount: 5}")
        error = self.assertRaises(
            errors.NotConfigured, self._applied, {}, "gpu"
        )
        self.assertEqual(
            "values profile gpu: controlPlane.machineCount is not theirs to "
            "set: take it out",
            str(error),
        )


class OverlaidClusterTest(base.FlowTestCase):
    """A cluster of a template with a profile, from its creation on."""

    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.profile = folder / "gpu.yaml"
        self.profile.write_text("etcd: {extraArgs: {v: gpu}}\n")
        conf.CONF.set_override("values_profile_dir", str(folder), "capi_helm")

    def _stored(self) -> Any:
        name = names.desired_state(base.RELEASE)
        found = self.server.get(kinds.SECRET, base.NAMESPACE, name)
        assert found is not None
        return desired_state.from_secret(found["data"]).values

    def test_the_profile_is_in_what_is_stored(self) -> None:
        self.create(TEMPLATE)
        self.assertEqual("gpu", self._stored()["etcd"]["extraArgs"]["v"])

    def test_a_file_that_changes_reaches_no_cluster_by_a_resize(self) -> None:
        self.created(TEMPLATE)
        self.profile.write_text("etcd: {extraArgs: {v: other}}\n")
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertEqual("gpu", self._stored()["etcd"]["extraArgs"]["v"])

    def test_a_broken_profile_is_refused_before_anything_is_written(
        self,
    ) -> None:
        self.profile.write_text("nodeGroups: []\n")
        error = self.assertRaises(
            exception.MagnumException, self.create, TEMPLATE
        )
        self.assertIn("values profile gpu: nodeGroups", str(error))
        self.assertEqual([], self.helm.upgrades)
        self.assertIsNone(
            self.server.get(
                kinds.SECRET, base.NAMESPACE, names.desired_state(base.RELEASE)
            )
        )
