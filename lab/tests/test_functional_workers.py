# SPDX-License-Identifier: Apache-2.0

"""No functional test is forgotten, and none runs twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib
import re

from oslotest import base
import yaml

from magnum_capi_helm.tests import functional

_COMMON = pathlib.Path(functional.__file__).parent
_FURTHER = _COMMON / "further"


def tests(folder: pathlib.Path) -> Iterator[str]:
    """Module and class of every test that runs beside others."""
    for path in sorted(folder.glob("test_*.py")):
        for item in ast.parse(path.read_text()).body:
            if isinstance(item, ast.ClassDef) and any(
                isinstance(each, ast.FunctionDef)
                and each.name.startswith("test_")
                for each in item.body
            ):
                yield f"{path.stem}.{item.name}"


class WorkersTest(base.BaseTestCase):
    def test_each_class_of_tests_is_in_one_list(self) -> None:
        for folder in (_COMMON, _FURTHER):
            lists = yaml.safe_load((folder / "workers.yaml").read_text())
            listed = [each for one in lists for each in one["worker"]]
            found = {
                name: sum(bool(re.search(each, name)) for each in listed)
                for name in tests(folder)
            }
            self.assertEqual(dict.fromkeys(found, 1), found)
            self.assertGreater(len(found), 8)
