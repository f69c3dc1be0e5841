# SPDX-License-Identifier: Apache-2.0

"""What Prometheus itself says of the alerts."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.tests.unit.metrics import promtool
from magnum_capi_helm.tests.unit.metrics import test_rules as rules


class PrometheusTest(base.BaseTestCase):
    def test_prometheus_takes_the_rules(self) -> None:
        said = promtool.run(self, "check", "rules", str(rules.RULES))
        self.assertIn(f"SUCCESS: {len(rules.ALERTS)} rules found", said)

    def test_each_alert_fires_for_its_fault_and_for_no_other_reason(
        self,
    ) -> None:
        said = promtool.run(self, "test", "rules", str(rules.TESTS))
        self.assertIn("SUCCESS", said)
