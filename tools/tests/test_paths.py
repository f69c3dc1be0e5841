# SPDX-License-Identifier: Apache-2.0

"""Paths of the chart's values have one place: a name, or one label."""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator
import pathlib
import re

from oslotest import base

from magnum_capi_helm.model import paths
from magnum_capi_helm.tests import value_paths
from tools import archives

_PACKAGE = archives.CHECKOUT / archives.PACKAGE
#: They read objects that the chart renders, whose fields have like names.
_OF_OBJECTS = re.compile(r"chart/(conversion|diff)\.py|(status|cloud)/.*")
_NAMED = "model/paths.py"
_NAMES = {
    value: name
    for name, value in vars(paths).items()
    if name.isupper() and isinstance(value, str) and re.search("[A-Z.]", value)
}


def _texts(file: pathlib.Path) -> Iterator[str]:
    """Yield the texts of a module that are whole, but for docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in parts
        ):
            yield node.value


def _places() -> dict[str, list[str]]:
    """Return the files that spell a path, once for each time."""
    known = value_paths.known(value_paths.chart_versions()[0])
    found = collections.defaultdict(list)
    for file in sorted(_PACKAGE.rglob("*.py")):
        place = file.relative_to(_PACKAGE).as_posix()
        if place.startswith("tests/") or _OF_OBJECTS.fullmatch(place):
            continue
        for text in _texts(file):
            path = text.replace("nodeGroups[]", paths.GROUP_DEFAULTS)
            # A row of MOVED may have the path of a label.
            of_label = path in known and "." in path and place != _NAMED
            if path in _NAMES or of_label:
                found[text].append(place)
    return found


class PathsTest(base.BaseTestCase):
    def test_no_path_is_spelled_twice(self) -> None:
        self.assertEqual(
            {},
            {
                path: f"use paths.{_NAMES[path]}"
                if path in _NAMES
                else f"name it in {_NAMED}"
                for path, places in _places().items()
                if len(places) > 1
            },
        )

    def test_labels_alone_spell_paths_without_a_name(self) -> None:
        strange = {
            path: place
            for path, places in _places().items()
            for place in places
            if place != _NAMED and not place.startswith("features/")
        }
        self.assertEqual({}, strange)
