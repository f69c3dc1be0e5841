# SPDX-License-Identifier: Apache-2.0

"""Paths: the values of a chart that reads some of them elsewhere."""

from __future__ import annotations

import copy
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

#: Charts from 2.0.0 on have other paths.
_NEW = versions.Range(since="2.0.0")
_MOVED = (
    ("a.b", _NEW, "z"),
    ("c", _NEW, "c.d.e"),
    ("f.g", _NEW, "f.h.g"),
    ("nodeGroups[].i", _NEW, "nodeGroups[].k.l"),
)

#: Values as the driver names them, and as charts of 2.0.0 read them.
_ROWS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({}, {}),
    ({"other": {"b": 1}}, {"other": {"b": 1}}),
    ({"a": {"b": 1}}, {"z": 1}),
    ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2}, "z": 1}),
    ({"a": {"b": None}}, {"z": None}),
    ({"a": None}, {"a": None}),
    ({"c": False}, {"c": {"d": {"e": False}}}),
    ({"f": {"g": {"x": 1}}}, {"f": {"h": {"g": {"x": 1}}}}),
    ({"nodeGroups": []}, {"nodeGroups": []}),
    (
        {"nodeGroups": [{"name": "one", "i": 1}, {"name": "two"}]},
        {"nodeGroups": [{"name": "one", "k": {"l": 1}}, {"name": "two"}]},
    ),
)


class PathsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(paths, "MOVED", _MOVED))

    def test_a_chart_gets_values_at_its_own_paths(self) -> None:
        for values, expected in _ROWS:
            before = copy.deepcopy(values)
            self.assertEqual(expected, paths.spelled(values, "2.1.0"))
            self.assertEqual(before, values)

    def test_a_chart_of_another_generation_gets_them_unchanged(self) -> None:
        for values, _ in _ROWS:
            self.assertIs(values, paths.spelled(values, "1.9.0"))
            self.assertIs(values, paths.named(values, "1.9.0"))

    def test_values_of_a_chart_return_to_their_names(self) -> None:
        for expected, values in _ROWS:
            named = paths.named(values, "2.0.0")
            self.assertEqual(values, paths.spelled(named, "2.0.0"))
            self.assertEqual(expected, named)

    def test_files_for_all_charts_may_have_the_paths_of_any(self) -> None:
        for values in ({"a": {"b": 1}}, {"z": 1}):
            self.assertEqual({"a": {"b": 1}}, paths.named(values))

    def test_the_path_of_the_chart_wins_over_a_leftover(self) -> None:
        self.assertEqual(
            {"a": {"b": "read"}},
            paths.named({"a": {"b": "left"}, "z": "read"}, "2.0.0"),
        )


class NameServersTest(base.BaseTestCase):
    def test_the_oldest_chart_has_another_path(self) -> None:
        named: paths.Values = {}
        paths.put(named, paths.NAME_SERVERS, ["192.0.2.1"])
        old = {"clusterNetworking": {"dnsNameservers": ["192.0.2.1"]}}
        self.assertEqual(old, paths.spelled(named, "0.10.1"))
        self.assertEqual(named, paths.named(old, "0.10.1"))
        self.assertEqual(named, paths.spelled(named, "0.27.0"))
