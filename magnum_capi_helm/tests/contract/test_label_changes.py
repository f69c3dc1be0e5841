# SPDX-License-Identifier: Apache-2.0

"""What each label changes in a living cluster, as the chart renders it.

The label reference shows the same table.
"""

from __future__ import annotations

import json

from oslotest import base

from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.contract import label_effects
from magnum_capi_helm.tests.contract import rendering


class LabelChangesTest(base.BaseTestCase):
    def test_the_table_is_what_the_chart_does(self) -> None:
        table: dict[str, str] = json.loads(label_effects.TABLE.read_text())
        version = value_paths.chart_versions()[0]
        self.assertEqual(
            {
                name: effect
                for name, effect in table.items()
                if not name.startswith(label_effects.ENCRYPTION)
            },
            label_effects.effects(version, rendering.CHART),
        )
