# SPDX-License-Identifier: Apache-2.0

"""A file, and a function, that grew too long for one topic is named here."""

from __future__ import annotations

import ast

from oslotest import base

from tools import archives

#: As HACKING.rst has them.
FILE = 600
FUNCTION = 50
_FOLDERS = ("bench", "doc", "lab", "magnum_capi_helm", "tools")


class LengthTest(base.BaseTestCase):
    def test_no_file_and_no_function_is_too_long(self) -> None:
        long = []
        for folder in _FOLDERS:
            for path in (archives.CHECKOUT / folder).rglob("*.py"):
                source = path.read_text()
                name = path.relative_to(archives.CHECKOUT)
                lines = source.count("\n")
                if lines > FILE:
                    long.append(f"{name}: {lines} lines, {FILE} at most")
                for node in ast.walk(ast.parse(source)):
                    if not isinstance(
                        node, ast.FunctionDef | ast.AsyncFunctionDef
                    ):
                        continue
                    lines = (node.end_lineno or 0) - node.lineno + 1
                    if lines > FUNCTION:
                        long.append(f"{name}: {node.name} has {lines} lines")
        self.assertEqual([], long)
