# SPDX-License-Identifier: Apache-2.0

"""What is rolled out to clusters, and what keeps a cluster from it."""

from __future__ import annotations

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import diff
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit import test_driver_legacy
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling

_COMMANDS = "controlPlane: {kubeadmConfigSpec: {postKubeadmCommands: [%s]}}\n"


class ValuesTest(rolling.RolloutTestCase):
    def test_they_reach_the_release_and_nothing_else_changes(self) -> None:
        before = self.told()
        conf.CONF.set_override(
            "boot_volume_size", 99, "capi_helm_cluster_labels"
        )
        self.all.write_text(rolling.ADDON)
        self.profile.write_text("nodeGroupDefaults: {nodeDrainTimeout: 5m}\n")
        self.rolled_out()
        drain = {"nodeDrainTimeout": "5m"}
        before["nodeGroupDefaults"] = {**before["nodeGroupDefaults"], **drain}
        before["addons"]["openstack"]["ccm"] = {"values": {"replicas": 2}}
        self.assertEqual(before, self.told())
        self.assertEqual(rolling.OLD, self.helm.upgrades[-1].chart_version)

    def test_tenants_see_a_status_that_comes_and_goes(self) -> None:
        before = self.snapshot()
        self.all.write_text(rolling.ADDON)
        name = f"{base.RELEASE}-ccm-openstack"
        changed = ("spec.valuesSources",)
        change = diff.Change("HelmRelease", name, "changed", changed)
        self.assertEqual((change,), self.look().changes)
        self.roll_out()
        before[0]["status"] = "UPDATE_IN_PROGRESS"
        self.assertEqual(before, self.snapshot())
        self.settle()
        before[0]["status"] = "UPDATE_COMPLETE"
        self.assertEqual(before, self.snapshot())

    def test_the_second_time_there_is_nothing_to_do(self) -> None:
        self.assertEqual(rollout.Plan(rolling.OLD), self.look())
        self.all.write_text(rolling.ADDON + _COMMANDS % "a, a")
        self.profile.write_text(_COMMANDS % "b")
        self.rolled_out(files=True, replacing=True)
        self.assertEqual(rollout.Plan(rolling.OLD), self.look())
        upgrades = len(self.helm.upgrades)
        self.assertEqual("", self.roll_out())
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_dropped_value_stays_until_an_upgrade(self) -> None:
        self.all.write_text(rolling.ADDON)
        self.rolled_out()
        self.all.write_text("etcd: {extraArgs: {v: '3'}}\n")
        self.rolled_out()
        ccm = {"values": {"replicas": 2}}
        self.assertEqual(ccm, self.told()["addons"]["openstack"]["ccm"])
        self.assertEqual("3", self.told()["etcd"]["extraArgs"]["v"])
        self.upgrade(self.row().cluster_template)
        self.assertNotIn("ccm", self.told()["addons"]["openstack"])

    def test_a_profile_shows_on_a_cluster_that_was_made_without(self) -> None:
        # Version 1.4.0 did not know the label.
        self.of_template({"capi_helm_values_profiles": "gpu,big"})
        (self.folder / "big.yaml").write_text(rolling.ADDON)
        self.rolled_out()
        shown = self.told()["clusterAnnotations"]
        self.assertEqual(
            {"magnum.openstack.org/values-profiles": "gpu,big"}, shown
        )

    def test_files_that_can_not_be_used(self) -> None:
        for content, text in (
            ("nodeGroups: []", "nodeGroups is not theirs to set: take it out"),
            ("- a", "must be a mapping"),
            (
                "etcd: {encryption: {enabled: true}}",
                "etcd.encryption.enabled=true is not rolled out: an upgrade "
                "to a template with the label etcd_encryption_enabled makes "
                "the key for it",
            ),
        ):
            self.all.write_text(content)
            self.assertIn(text, self.no())

    def test_a_rollout_is_complete_once_the_release_has_it(self) -> None:
        """The rows want the same before and after."""
        self.all.write_text(rolling.ADDON)
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE] * 2
        self.roll_out()
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll_after(60)
        self.assert_updated()
        notes = view.annotations_of(self.live(kinds.CLUSTER))
        self.assertEqual("1", notes["magnum.openstack.org/upgrade"])


class ChartTest(rolling.RolloutTestCase):
    def test_another_chart_gets_the_same_values(self) -> None:
        """Or the files at once, if that is ordered."""
        before = self.told()
        self.all.write_text(rolling.ADDON)
        self.rolled_out(chart=rolling.NEW)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)
        self.assertEqual(before, self.told())
        self.assertEqual(rollout.Plan("0.27.0"), self.look(chart="v0.27.0"))
        self.resize(3)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)
        self.settle()
        self.rolled_out(chart="0.28.0", files=True)
        self.assertEqual("0.28.0", self.helm.upgrades[-1].chart_version)
        self.assertIn("ccm", self.told()["addons"]["openstack"])

    def test_its_addons_come_from_the_operators_repository(self) -> None:
        url = "https://charts.mirror.test"
        self.set_option(addon_repository=url)
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
        live = self.live(kinds.OPENSTACK_CLUSTER)
        return live["spec"]["apiServerLoadBalancer"]

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
        self.assertEqual("", rollout.apply(self.new_operation(), order))
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        [call] = self.helm.upgrades
        self.assertEqual("0.16.1", call.chart_version)
        marks = call.values.pop("clusterAnnotations")
        self.assertEqual({f"{_MARK}/intent", f"{_MARK}/upgrade"}, marks.keys())
        self.assertEqual(self.values, call.values)


_MARK = "magnum.openstack.org"


class InterruptedTest(rolling.RolloutTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.all.write_text(rolling.ADDON)

    def test_killed_before_the_intent_it_has_not_happened(self) -> None:
        with self.dies("patch", kinds.SECRET):
            self.roll_out()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn("the cluster is UPDATE_IN_PROGRESS", self.no())
        self.settle()
        self.assertNotIn("ccm", self.told()["addons"]["openstack"])
        self.rolled_out()

    def test_killed_after_it_the_polls_do_it_in_the_end(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.KILLED]
        with self.dies():
            self.roll_out()
        self.assertEqual(rollout.Plan(rolling.OLD, going_on=True), self.look())
        self.assertEqual("UPDATE_IN_PROGRESS", self._left())
        self.poll()
        self.assertIn("is pending-upgrade", self._left())
        # Nobody's helm: it is called failed, and run once more.
        self.poll_after(3600)
        self.settle()
        self.assertEqual("", self._left())
        self.assertIn("ccm", self.told()["addons"]["openstack"])
        self.assertEqual(rollout.Plan(rolling.OLD), self.look())

    def test_a_helm_that_could_not_is_run_by_a_poll(self) -> None:
        """A resize meanwhile goes with it."""
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.assertIn("cluster unreachable", self.roll_out())
        self.assertTrue(self.look().going_on)
        self.resize(3)
        self.assertTrue(self.look().going_on)
        self.settle()
        self.assertEqual(("", 3), (self._left(), self.replicas()))
        self.assertIn("ccm", self.told()["addons"]["openstack"])
        # It is not taken for one that failed.
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_helm_that_never_will_is_a_failure_with_reason(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.roll_out()
        self.poll()
        error = self.assertRaises(errors.CapiHelmError, self._left)
        self.assertEqual(
            "UPDATE_FAILED: helm upgrade: admission webhook denied the "
            "request",
            str(error),
        )
        self.assertIn("the cluster is UPDATE_FAILED (helm upgrade", self.no())

    def test_a_failed_one_is_rolled_back(self) -> None:
        before, rows = self.told(), self.snapshot()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.roll_out(chart=rolling.NEW, files=True)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.roll_back()
        self.assert_updated()
        self.assertEqual(rolling.OLD, self.helm.upgrades[-1].chart_version)
        self.assertEqual(before, self.told())
        after = self.snapshot()
        for each in (*rows, *after):
            each.pop("status")
        self.assertEqual(rows, after)
        # And may be tried again.
        self.rolled_out(chart=rolling.NEW, files=True)

    def test_a_cluster_that_is_deleted_meanwhile(self) -> None:
        self.roll_out()
        self.delete()
        error = self.assertRaises(errors.CapiHelmError, self._left)
        self.assertEqual("the cluster was deleted meanwhile", str(error))

    def _left(self) -> str:
        return self.new_operation().wait_reason()


class RefusedTest(rolling.RolloutTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.all.write_text(rolling.ADDON)

    def test_an_incomplete_cluster_is_refused(self) -> None:
        for status in (
            "CREATE_IN_PROGRESS",
            "CREATE_FAILED",
            "UPDATE_IN_PROGRESS",
            "UPDATE_FAILED",
        ):
            self.save(status=status, status_reason="for this reason")
            self.assertEqual(
                f"the cluster is {status} (for this reason): what is rolled "
                "out goes to complete clusters alone",
                self.no(),
            )

    def test_clusters_that_are_being_deleted(self) -> None:
        gone = "the cluster is being deleted"
        master = self.groups()["default-master"]
        self.save(master, status="DELETE_IN_PROGRESS")
        self.assertEqual(gone, self.no())
        self.delete()
        self.assertEqual(gone, self.no())

    def test_a_cluster_that_is_marked_for_deletion(self) -> None:
        # Its row does not say so yet.
        runtime.get().leases.mark_deleted(base.NAMESPACE, base.RELEASE)
        before = self.written()
        error = self.assertRaises(errors.NotSupported, self.roll_out)
        self.assertEqual("the cluster is being deleted", str(error))
        self.assertEqual(before, self.written())

    def test_a_cluster_whose_row_is_gone_leaves_no_lease(self) -> None:
        row = self.row()
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        row.destroy()
        self.assertRaises(
            errors.NotSupported,
            rollout.apply,
            self.new_operation(row),
            self.order(),
        )
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_command_that_was_killed_is_waited_for(self) -> None:
        """Its Lease lives half a minute longer than it."""
        self.hold("killed")
        rt = runtime.get()
        rt.command_lease_wait = 60.0
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            self.plane.clock.advance(lease.DURATION)

        self.useFixture(fixtures.MockPatch("time.sleep", sleep))
        self.roll_out()
        self.assertEqual(1, len(pauses))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_a_webhook_that_refuses(self) -> None:
        """Or somebody else who is at work."""
        before = self.written()
        with self.busy():
            self.assertRaises(errors.LeaseHeld, self.roll_out)
        self.assertEqual(before, self.written())
        self.fails(
            "dry-run",
            kinds.HELM_RELEASE,
            error=errors.ManagementError("spec.chart is immutable"),
        )
        error = self.assertRaises(errors.NotSupported, self.roll_out)
        self.assertRegex(
            str(error), "^what is rolled out .*: spec.chart is immutable$"
        )
        self.assertEqual(before, self.written())

    def test_a_lease_that_is_lost_before_it_is_accepted(self) -> None:
        before = self.written()[1:]

        def lose() -> None:
            if self.management.requests[-1].verb == "dry-run":
                self.plane.clock.advance(lease.DURATION + 1)
                self.hold("other")

        self.management.before = lose
        self.assertRaises(errors.LeaseLost, self.roll_out)
        self.management.before = lambda: None
        self.assertEqual(before, self.written()[1:])
        # The row says that it goes on, and a poll that nothing does.
        self.hold()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(before, self.written()[1:])
