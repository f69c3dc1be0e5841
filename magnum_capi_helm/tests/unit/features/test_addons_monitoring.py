# SPDX-License-Identifier: Apache-2.0
"""Monitoring: whole values."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import addons
from magnum_capi_helm.tests.unit.features import specs

#: Every label of the topic but the switch.
REST = {
    "monitoring_retention_days": "14",
    "monitoring_retention_size": "20",
    "monitoring_volume_size": "30",
    "monitoring_storage_class_name": "fast",
    "monitoring_interval_seconds": "60",
    "monitoring_loki_enabled": "false",
    "monitoring_blackbox_enabled": "false",
}


def values(**given: str) -> dict[str, Any]:
    """What the topic has below ``addons.monitoring``."""
    found = addons.MONITORING.cluster(specs.cluster(given))
    assert list(found) == ["addons"]
    assert list(found["addons"]) == ["monitoring"]
    below: dict[str, Any] = found["addons"]["monitoring"]
    return below


def prometheus(**given: str) -> Any:
    stack = values(monitoring_enabled="true", **given)["kubePrometheusStack"]
    return stack["release"]["values"]["prometheus"]["prometheusSpec"]


class ValuesTest(base.BaseTestCase):
    def test_the_switch_is_always_sent_and_the_rest_waits_for_it(self) -> None:
        self.assertEqual({"enabled": False}, values())
        self.assertEqual({"enabled": True}, values(monitoring_enabled="True"))
        self.assertEqual({"enabled": False}, values(**REST))

    def test_the_volume_holds_more_than_what_is_kept(self) -> None:
        # 10 GiB, the chart's, would be full before old data is removed.
        for kept, volume in (("1", "2Gi"), ("14", "18Gi"), ("100", "125Gi")):
            found = prometheus(monitoring_retention_size=kept)
            template = found["storageSpec"]["volumeClaimTemplate"]
            self.assertEqual(
                {"resources": {"requests": {"storage": volume}}},
                template["spec"],
            )


class RefusedTest(base.BaseTestCase):
    def test_a_volume_that_what_is_kept_would_fill(self) -> None:
        given = {"monitoring_retention_size": "20"}
        for size in ("10", "20"):
            cluster = specs.cluster(
                given
                | {"monitoring_enabled": "true"}
                | {"monitoring_volume_size": size}
            )
            self.assertEqual(
                "label monitoring_volume_size: give more than "
                f"monitoring_retention_size, 20 GiB. It is '{size}'",
                specs.refusal(addons.MONITORING.check, cluster),
            )

    def test_a_volume_is_not_checked_while_monitoring_is_off(self) -> None:
        addons.MONITORING.check(
            specs.cluster({**REST, "monitoring_volume_size": "10"})
        )
