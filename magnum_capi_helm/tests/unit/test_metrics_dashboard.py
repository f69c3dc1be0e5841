# SPDX-License-Identifier: Apache-2.0

"""The Grafana dashboard shows metrics that the driver exports."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.tests.unit.metrics import dashboard

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
