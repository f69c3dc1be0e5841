# SPDX-License-Identifier: Apache-2.0
"""Addons, also for hardware: whole values, by chart version."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import addons
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.unit.features import specs

NEWEST = "0.27.0"


def _values(
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
        expected = {
            "0.10.1": {**no_ingress, **dashboard},
            "0.16.1": {**no_ingress, **dashboard},
            "0.17.0": {**no_ingress, **dashboard, **reloader},
            "0.19.2": {**no_ingress, **dashboard, **reloader},
            "0.20.0": {**no_ingress, **reloader},
            NEWEST: {**no_ingress, **reloader},
        }
        self.assertEqual(
            expected, {each: _values(version=each) for each in expected}
        )
        found = _values({"reloader_enabled": "false"}, "0.16.1")
        self.assertNotIn("reloader", found)

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
                    name: _values({name: text})[addon]
                    for name, addon in rows.items()
                },
            )


class IngressTest(base.BaseTestCase):
    def test_both_switches_say_which_one(self) -> None:
        # A chart with both on does not render, and which one is on by
        # default depends on its version.
        for chosen, nginx in (("nginx", True), ("Traefik", False)):
            expected = {
                "enabled": True,
                "nginx": {"enabled": nginx},
                "traefik": {"enabled": not nginx},
            }
            found = _values({"ingress_controller": chosen})
            self.assertEqual(expected, found["ingress"])
        found = _values({"ingress_controller": ""})
        self.assertEqual({"enabled": False}, found["ingress"])

    def test_traefik_needs_a_chart_that_has_it(self) -> None:
        given = {"ingress_controller": "traefik"}
        addons.TOPIC.check(specs.cluster(given, chart=specs.chart("0.23.0")))
        self.assertEqual(
            "label ingress_controller: give nginx. It is 'traefik'; traefik "
            "is in charts 0.23.0 and later, not in 0.22.0",
            specs.refusal(
                addons.TOPIC.check,
                specs.cluster(given, chart=specs.chart("0.22.0")),
            ),
        )


NO_OPERATOR = {
    "nvidia_gpu_operator_enabled": "false",
    "mellanox_network_operator_enabled": "false",
}
NO_DISCOVERY = {"node_feature_discovery_enabled": "false"}


class ValuesTest(base.BaseTestCase):
    def test_defaults_leave_the_choice_to_the_chart(self) -> None:
        self.assertEqual({}, addons.HARDWARE.cluster(specs.cluster()))

    def test_names_of_the_parts_of_a_gpu(self) -> None:
        mig = {"release": {"values": {"mig": {"strategy": "mixed"}}}}
        given = specs.cluster({"nvidia_mig_strategy": "mixed"})
        self.assertEqual(
            {"addons": {"nvidiaGPUOperator": mig}},
            addons.HARDWARE.cluster(given),
        )

    def test_intels_plugin_does_without_flux(self) -> None:
        rows = {
            "true": {
                "enabled": True,
                "xpuManagerMonitoring": {"enabled": False},
            },
            "false": {"enabled": False},
        }
        for text, expected in rows.items():
            cluster = specs.cluster({"intel_device_plugin_enabled": text})
            self.assertEqual(
                {"addons": {"intelDevicePlugin": expected}},
                addons.HARDWARE.cluster(cluster),
            )


class RefusedTest(base.BaseTestCase):
    def test_an_operator_that_the_chart_does_not_have(self) -> None:
        rows = {
            "amd_gpu_operator_enabled": ("0.26.1", "0.27.0"),
            "intel_device_plugin_enabled": ("0.14.1", "0.15.0"),
        }
        for name, (without, since) in rows.items():
            given = {name: "true"}
            values.checked(specs.cluster(given, chart=specs.chart(since)))
            cluster = specs.cluster(given, chart=specs.chart(without))
            text = specs.refusal(values.checked, cluster)
            self.assertIn(f"label {name}: ", text)
            self.assertIn(f"{since} and later", text)

    def test_parts_of_gpus_need_their_operator(self) -> None:
        given = labels.resolve(
            features.LABELS,
            labels.Sources(template={"nvidia_mig_strategy": "mixed"}),
            {"nvidia_gpu_operator_enabled": False},
        )
        self.assertEqual(
            "label nvidia_mig_strategy: give it together with "
            "nvidia_gpu_operator_enabled=true. It is 'mixed'",
            specs.refusal(addons.HARDWARE.check, specs.cluster(labels=given)),
        )

    def test_two_addons_of_one_name_are_refused(self) -> None:
        """Release names of 1.4.0 have 43 characters, those of today 27."""
        given = {"intel_device_plugin_enabled": "true"}
        for length, refused in ((27, False), (41, False), (42, True)):
            cluster = specs.cluster(given, release="r" * length)
            if not refused:
                values.checked(cluster)
                continue
            self.assertEqual(
                "label intel_device_plugin_enabled: give false: release "
                f"{'r' * 42} has more than 41 characters, so the chart would "
                "make two addons of one name. It is 'true'",
                specs.refusal(values.checked, cluster),
            )
        values.checked(specs.cluster(release="r" * 43))

    def test_discovery_stays_while_an_operator_needs_it(self) -> None:
        # The chart would install it all the same.
        self.assertEqual(
            "label node_feature_discovery_enabled: give true, or false for "
            "nvidia_gpu_operator_enabled and "
            "mellanox_network_operator_enabled as well. It is 'false'",
            specs.refusal(addons.HARDWARE.check, specs.cluster(NO_DISCOVERY)),
        )
        addons.HARDWARE.check(specs.cluster({**NO_OPERATOR, **NO_DISCOVERY}))


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


def monitoring(**given: str) -> dict[str, Any]:
    """What the topic has below ``addons.monitoring``."""
    found = addons.MONITORING.cluster(specs.cluster(given))
    assert list(found) == ["addons"]
    assert list(found["addons"]) == ["monitoring"]
    below: dict[str, Any] = found["addons"]["monitoring"]
    return below


def prometheus(**given: str) -> Any:
    stack = monitoring(monitoring_enabled="true", **given)[
        "kubePrometheusStack"
    ]
    return stack["release"]["values"]["prometheus"]["prometheusSpec"]


class MonitoringTest(base.BaseTestCase):
    def test_the_switch_is_always_sent_and_the_rest_waits_for_it(self) -> None:
        self.assertEqual({"enabled": False}, monitoring())
        self.assertEqual(
            {"enabled": True}, monitoring(monitoring_enabled="True")
        )
        self.assertEqual({"enabled": False}, monitoring(**REST))

    def test_the_volume_holds_more_than_what_is_kept(self) -> None:
        # 10 GiB, the chart's, would be full before old data is removed.
        for kept, volume in (("1", "2Gi"), ("14", "18Gi"), ("100", "125Gi")):
            found = prometheus(monitoring_retention_size=kept)
            template = found["storageSpec"]["volumeClaimTemplate"]
            self.assertEqual(
                {"resources": {"requests": {"storage": volume}}},
                template["spec"],
            )


class MonitoringRefusedTest(base.BaseTestCase):
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
