# SPDX-License-Identifier: Apache-2.0
"""Reading a packaged chart."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart

#: As the public chart is packaged: the sub-chart has an alias.
ALIASED = {
    "c/Chart.yaml": b"""
name: c
version: 1.2.3
dependencies:
  - {name: cluster-addons, version: ">=0-0", alias: addons}
""",
    "c/values.yaml": b"""
replicas: 3
addons: {openstack: {enabled: true}, gone: null}
""",
    "c/charts/cluster-addons/Chart.yaml": b"name: cluster-addons",
    "c/charts/cluster-addons/values.yaml": b"""
enabled: true
openstack: {enabled: false, namespace: openstack-system}
gone: {a: 1}
kept:
""",
}
VALUES: dict[str, Any] = {
    "replicas": 3,
    "addons": {
        "enabled": True,
        "openstack": {"enabled": True, "namespace": "openstack-system"},
        "kept": None,
    },
}


class PackagesTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.home / "c.tgz"

    def read(self, files: dict[str, bytes]) -> charts.Package:
        self.file.write_bytes(chart.archive(files))
        return charts.read(self.file)

    def test_name_version_and_values_with_those_of_sub_charts(self) -> None:
        """Other files do not matter."""
        deep = {
            "c/charts/cluster-addons/charts/more/Chart.yaml": b"name: more",
            "c/charts/cluster-addons/charts/more/values.yaml": b"x: 1",
        }
        others = {
            "c/templates/values.yaml": b"{{ no yaml",
            "c/crds/Chart.yaml": b"{{",
            "c/charts/README.md": b"text",
            "c/charts/cluster-addons/ci/values.yaml": b"{{",
            "c/docs/x.tgz": b"no archive",
        }
        nested = {**VALUES, "addons": {**VALUES["addons"], "more": {"x": 1}}}
        for files, values in (
            (ALIASED, VALUES),
            ({**ALIASED, **deep}, nested),
            ({**ALIASED, **others}, VALUES),
            ({"c/Chart.yaml": b"{name: c, version: 1.2.3}"}, {}),
        ):
            package = charts.Package("c", "1.2.3", values)
            self.assertEqual(package, self.read(files))

    def test_a_file_is_read_anew_when_it_changed(self) -> None:
        self.read(ALIASED)
        known = charts.read(self.file)
        self.assertIs(known, charts.read(self.file))
        os.utime(self.file, ns=(1, 1))
        self.assertIsNot(known, charts.read(self.file))

    def test_a_file_that_is_no_chart_is_refused_with_the_reason(self) -> None:
        whole = chart.archive(ALIASED)
        wrong = {
            "no archive": b"<html>",
            "half an archive": whole[: len(whole) // 2],
            "no Chart.yaml": chart.archive({"c/values.yaml": b"a: 1"}),
            "no YAML": chart.archive({"c/Chart.yaml": b"{"}),
            "no mapping": chart.archive({"c/Chart.yaml": b"[1]"}),
            "no version": chart.archive({"c/Chart.yaml": b"name: c"}),
            "no text": chart.archive({"c/Chart.yaml": b"\xff\xfe\xff"}),
            "huge": chart.archive(
                {"c/Chart.yaml": b"name: c\nversion: 1.0.0\n" + b"#" * 2**23}
            ),
        }
        for what, content in wrong.items():
            self.file.write_bytes(content)
            error = self.assertRaises(
                errors.ChartUnavailable, charts.read, self.file
            )
            self.assertIn(
                f"{self.file} is no packaged helm chart", str(error), what
            )

    def test_a_directory_says_its_name_and_version(self) -> None:
        absent = errors.ChartUnavailable
        error = self.assertRaises(absent, charts.of_directory, self.home)
        self.assertIn("is no directory of a helm chart", str(error))
        self.assertRaises(absent, charts.read, self.home / "no.tgz")
        (self.home / "Chart.yaml").write_text("{name: c, version: 1.0.0}")
        self.assertEqual(("c", "1.0.0"), charts.of_directory(self.home))


BELOW: dict[str, Any] = {"a": {"b": 1, "c": 2}, "list": [1, 2], "gone": 1}
ABOVE: dict[str, Any] = {
    "a": {"b": 3},
    "list": [3],
    "gone": None,
    "n": {"x": 1},
}


class MergedTest(base.BaseTestCase):
    def test_a_null_removes_the_value_below_unless_kept(self) -> None:
        expected = {"a": {"b": 3, "c": 2}, "list": [3], "n": {"x": 1}}
        found = charts.merged(BELOW, ABOVE)
        self.assertEqual(expected, found)
        found["n"]["x"] = 2
        self.assertEqual(1, ABOVE["n"]["x"], "arguments stay")
        self.assertEqual(
            {**expected, "gone": None},
            charts.merged(BELOW, ABOVE, keep_nulls=True),
        )
