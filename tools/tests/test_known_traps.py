# SPDX-License-Identifier: Apache-2.0

"""Every known trap has its test."""

from __future__ import annotations

import importlib

from oslotest import base

from magnum_capi_helm.tests.unit.known_traps import defects

_PACKAGE = "magnum_capi_helm.tests"
#: Those of Magnum's that no driver meets: users' clients, its own settings.
_NOT_OURS = {"M8", "M12", "M16", "M19"}


class TableTest(base.BaseTestCase):
    def test_each_test_is_there(self) -> None:
        for tests in defects.ALL.values():
            for name in tests:
                module, case, method = name.rsplit(".", 2)
                found = importlib.import_module(f"{_PACKAGE}.{module}")
                self.assertTrue(method.startswith("test_"), name)
                self.assertTrue(hasattr(getattr(found, case), method), name)

    def test_no_trap_is_without_a_test(self) -> None:
        ids = {trap.split()[0] for trap, tests in defects.ALL.items() if tests}
        wanted = {
            f"{letter}{number}"
            for letter, last in (("B", 17), ("P", 5), ("C", 13), ("M", 19))
            for number in range(1, last + 1)
        }
        self.assertEqual(wanted - _NOT_OURS, ids)
