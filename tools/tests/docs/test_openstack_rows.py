# SPDX-License-Identifier: Apache-2.0

"""The tables of OpenStack objects in the documentation."""

from __future__ import annotations

import re

from oslotest import base

from magnum_capi_helm.tests.functional.cloud import table as openstack_table

_LABEL = re.compile(r"\* - (?:nodegroup )?label ``(\w+)``")


def labels() -> list[str]:
    """Return the labels of both tables."""
    measured = set(_LABEL.findall(openstack_table.TABLE.read_text()))
    reasons = openstack_table.WITHOUT.values()
    return [*measured, *(name for names in reasons for name in names)]


class OpenStackRowsTest(base.BaseTestCase):
    def test_a_label_is_in_one_table(self) -> None:
        self.assertEqual(sorted(set(labels())), sorted(labels()))

    def test_the_page_has_the_labels_without_objects(self) -> None:
        self.assertTrue(
            openstack_table.TABLE.read_text().endswith(
                openstack_table.without()
            ),
            f"{openstack_table.TABLE} is old: run "
            f"python3 -m {openstack_table.__name__}",
        )

    def test_values_are_written_as_readers_know_them(self) -> None:
        line = {
            "setting": "option [cinder] default_boot_volume_size",
            "value": "23",
            "object": "boot volume",
            "field": "size",
        }
        cases = (
            (False, "``false``"),
            (None, "``none``"),
            (["a", None], "``a, none``"),
            ({"key": "value"}, "``key=value``"),
        )
        for value, expected in cases:
            lines = {"clusters": [{**line, "seen": value}], "options": []}
            self.assertIn(
                "   * - option [cinder] ``default_boot_volume_size``\n"
                "     - ``23``\n"
                "     - boot volume\n"
                "     - size\n"
                f"     - {expected}\n",
                openstack_table.text(lines),
            )
