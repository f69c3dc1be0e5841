# SPDX-License-Identifier: Apache-2.0

"""Unit tests mirror the modules: their files, first lines and names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib
import re

from oslotest import base

from tools import archives

_PACKAGE = archives.CHECKOUT / archives.PACKAGE
_UNIT = _PACKAGE / "tests" / "unit"
#: A first word that leaves the subject to the reader.
_PRONOUN = re.compile(
    r"test_(what|it|one|of|who|whose|where|neither|nor|there|that|those|these"
    r"|nobody|nothing)(_.*)?"
)


def _modules() -> set[tuple[str, str]]:
    """Return the folder and the name of each module of the driver."""
    paths = (each.relative_to(_PACKAGE) for each in _PACKAGE.rglob("*.py"))
    return {
        (path.parent.as_posix(), path.stem)
        for path in paths
        if path.parts[0] != "tests" and path.stem != "__init__"
    }


def _faults(
    path: pathlib.Path, modules: set[tuple[str, str]]
) -> Iterator[str]:
    """Yield the faults of a file with unit tests."""
    folder = path.relative_to(_UNIT).parent.as_posix()
    topic = path.stem.removeprefix("test_")
    if not any(
        folder == place and f"{topic}_".startswith(f"{module}_")
        for place, module in modules
    ):
        yield f"name it {folder}/test_<module>[_<topic>].py after a module"
    tree = ast.parse(path.read_text())
    if not ast.get_docstring(tree):
        yield "give its rules in the first line of a docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _PRONOUN.fullmatch(node.name):
            yield f"begin {node.name} with the subject of its sentence"


class MirrorTest(base.BaseTestCase):
    def test_each_unit_test_file_names_its_module_and_rules(self) -> None:
        modules = _modules()
        faults = [
            f"{path.relative_to(_UNIT)}: {fault}"
            for path in sorted(_UNIT.rglob("test_*.py"))
            for fault in _faults(path, modules)
        ]
        self.assertEqual([], faults)
