# SPDX-License-Identifier: Apache-2.0

"""The alerts: each fires for its fault, and says what to do."""

from __future__ import annotations

import re
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm import metrics
from magnum_capi_helm.tests.unit.metrics import promtool

DIRECTORY = promtool.root() / "etc" / "prometheus"
RULES = DIRECTORY / "magnum-capi-helm.rules.yaml"
TESTS = DIRECTORY / "magnum-capi-helm.rules.test.yaml"

#: What the alerts are about.
ALERTS = [
    "MagnumClusterStuck",
    "MagnumClusterFailed",
    "MagnumClusterDrift",
    "MagnumClusterAbsent",
    "MagnumOrphans",
    "MagnumAddonFailed",
    "MagnumCertificateExpiring",
    "MagnumCredentialDead",
    "MagnumLeaseStale",
    "MagnumManagementClusterDown",
    "MagnumMetricsIncomplete",
    "MagnumSnapshotOld",
    "MagnumHelmSlow",
    "MagnumHelmQueue",
    "MagnumMetricsOld",
    "MagnumMetricsAbsent",
]

#: A section of the guide; tools.tests.docs.test_links checks that it exists.
_SECTION = r"^https://docs\.openstack\.org/magnum-capi-helm/latest/admin/.+#"

#: What an operator runs of this driver's own, where that is the cure.
COMMANDS = {
    "MagnumClusterFailed": "cluster rollback",
    "MagnumClusterDrift": "list",
    "MagnumOrphans": "list",
    "MagnumCertificateExpiring": "cluster apply",
    "MagnumCredentialDead": "cluster credentials",
}


def rules() -> dict[str, dict[str, Any]]:
    """The rules by the names of their alerts."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for each in groups for rule in each["rules"]}


def tested(*, firing: bool) -> set[str]:
    """Alerts of which it is tested that they fire, or that they don't."""
    return {
        test["alertname"]
        for case in yaml.safe_load(TESTS.read_text())["tests"]
        for test in case["alert_rule_test"]
        if bool(test.get("exp_alerts")) == firing
    }


class RulesTest(base.BaseTestCase):
    def test_the_rules_have_these_alerts(self) -> None:
        self.assertEqual(ALERTS, list(rules()))

    def test_each_alert_is_told_in_a_line_and_says_what_to_do(self) -> None:
        for name, rule in rules().items():
            self.assertEqual(
                {"summary", "description", "runbook_url"},
                rule["annotations"].keys(),
                name,
            )
            self.assertRegex(rule["annotations"]["runbook_url"], _SECTION)
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))

    def test_an_alert_names_the_command_that_helps(self) -> None:
        for name, command in COMMANDS.items():
            said = rules()[name]["annotations"]["description"]
            self.assertIn(f'"magnum-capi-helm {command}', said, name)

    def test_rules_ask_for_nothing_but_what_is_declared(self) -> None:
        declared = {
            f"{each.name}{end}"
            for each in (*metrics.OF_CLOUD, *metrics.OF_PROCESS)
            for end in (("_sum", "_count") if each.summary else ("",))
        }
        asked = set()
        for rule in rules().values():
            asked |= set(re.findall(r"\bmagnum_capi_helm_\w+", rule["expr"]))
        self.assertEqual(set(), asked - declared)

    def test_each_alert_is_tested_with_its_fault_and_without(self) -> None:
        self.assertEqual(set(ALERTS), tested(firing=True))
        self.assertEqual(set(ALERTS), tested(firing=False))
