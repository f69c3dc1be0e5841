# SPDX-License-Identifier: Apache-2.0
"""Operators for hardware: whole values."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import addons
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

NO_OPERATOR = {
    "nvidia_gpu_operator_enabled": "false",
    "mellanox_network_operator_enabled": "false",
}
NO_DISCOVERY = {"node_feature_discovery_enabled": "false"}


class ValuesTest(base.BaseTestCase):
    def test_nothing_given_leaves_the_charts_choice(self) -> None:
        self.assertEqual({}, addons.HARDWARE.cluster(specs.cluster()))

    def test_operators_and_discovery_can_be_switched_off(self) -> None:
        self.assertEqual(
            {
                "addons": {
                    "nvidiaGPUOperator": {"enabled": False},
                    "mellanoxNetworkOperator": {"enabled": False},
                    "nodeFeatureDiscovery": {"enabled": False},
                }
            },
            addons.HARDWARE.cluster(
                specs.cluster({**NO_OPERATOR, **NO_DISCOVERY})
            ),
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
            error = self.assertRaises(
                errors.LabelError,
                values.checked,
                specs.cluster(given, chart=specs.chart(without)),
            )
            self.assertIn(f"label {name}: ", str(error))
            self.assertIn(f"{since} and later", str(error))

    def test_discovery_stays_while_an_operator_needs_it(self) -> None:
        # The chart would install it all the same.
        error = self.assertRaises(
            errors.LabelError,
            addons.HARDWARE.check,
            specs.cluster(NO_DISCOVERY),
        )
        self.assertEqual(
            "label node_feature_discovery_enabled: give true, or false for "
            "nvidia_gpu_operator_enabled and "
            "mellanox_network_operator_enabled as well. It is 'false'",
            str(error),
        )
        addons.HARDWARE.check(specs.cluster({**NO_OPERATOR, **NO_DISCOVERY}))
