# SPDX-License-Identifier: Apache-2.0

"""Rules of upgrades, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import upgrade_rules as rules
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors


def _chart(version: str) -> cluster_spec.Chart:
    return cluster_spec.Chart("chart", version, "https://charts.test")


class RulesTest(base.BaseTestCase):
    def refuses(self, rule: Callable[..., Any], *args: Any) -> bool:
        """Whether a rule refuses."""
        try:
            rule(*args)
        except errors.CapiHelmError:
            return True
        return False

    def test_a_step_back_of_kubernetes_is_refused(self) -> None:
        for old, new, refused in (
            ("1.34.2", "1.34.2", False),
            ("1.34.2", "1.34.3", False),
            ("v1.34.2", "1.35.0", False),
            ("1.34.2", "1.36.0", False),
            ("1.34.2", "1.34.1", True),
            ("1.34.2", "1.33.9", True),
            ("1.9.0", "1.10.0", False),
            ("", "1.30.0", False),
        ):
            self.assertEqual(
                refused,
                self.refuses(rules.check_kubernetes, old, new),
                f"{old} {new}",
            )

    def test_kubelets_that_stay(self) -> None:
        for kubelet, control_plane, refused in (
            ("1.35.0", "1.35.1", False),
            ("1.32.9", "1.35.0", False),
            ("1.31.0", "1.35.0", True),
            ("1.36.0", "1.35.0", True),
            ("", "1.35.0", False),
        ):
            self.assertEqual(
                refused,
                self.refuses(rules.check_kept, "g", kubelet, control_plane),
                f"{kubelet} {control_plane}",
            )

    def test_an_untested_pair_of_chart_and_kubernetes_is_refused(self) -> None:
        for chart, version, refused in (
            ("0.27.0", "1.36.0", False),
            ("0.27.0", "1.37.0", True),
            ("0.27.0", "1.32.0", True),
            ("0.10.1", "1.31.0", False),
            # Nobody knows.
            ("0.99.0", "1.50.0", False),
        ):
            self.assertEqual(
                refused,
                self.refuses(rules.check_pair, chart, version),
                f"{chart} {version}",
            )

    def test_each_step_has_a_chart_for_its_version(self) -> None:
        for new, old, version, expected in (
            ("0.27.0", "0.23.0", "1.34.0", "0.27.0"),
            # The new chart takes 1.33 and later.
            ("0.27.0", "0.23.0", "1.32.9", "0.23.0"),
            ("0.99.0", "0.23.0", "1.32.9", "0.99.0"),
        ):
            actual = rules.chart_of_hop(_chart(new), _chart(old), version)
            self.assertEqual(expected, actual.version)
        error = self.assertRaises(
            errors.NotSupported,
            rules.chart_of_hop,
            *(_chart("0.27.0"), _chart("0.14.1"), "1.32.9"),
        )
        self.assertEqual(
            "no chart takes a Kubernetes version on the way: choose a "
            "template with another label capi_helm_chart_version first. Chart "
            "0.27.0 takes 1.33 to 1.36, chart 0.14.1 takes 1.29 to 1.31, and "
            "the version is v1.32.9",
            str(error),
        )

    def test_a_version_of_cluster_api_limits_kubernetes(self) -> None:
        for installed, version, refused in (
            ("1.10.4", "1.35.9", False),
            ("1.10.4", "1.36.0", True),
            ("1.12.7", "1.36.0", True),
            ("1.12.8", "1.36.0", False),
            ("1.13.0", "1.36.0", True),
            ("1.13.1", "1.37.0", False),
            ("1.14.0", "1.36.0", False),
            ("image capi", "1.36.0", False),
        ):
            self.assertEqual(
                refused,
                self.refuses(rules.check_cluster_api, installed, version),
                f"{installed} {version}",
            )

    def test_an_older_chart_is_refused(self) -> None:
        self.assertTrue(self.refuses(rules.check_chart, "0.27.0", "0.9.0"))
        self.assertFalse(self.refuses(rules.check_chart, "0.9.0", "0.27.0"))
        self.assertEqual("0.27.0", rules.newer_chart("0.27.0", "0.9.0"))
        self.assertEqual("0.27.0", rules.newer_chart("0.9.0", "0.27.0"))

    def test_an_older_network_plugin_is_refused(self) -> None:
        for cni, old, new, refused in (
            ("calico", "v3.31.5", "v3.31.5", False),
            ("calico", "v3.31.5", "v3.32.0", False),
            ("calico", "v3.31.5", "v3.31.4", True),
            ("cilium", "1.19.3", "1.9.9", True),
            # The chart's version is not known here.
            ("calico", "v3.31.5", None, False),
            ("calico", None, "v3.28.0", False),
        ):
            before, after = (
                {"addons": {"cni": {cni: {"chart": {"version": each}}}}}
                for each in (old, new)
            )
            self.assertEqual(
                refused,
                self.refuses(rules.check_cni_version, before, after),
                f"{old} {new}",
            )

    def test_a_batch_size_becomes_the_rollout_strategy(self) -> None:
        rolling = {"rolloutStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}
        surge = {
            "machineCount": 3,
            "rolloutStrategy": {
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "0%"}
            },
        }
        for item, size, expected in (
            (surge, 2, surge),
            (surge, None, surge),
            ({"machineCount": 3}, 2, {"machineCount": 3, **rolling}),
            ({"machineCount": 2}, 9, {"machineCount": 2, **rolling}),
            ({"machineCount": 1}, 9, {"machineCount": 1}),
            ({"machineCount": 0}, 9, {"machineCount": 0}),
            ({"machineCount": 3, **rolling}, 1, {"machineCount": 3}),
            ({"machineCount": 3, **rolling}, None, {"machineCount": 3}),
            ({"machineCountMax": 2}, 9, {"machineCountMax": 2, **rolling}),
        ):
            self.assertEqual(expected, rules.batched(item, size))

    def test_groups_of_1_4_0_are_pinned_to_what_all_had(self) -> None:
        values = {"kubernetesVersion": "1.30.0", "machineImageId": "i-1"}
        for item, expected in (
            ({"name": "a"}, {"name": "a", **values}),
            (
                {"machineImageId": "i-2"},
                {"kubernetesVersion": "1.30.0", "machineImageId": "i-2"},
            ),
            (
                {"kubernetesVersion": "1.29.0"},
                {**values, "kubernetesVersion": "1.29.0"},
            ),
        ):
            self.assertEqual(expected, rules.pinned(item, values))
