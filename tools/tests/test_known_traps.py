# SPDX-License-Identifier: Apache-2.0

"""Every known trap has its test."""

from __future__ import annotations

import importlib

from oslotest import base

from magnum_capi_helm.tests.unit.known_traps import table

_PACKAGE = "magnum_capi_helm.tests"
#: Those of Magnum's that no driver meets: users' clients, its own settings.
_NOT_OURS = {"M8", "M12", "M16", "M19"}


class TableTest(base.BaseTestCase):
    """Names of tests in the table are names of tests."""

    def test_each_test_is_there(self) -> None:
        missing = [
            name
            for tests in table.ALL.values()
            for name in tests
            if not _exists(name)
        ]
        self.assertEqual([], missing)

    def test_no_trap_is_without_a_test(self) -> None:
        ids = {trap.split()[0] for trap, tests in table.ALL.items() if tests}
        wanted = {
            f"{letter}{number}"
            for letter, last in (("B", 17), ("P", 5), ("C", 13), ("M", 19))
            for number in range(1, last + 1)
        }
        self.assertEqual(wanted - _NOT_OURS, ids)

    def test_an_absent_test_is_noticed(self) -> None:
        there = next(iter(table.ALL.values()))[0]
        module, case, _ = there.rsplit(".", 2)
        self.assertTrue(_exists(there))
        for name in (f"{case}.test_x", "Nothing.test_x", f"{case}.setUp"):
            self.assertFalse(_exists(f"{module}.{name}"), name)


def _exists(name: str) -> bool:
    module, case, method = name.rsplit(".", 2)
    try:
        found = importlib.import_module(f"{_PACKAGE}.{module}")
    except ModuleNotFoundError:
        return False
    test = getattr(getattr(found, case, None), method, None)
    return callable(test) and method.startswith("test_")
