# SPDX-License-Identifier: Apache-2.0

"""The table of OpenStack objects in the documentation has every label."""

from __future__ import annotations

import re

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.tests.functional.cloud import table as openstack_table

_LABEL = re.compile(r"\* - (?:nodegroup )?label ``(\w+)``")


class OpenStackRowsTest(base.BaseTestCase):
    def test_each_label_is_in_the_table_or_has_a_reason(self) -> None:
        measured = set(_LABEL.findall(openstack_table.TABLE.read_text()))
        reasons = [
            name
            for names in openstack_table.WITHOUT.values()
            for name in names
        ]
        self.assertEqual(
            sorted(label.name for label in features.LABELS),
            sorted([*measured, *reasons]),
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
