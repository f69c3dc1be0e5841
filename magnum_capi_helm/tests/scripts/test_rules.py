# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
