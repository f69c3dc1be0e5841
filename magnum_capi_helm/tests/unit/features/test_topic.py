# SPDX-License-Identifier: Apache-2.0

"""Topics write paths; every leaf has one writer."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import paths


class MergeTest(base.BaseTestCase):
    def test_dictionaries_merge(self) -> None:
        target: dict[str, Any] = {"a": {"b": 1}}
        topic.merge(target, {"a": {"c": {"d": 2}}, "e": 3})
        self.assertEqual({"a": {"b": 1, "c": {"d": 2}}, "e": 3}, target)

    def test_two_writers_of_one_leaf_are_an_error(self) -> None:
        rows: list[tuple[dict[str, Any], dict[str, Any], str]] = [
            ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b"),
            ({"a": {"b": 1}}, {"a": {"b": 1}}, "a.b"),
            ({"a": [1]}, {"a": [2]}, "a"),
            ({"a": {"b": {}}}, {"a": {"b": None}}, "a.b"),
            ({"a": 1}, {"a": {"b": 2}}, "a"),
        ]
        for target, source, path in rows:
            error = self.assertRaises(
                topic.TwoWritersError, topic.merge, target, source
            )
            self.assertEqual(path, str(error))

    def test_files_of_machines_are_joined_in_order(self) -> None:
        target: dict[str, Any] = {}
        for name in ("a", "b"):
            topic.merge(target, topic.nest(topic.on_all_machines([{name: 1}])))
        joined = {"kubeadmConfigSpec": {"files": [{"a": 1}, {"b": 1}]}}
        self.assertEqual(
            {"controlPlane": joined, "nodeGroupDefaults": joined}, target
        )

    def test_merge_copies_its_source(self) -> None:
        source = {"a": {"b": [1]}}
        target: dict[str, Any] = {}
        topic.merge(target, source)
        target["a"]["b"].append(2)
        self.assertEqual({"a": {"b": [1]}}, source)


class NestTest(base.BaseTestCase):
    def test_paths_become_dictionaries(self) -> None:
        self.assertEqual(
            {"a": {"b": {"c": [1], "d": 2}}},
            topic.nest({"a.b.c": (1,), "a.b": {"d": 2}}),
        )

    def test_only_what_is_empty_is_left_out(self) -> None:
        leaves: dict[str, Any] = {
            "a": None,
            "b": "",
            "c": (),
            "d": {},
            "e": False,
            "f.g": 0,
        }
        self.assertEqual({"e": False, "f": {"g": 0}}, topic.nest(leaves))

    def test_a_null_is_kept(self) -> None:
        self.assertEqual({"a": {"b": None}}, topic.nest({"a.b": paths.NULL}))
