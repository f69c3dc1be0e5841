# SPDX-License-Identifier: Apache-2.0

"""The requirements files list what the code imports, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from importlib import metadata
import pathlib
import re
import sys
import unittest

from tools import archives

_PACKAGE = archives.CHECKOUT / "magnum_capi_helm"
_TESTS = _PACKAGE / "tests"
_OURS = {"bench", "lab", "magnum_capi_helm", "tools"}

#: setup.py needs pbr, which the package itself does not import.
_BUILD = {"pbr"}
#: tox.ini runs the first two; magnum.tests imports the others.
_RUN = {"coverage", "stestr", "osprofiler", "webtest"}
#: The lab imports these, and its own tests run in the same environment.
_LAB = {"docutils", "psycopg2-binary", "pymysql"}


def _canonical(name: str) -> str:
    """Return the name of a distribution as PEP 503 normalizes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _listed(file: str) -> set[str]:
    """Return the distributions that a requirements file lists."""
    text = (archives.CHECKOUT / file).read_text()
    return set(map(_canonical, re.findall(r"^[A-Za-z][\w.-]*", text, re.M)))


def _imported(paths: Iterable[pathlib.Path]) -> set[str]:
    """Return the third-party distributions that files import.

    A top-level package that no installed distribution has is returned by its
    own name: the test then fails and names it.
    """
    modules = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module)
    modules = {each.partition(".")[0] for each in modules}
    modules -= _OURS | sys.stdlib_module_names
    owners = metadata.packages_distributions()
    return {_canonical(owners.get(name, [name])[0]) for name in modules}


class RequirementsTest(unittest.TestCase):
    maxDiff = None

    def test_requirements_are_what_the_package_imports(self) -> None:
        paths = set(_PACKAGE.rglob("*.py")) - set(_TESTS.rglob("*.py"))
        self.assertEqual(
            _imported(paths), _listed("requirements.txt") - _BUILD
        )

    def test_test_requirements_are_what_only_tests_import(self) -> None:
        self.assertEqual(
            _imported(_TESTS.rglob("*.py")) - _listed("requirements.txt"),
            _listed("test-requirements.txt") - _RUN - _LAB,
        )
