# SPDX-License-Identifier: Apache-2.0

"""Another version of the chart that is rolled out to a cluster."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.unit import test_driver_legacy
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling


class ChartTest(rolling.RolloutTestCase):
    """Another version of the chart, with the values of today."""

    def test_another_chart_gets_the_same_values(self) -> None:
        before = self.told()
        self.all.write_text(rolling.ADDON)
        self.rolled_out(chart=rolling.NEW)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)
        self.assertEqual(before, self.told())
        self.assertEqual(rollout.Plan("0.27.0"), self.look(chart="v0.27.0"))
        self.resize(3)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)

    def test_chart_and_files_are_rolled_out_at_once(self) -> None:
        self.all.write_text(rolling.ADDON)
        self.rolled_out(chart=rolling.NEW, files=True)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)
        self.assertIn("ccm", self.told()["addons"]["openstack"])

    def test_its_addons_come_from_the_operators_repository(self) -> None:
        url = "https://charts.mirror.test"
        conf.CONF.set_override("addon_repository", url, "capi_helm")
        # The files say nothing of it.
        self.assertIsNone(self.look().desired)
        self.rolled_out(chart=rolling.NEW)
        self.assertEqual(
            {"repo": url}, self.told()["addons"]["cni"]["calico"]["chart"]
        )

    def test_versions_that_are_refused(self) -> None:
        for version, text in (
            (
                "0.25.1",
                "older chart: .* 0.26.1, and --chart-version is 0.25.1$",
            ),
            ("0.99.0", "the chart is not in the chart store"),
        ):
            self.helm.published = {rolling.NEW}
            self.assertRegex(self.no(chart=version), text)


class OldChartTest(rolling.RolloutTestCase):
    """A cluster of chart 0.10.1."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)

    def test_a_kubernetes_that_the_chart_is_not_made_for(self) -> None:
        self.complete({"labels": {"capi_helm_chart_version": "0.10.1"}})
        self.assertRegex(
            self.no(chart="0.15.0"),
            "^the chart is not made .*0.15.0 takes 1.29 to 1.32, .* v1.34.2$",
        )

    def test_a_label_that_the_new_chart_ignores_is_refused(self) -> None:
        labels = {
            "capi_helm_chart_version": "0.10.1",
            "extra_network_names": "public",
        }
        self.complete({"image_id": "ubuntu-1.31", "labels": labels})
        self.assertRegex(
            self.no(chart="0.12.0"),
            "^label extra_network_names: .* 'public'; .* up to 0.10.1, 0.14.1 "
            "and later do, and this is 0.12.0$",
        )

    def test_allowed_networks_reach_a_chart_without_the_value(self) -> None:
        labels = {
            "capi_helm_chart_version": "0.10.1",
            "api_master_lb_allowed_cidrs": "192.0.2.0/24",
        }
        self.complete({"image_id": "ubuntu-1.32", "labels": labels})
        self.assertEqual({"enabled": True}, self.balancer())
        self.rolled_out(chart="0.15.0")
        patched = {"enabled": True, "allowedCIDRs": ["192.0.2.0/24"]}
        self.assertEqual(patched, self.balancer())
        # A resize renders and patches anew; without a value nothing is left.
        self.resize(3)
        self.assertEqual(patched, self.balancer())
        self.assertIsNone(self.look().desired)

    def balancer(self) -> object:
        """The API's load balancer in the live OpenStackCluster."""
        live = self.server.get(
            kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE
        )
        return live and live["spec"]["apiServerLoadBalancer"]

    def test_a_label_that_was_ignored_so_far(self) -> None:
        labels = {"capi_helm_chart_version": "0.10.1"}
        self.complete({"image_id": "ubuntu-1.32", "labels": labels})
        # As 1.4.0, which took any label, may have left it.
        self.of_template({**labels, "api_server_log_level": "5"})
        self.assertIsNotNone(self.look(chart="0.15.0").desired)


class LegacyTest(test_driver_legacy.LegacyTestCase):
    """A cluster of 1.4.0, of which nothing but its release is known."""

    def test_its_values_stay(self) -> None:
        order = rollout.Order(chart="0.16.1")
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        left = rollout.apply(operation, order)
        self.assertEqual("", left)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        [call] = self.helm.upgrades
        self.assertEqual("0.16.1", call.chart_version)
        marks = call.values.pop("clusterAnnotations")
        self.assertEqual({f"{_MARK}/intent", f"{_MARK}/upgrade"}, marks.keys())
        self.assertEqual(self.values, call.values)

    def settle(self) -> None:
        """Machines come up, and a poll sees it."""
        self.capi.settle()
        self.poll()


_MARK = "magnum.openstack.org"
