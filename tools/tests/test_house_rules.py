# SPDX-License-Identifier: Apache-2.0

"""Rules of HACKING.rst about code and tests that no linter knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import importlib
import inspect
import pathlib
import re
from typing import Any

from oslotest import base

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.known_traps import defects
from tools import archives

_FILE_LINES = 600
_FUNCTION_LINES = 50
_FOLDERS = ("bench", "doc", "lab", "magnum_capi_helm", "tools")
_PACKAGE = archives.CHECKOUT / archives.PACKAGE
_UNIT = _PACKAGE / "tests" / "unit"
#: A first word that leaves the subject to the reader.
_PRONOUN = re.compile(
    r"def (test_(?:what|it|one|of|who|whose|where|neither|nor|there|that|those"
    r"|these|nobody|nothing)(?:_\w*)?)\("
)
#: Those of Magnum's traps that no driver meets: users' clients, its settings.
_NOT_OURS = {"M8", "M12", "M16", "M19"}


def _long(path: pathlib.Path) -> Iterator[str]:
    """Yield what of a module is too long for one topic."""
    source = path.read_text()
    name = path.relative_to(archives.CHECKOUT)
    if source.count("\n") > _FILE_LINES:
        yield f"{name} has more than {_FILE_LINES} lines"
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= _FUNCTION_LINES
        ):
            yield f"{name}: {node.name} has more than {_FUNCTION_LINES}"


def _is_of_a_module(path: pathlib.Path) -> bool:
    """Return whether test_<module>[_<topic>].py is named for a module."""
    folder = _PACKAGE / path.relative_to(_UNIT).parent
    return any(
        f"{path.stem}_".startswith(f"test_{module.stem}_")
        for module in folder.glob("*.py")
    )


def _shape(method: Any) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults of the parameters."""
    found = inspect.signature(method).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


class HouseRulesTest(base.BaseTestCase):
    def test_no_file_and_no_function_is_too_long(self) -> None:
        long = [
            each
            for folder in _FOLDERS
            for path in (archives.CHECKOUT / folder).rglob("*.py")
            for each in _long(path)
        ]
        self.assertEqual([], long)

    def test_unit_tests_are_named_for_modules_and_subjects(self) -> None:
        files = sorted(_UNIT.rglob("test_*.py"))
        self.assertEqual([], [e for e in files if not _is_of_a_module(e)])
        for path in files:
            self.assertEqual([], _PRONOUN.findall(path.read_text()), str(path))

    def test_fakes_have_the_methods_that_they_stand_for(self) -> None:
        for real, fake in (
            (client.Client, management.FakeManagement),
            (helm_client.Helm, fake_helm.FakeHelm),
            (catalogue.Cloud, fake_cloud.FakeCloud),
        ):
            for name, method in inspect.getmembers(real, inspect.isfunction):
                if not name.startswith("_"):
                    theirs = getattr(fake, name)
                    self.assertEqual(_shape(method), _shape(theirs), name)

    def test_each_known_trap_has_its_tests(self) -> None:
        for tests in defects.ALL.values():
            for name in tests:
                module, case, method = name.rsplit(".", 2)
                found = importlib.import_module(
                    f"{archives.PACKAGE}.tests.{module}"
                )
                self.assertTrue(method.startswith("test_"), name)
                self.assertTrue(hasattr(getattr(found, case), method), name)
        ids = {trap.split()[0] for trap, tests in defects.ALL.items() if tests}
        wanted = {
            f"{letter}{number}"
            for letter, last in (("B", 17), ("P", 5), ("C", 13), ("M", 19))
            for number in range(1, last + 1)
        }
        self.assertEqual(wanted - _NOT_OURS, ids)
