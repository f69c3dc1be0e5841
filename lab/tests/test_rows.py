# SPDX-License-Identifier: Apache-2.0

"""Rows of OpenStack before and after."""

from collections.abc import Mapping
from typing import Any
import unittest

from lab.cloud import rows
from lab.commands import rows as command

BEFORE = {"ports": {"p1": "old"}, "security groups": {}}
NOW = {
    "ports": {"p1": "old", "p2": "new"},
    "security groups": {"g1": "default"},
}


class TableTest(unittest.TestCase):
    def test_new_rows_are_named_and_excuses_have_a_reason(self) -> None:
        self.assertEqual(
            [
                "                            BEFORE     NOW",
                "ports                            1       2",
                "security groups                  0       1",
                "new in ports: new",
                "may come in security groups: default (Neutron makes one for"
                " each project)",
            ],
            list(command.table(BEFORE, NOW)),
        )


class MentionsTest(unittest.TestCase):
    def test_name_tags_and_description_count(self) -> None:
        cases: tuple[tuple[Mapping[str, Any], bool], ...] = (
            ({"name": "web-1-control-plane"}, True),
            ({"name": "", "description": "cluster ns-web-1"}, True),
            ({"name": None, "tags": ["a", "kube_service_web-1_x_y"]}, True),
            ({"name": "web-2", "metadata": {"cluster": "web-1"}}, False),
        )
        for row, expected in cases:
            with self.subTest(row=row):
                self.assertIs(expected, rows.mentions(row, "web-1"))

    def test_a_row_without_a_name_has_its_address(self) -> None:
        address = {"id": "i", "floating_ip_address": "192.0.2.7"}
        self.assertEqual(
            ["n", "192.0.2.7", "i"],
            [
                rows.called(each)
                for each in ({"id": "i", "name": "n"}, address, {"id": "i"})
            ],
        )
