# SPDX-License-Identifier: Apache-2.0

"""What Prometheus itself says of the alerts and of the dashboard."""

from __future__ import annotations

from oslotest import base
import yaml

from magnum_capi_helm.tests.unit import test_metrics as rules
from magnum_capi_helm.tests.unit.metrics import promtool


class PrometheusTest(base.BaseTestCase):
    def test_prometheus_takes_the_rules(self) -> None:
        said = promtool.run(self, "check", "rules", str(rules.RULES))
        self.assertIn(f"SUCCESS: {len(rules.ALERTS)} rules found", said)

    def test_each_alert_fires_for_its_fault_and_for_no_other_reason(
        self,
    ) -> None:
        said = promtool.run(self, "test", "rules", str(rules.TESTS))
        self.assertIn("SUCCESS", said)

    def test_prometheus_reads_each_expression_of_the_dashboard(self) -> None:
        rules_of_panels = [
            {"record": f"panel:{number}", "expr": expression}
            for number, (expression, _) in enumerate(promtool.targets())
        ]
        text = yaml.safe_dump(
            {"groups": [{"name": "panels", "rules": rules_of_panels}]}
        ).replace("$__rate_interval", "5m")
        [path] = self.create_tempfiles([("panels", text)], ext=".yaml")
        said = promtool.run(self, "check", "rules", path)
        self.assertIn(f"SUCCESS: {len(rules_of_panels)} rules found", said)
