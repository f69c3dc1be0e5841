# SPDX-License-Identifier: Apache-2.0
"""Addons: whole values, on each chart version that differs."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import addons
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

NEWEST = "0.27.0"


def values(
    given: dict[str, str] | None = None, version: str = NEWEST
) -> dict[str, Any]:
    """What the topic has below ``addons``."""
    cluster = specs.cluster(given, chart=specs.chart(version))
    found = addons.TOPIC.cluster(cluster)
    assert list(found) == ["addons"]
    below: dict[str, Any] = found["addons"]
    return below


class DefaultsTest(base.BaseTestCase):
    def test_only_what_differs_from_the_charts_defaults_is_sent(self) -> None:
        no_ingress = {"ingress": {"enabled": False}}
        dashboard = {"kubernetesDashboard": {"enabled": True}}
        reloader = {"reloader": {"enabled": True}}
        self.assertEqual(
            {
                "0.10.1": {**no_ingress, **dashboard},
                "0.16.1": {**no_ingress, **dashboard},
                "0.17.0": {**no_ingress, **dashboard, **reloader},
                "0.19.2": {**no_ingress, **dashboard, **reloader},
                "0.20.0": {**no_ingress, **reloader},
                NEWEST: {**no_ingress, **reloader},
            },
            {
                version: values(version=version)
                for version in (
                    "0.10.1",
                    "0.16.1",
                    "0.17.0",
                    "0.19.2",
                    "0.20.0",
                    NEWEST,
                )
            },
        )

    def test_a_switch_that_is_given_is_sent_even_as_its_default(self) -> None:
        rows = {
            "metrics_server_enabled": "metricsServer",
            "npd_enabled": "nodeProblemDetector",
            "etcd_defrag_enabled": "etcdDefrag",
            "cert_manager_enabled": "certManager",
        }
        for text, enabled in (("true", True), ("false", False)):
            self.assertEqual(
                {name: {"enabled": enabled} for name in rows},
                {
                    name: values({name: text})[addon]
                    for name, addon in rows.items()
                },
            )


class ReloaderTest(base.BaseTestCase):
    def test_it_can_be_switched_off(self) -> None:
        self.assertEqual(
            {"enabled": False},
            values({"reloader_enabled": "false"})["reloader"],
        )

    def test_a_chart_without_it_is_not_told(self) -> None:
        given = {"reloader_enabled": "false"}
        self.assertNotIn("reloader", values(given, "0.16.1"))


class IngressTest(base.BaseTestCase):
    def test_both_switches_say_which_one(self) -> None:
        # A chart with both on does not render, and which one is on by
        # default depends on its version.
        for chosen, nginx in (("nginx", True), ("Traefik", False)):
            self.assertEqual(
                {
                    "enabled": True,
                    "nginx": {"enabled": nginx},
                    "traefik": {"enabled": not nginx},
                },
                values({"ingress_controller": chosen})["ingress"],
            )

    def test_empty_installs_none(self) -> None:
        self.assertEqual(
            {"enabled": False}, values({"ingress_controller": ""})["ingress"]
        )

    def test_a_controller_of_another_driver_names_what_is_allowed(
        self,
    ) -> None:
        error = self.assertRaises(
            errors.LabelError, values, {"ingress_controller": "octavia"}
        )
        self.assertEqual(
            "label ingress_controller: give nginx or traefik; empty installs "
            "no ingress controller. It is 'octavia'",
            str(error),
        )

    def test_traefik_needs_a_chart_that_has_it(self) -> None:
        given = {"ingress_controller": "traefik"}
        addons.TOPIC.check(specs.cluster(given, chart=specs.chart("0.23.0")))
        error = self.assertRaises(
            errors.LabelError,
            addons.TOPIC.check,
            specs.cluster(given, chart=specs.chart("0.22.0")),
        )
        self.assertEqual(
            "label ingress_controller: give nginx. It is 'traefik'; traefik "
            "is in charts 0.23.0 and later, not in 0.22.0",
            str(error),
        )
