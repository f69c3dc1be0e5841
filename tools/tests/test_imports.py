# SPDX-License-Identifier: Apache-2.0
"""Imports go one way only, and each library has one module that knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import functools
import pathlib

from oslotest import base

import magnum_capi_helm
from magnum_capi_helm.tests import folders

PACKAGE = "magnum_capi_helm"
ROOT = pathlib.Path(magnum_capi_helm.__file__).parent

#: These decide by their arguments alone.
PURE = {"chart", "features", "model", "status"}
#: No clock, log, environment, network or process is in here.
PURE_MAY_IMPORT = {
    *("__future__", "base64", "calendar", "collections.abc", "copy"),
    *("dataclasses", "difflib", "enum", "functools", "gzip", "hashlib"),
    *("ipaddress", "itertools", "json", "math", "oslo_config.types", "re"),
    *("typing", "yaml", "zlib"),
    "importlib.resources",  # of the package: a part of the program
}

#: Library -> the modules that may import it.
OWNERS = {
    "pykube": {"kubernetes.connection"},
    "pyhelm3": {"helm.command"},
    "openstack": {"cloud.sessions"},
    "keystoneclient": {"cloud.keystone"},
    "prometheus_client": {"metrics"},
    "rich": {"cli.tree_output"},
}


@functools.cache
def _modules() -> dict[str, ast.Module]:
    """Each module of the product: dotted name below the package -> tree."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "tests" and parts != ("__init__",):
            name = ".".join(parts).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text())
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    """Full names of what is imported, in functions as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def _folder(module: str) -> str:
    return module.split(".")[0]


def _inner(tree: ast.AST) -> set[str]:
    """Modules of the package that a tree imports."""
    found = set()
    for name in _imports(tree):
        if name.startswith(f"{PACKAGE}."):
            inner = name.removeprefix(f"{PACKAGE}.")
            # "from module import name" names something in a module.
            while inner not in _modules():
                inner = inner.rpartition(".")[0]
            found.add(inner)
    return found


class ImportsTest(base.BaseTestCase):
    def test_each_folder_has_its_layer(self) -> None:
        declared = [each for layer in folders.LAYERS for each in layer]
        found = {_folder(name) for name in _modules()}
        self.assertEqual(sorted(found), sorted(declared))

    def test_no_folder_imports_from_above(self) -> None:
        floor = {
            folder: number
            for number, layer in enumerate(folders.LAYERS)
            for folder in layer
        }
        back = {
            (_folder(name), _folder(other))
            for name, tree in _modules().items()
            for other in _inner(tree)
            if _folder(name) != _folder(other)
            and floor[_folder(other)] <= floor[_folder(name)]
        }
        self.assertEqual(set(), back)

    def test_no_modules_import_each_other(self) -> None:
        # Packages that only hold modules import nothing.
        ahead = {
            name: _inner(tree) - {name} for name, tree in _modules().items()
        }
        while ahead:
            free = [name for name, needs in ahead.items() if not needs]
            self.assertTrue(free, f"a circle among {sorted(ahead)}")
            for name in free:
                del ahead[name]
            for needs in ahead.values():
                needs.difference_update(free)

    def test_the_pure_layers_know_nothing_of_the_world(self) -> None:
        worldly = [
            f"{name} imports {other}"
            for name, tree in _modules().items()
            if _folder(name) in PURE and name not in folders.ABOUT_THE_CALL
            for other in sorted(set(_imports(tree)))
            if not other.startswith(f"{PACKAGE}.")
            and other not in PURE_MAY_IMPORT
            and other.rpartition(".")[0] not in PURE_MAY_IMPORT
        ]
        self.assertEqual([], worldly)

    def test_each_library_has_its_one_module(self) -> None:
        users: dict[str, set[str]] = {library: set() for library in OWNERS}
        for name, tree in _modules().items():
            for other in _imports(tree):
                library = other.split(".")[0]
                if library in users:
                    users[library].add(name)
        self.assertEqual(OWNERS, users)
