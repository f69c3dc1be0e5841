# SPDX-License-Identifier: Apache-2.0

"""The alerts: each fires for its fault, and says what to do."""

from __future__ import annotations

from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.tests.unit.metrics import dashboard
from magnum_capi_helm.tests.unit.metrics import promtool

DIRECTORY = promtool.root() / "etc" / "prometheus"
RULES = DIRECTORY / "magnum-capi-helm.rules.yaml"
TESTS = DIRECTORY / "magnum-capi-helm.rules.test.yaml"

#: What the alerts are about.
ALERTS = [
    f"Magnum{each}"
    for each in [
        "ClusterStuck",
        "ClusterFailed",
        "ClusterDrift",
        "ClusterAbsent",
        "Orphans",
        "AddonFailed",
        "CertificateExpiring",
        "CredentialDead",
        "LeaseStale",
        "ManagementClusterDown",
        "MetricsIncomplete",
        "SnapshotOld",
        "HelmSlow",
        "HelmQueue",
        "MetricsOld",
        "MetricsAbsent",
    ]
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
        for name, rule in rules().items():
            unknown = dashboard.unknown_names(rule["expr"])
            self.assertEqual(set(), unknown, name)

    def test_each_alert_is_tested_with_its_fault_and_without(self) -> None:
        self.assertEqual(set(ALERTS), tested(firing=True))
        self.assertEqual(set(ALERTS), tested(firing=False))


_PREFIX = "magnum_capi_helm_"


class DashboardTest(base.BaseTestCase):
    def test_each_metric_and_label_is_exported(self) -> None:
        for expression, legend in dashboard.targets():
            with self.subTest(expression):
                self.assertEqual(set(), dashboard.unknown_names(expression))
                self.assertEqual(
                    set(), dashboard.unknown_labels(expression, legend)
                )

    def test_each_variable_is_read_from_an_exported_metric(self) -> None:
        variables = dashboard.content()["templating"]["list"]
        queries = {each["name"]: each["query"] for each in variables}
        self.assertEqual(
            {
                "datasource": "prometheus",
                "management_cluster": f"label_values({_PREFIX}"
                "management_cluster_up, management_cluster)",
            },
            queries,
        )

    def test_each_exported_metric_is_shown(self) -> None:
        text = " ".join(expression for expression, _ in dashboard.targets())
        hidden = [name for name in dashboard.declared() if name not in text]
        self.assertEqual(
            [
                f"{_PREFIX}cluster_status_timestamp_seconds",
                f"{_PREFIX}delivery_seconds_sum",
            ],
            hidden,
        )

    def test_panels_have_an_id_a_title_and_a_description(self) -> None:
        panels = dashboard.panels()
        ids = [each["id"] for each in dashboard.content()["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in panels:
            self.assertTrue(panel["title"])
            self.assertTrue(panel["description"].endswith("."))


class UnknownTest(base.BaseTestCase):
    def test_an_unknown_name_is_found(self) -> None:
        for expression, unknown in (
            ("sum(magnum_capi_helm_clusters)", set()),
            ("magnum_capi_helm_poll_seconds", {f"{_PREFIX}poll_seconds"}),
            ("magnum_capi_helm_pods > 0", {f"{_PREFIX}pods"}),
        ):
            self.assertEqual(unknown, dashboard.unknown_names(expression))

    def test_an_unknown_label_is_found(self) -> None:
        orphans = "magnum_capi_helm_orphans"
        for expression, legend, unknown in (
            (f'{orphans}{{management_cluster="a"}}', "", set()),
            (f'{orphans}{{status!~"a"}}', "", {"status"}),
            (f"sum by (instance, name) ({orphans})", "", {"name"}),
            (orphans, "{{management_cluster}} {{part}}", {"part"}),
        ):
            self.assertEqual(
                unknown, dashboard.unknown_labels(expression, legend)
            )
