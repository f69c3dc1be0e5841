# SPDX-License-Identifier: Apache-2.0

"""A file, and a function, that grew too long for one topic is named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib

from oslotest import base

from tools import archives

#: As HACKING.rst has them.
FILE = 600
FUNCTION = 50
_FOLDERS = ("bench", "doc", "lab", "magnum_capi_helm", "tools")


def _modules() -> Iterator[pathlib.Path]:
    for folder in _FOLDERS:
        yield from (archives.CHECKOUT / folder).rglob("*.py")


def _functions(source: str) -> Iterator[tuple[str, int]]:
    """The functions of a module, and how many lines each has."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or 0) - node.lineno + 1


class LengthTest(base.BaseTestCase):
    def test_no_file_and_no_function_is_too_long(self) -> None:
        long = []
        for path in _modules():
            source = path.read_text()
            name = str(path.relative_to(archives.CHECKOUT))
            lines = len(source.splitlines())
            if lines > FILE:
                long.append(f"{name}: {lines} lines, {FILE} at most")
            long += [
                f"{name}: {function} has {lines} lines, {FUNCTION} at most"
                for function, lines in _functions(source)
                if lines > FUNCTION
            ]
        self.assertEqual([], long)
