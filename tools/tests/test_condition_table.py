# SPDX-License-Identifier: Apache-2.0

"""The table of the conditions is that of the code."""

from oslotest import base

from tools import condition_table


class ConditionTableTest(base.BaseTestCase):
    def test_the_page_has_what_the_driver_says_now(self) -> None:
        command = "run: python3 -m tools.condition_table"
        page = condition_table.PAGE.read_text()
        self.assertTrue(page == condition_table.text(), command)
