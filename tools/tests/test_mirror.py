# SPDX-License-Identifier: Apache-2.0

"""Unit tests mirror the modules: their files, first lines and names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from oslotest import base

from tools import archives

_PACKAGE = archives.CHECKOUT / archives.PACKAGE
_UNIT = _PACKAGE / "tests" / "unit"
#: The first word of a name that leaves its subject to the reader.
_PRONOUNS = {
    "what",
    "it",
    "one",
    "of",
    "who",
    "whose",
    "where",
    "neither",
    "nor",
    "there",
    "that",
    "those",
    "these",
    "nobody",
    "nothing",
}


def _modules() -> set[tuple[str, str]]:
    """Return the folder and the name of each module of the driver."""
    paths = (each.relative_to(_PACKAGE) for each in _PACKAGE.rglob("*.py"))
    return {
        (path.parent.as_posix(), path.stem)
        for path in paths
        if path.parts[0] != "tests" and path.stem != "__init__"
    }


def _faults(
    folder: str, stem: str, source: str, modules: set[tuple[str, str]]
) -> Iterator[str]:
    """Yield the faults of a file with unit tests.

    :param folder: below ``tests/unit``; ``.`` is that folder itself
    :param stem: of the file's name, with ``test_``
    """
    topic = stem.removeprefix("test_")
    if not any(
        folder == place and f"{topic}_".startswith(f"{module}_")
        for place, module in modules
    ):
        yield f"name it {folder}/test_<module>[_<topic>].py after a module"
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "give its rules in the first line of a docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            word = node.name.removeprefix("test_").split("_")[0]
            if node.name.startswith("test_") and word in _PRONOUNS:
                yield f"begin {node.name} with the subject of its sentence"


class FaultTest(base.BaseTestCase):
    def test_each_fault_is_named(self) -> None:
        modules = {("helm", "charts"), (".", "driver")}
        good = '"""Charts."""\n\ndef test_a_chart_is_kept() -> None: ...\n'
        place = "name it helm/test_<module>[_<topic>].py after a module"
        first = "give its rules in the first line of a docstring"
        name = "begin test_it_is_kept with the subject of its sentence"
        for folder, stem, source, expected in (
            ("helm", "test_charts", good, []),
            ("helm", "test_charts_kept", good, []),
            (".", "test_driver", good, []),
            ("helm", "test_driver", good, [place]),
            ("helm", "test_chartsman", good, [place]),
            ("helm", "test_charts", good.partition("\n\n")[2], [first]),
            ("helm", "test_charts", good.replace("a_chart", "it"), [name]),
        ):
            self.assertEqual(
                expected,
                list(_faults(folder, stem, source, modules)),
                f"{folder}/{stem} {source}",
            )


class MirrorTest(base.BaseTestCase):
    def test_each_unit_test_file_names_its_module_and_rules(self) -> None:
        modules = _modules()
        faults = [
            f"{path.relative_to(_UNIT)}: {fault}"
            for path in sorted(_UNIT.rglob("test_*.py"))
            for fault in _faults(
                path.relative_to(_UNIT).parent.as_posix(),
                path.stem,
                path.read_text(),
                modules,
            )
        ]
        self.assertEqual([], faults)
