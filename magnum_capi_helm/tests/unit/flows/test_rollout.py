# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

from __future__ import annotations

import dataclasses

import fixtures

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import runtime
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.rendering import difference
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.flows import base
from magnum_capi_helm.tests.unit.flows import rolling
from magnum_capi_helm.tests.unit.flows import test_legacy
from magnum_capi_helm.upgrade import order as orders
from magnum_capi_helm.upgrade import rollback
from magnum_capi_helm.upgrade import rollout

_COMMANDS = "controlPlane: {kubeadmConfigSpec: {postKubeadmCommands: [%s]}}\n"


class ValuesTest(rolling.RolloutTestCase):
    """The operator's files as they are now."""

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
        self.roll_out()
        before[0]["status"] = "UPDATE_IN_PROGRESS"
        self.assertEqual(before, self.snapshot())
        self.settle()
        before[0]["status"] = "UPDATE_COMPLETE"
        self.assertEqual(before, self.snapshot())

    def test_what_differs_is_counted(self) -> None:
        self.all.write_text(rolling.ADDON)
        name = f"{base.RELEASE}-ccm-openstack"
        self.assertEqual(
            (
                difference.Change(
                    "HelmRelease", name, "changed", ("spec.valuesSources",)
                ),
            ),
            self.look().changes,
        )

    def test_the_second_time_there_is_nothing_to_do(self) -> None:
        self.assertEqual(rollout.Found(rolling.OLD), self.look())
        self.all.write_text(rolling.ADDON + _COMMANDS % "a, a")
        self.profile.write_text(_COMMANDS % "b")
        self.rolled_out(files=True, replacing=True)
        self.assertEqual(rollout.Found(rolling.OLD), self.look())
        upgrades = len(self.helm.upgrades)
        self.assertEqual("", self.roll_out())
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_what_files_say_no_more_stays_until_an_upgrade(self) -> None:
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

    def test_what_is_frozen_is_left_as_it_is(self) -> None:
        self.all.write_text("kubeNetwork: {serviceDomain: other}\n")
        self.assertEqual(rollout.Found(rolling.OLD), self.look())

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

    def test_a_profile_that_is_gone(self) -> None:
        self.profile.unlink()
        self.assertIn("label capi_helm_values_profiles='gpu'", self.no())


class ChartTest(rolling.RolloutTestCase):
    """Another version of the chart, with the values of today."""

    def test_it_reaches_the_release_with_the_same_values(self) -> None:
        before = self.told()
        self.all.write_text(rolling.ADDON)
        self.rolled_out(chart=rolling.NEW)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)
        self.assertEqual(before, self.told())
        self.assertEqual(rollout.Found("0.27.0"), self.look(chart="v0.27.0"))
        self.resize(3)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)

    def test_both_at_once(self) -> None:
        self.all.write_text(rolling.ADDON)
        self.rolled_out(chart=rolling.NEW, files=True)
        self.assertEqual(rolling.NEW, self.helm.upgrades[-1].chart_version)
        self.assertIn("ccm", self.told()["addons"]["openstack"])

    def test_its_addons_come_from_the_operators_repository(self) -> None:
        url = "https://charts.mirror.test"
        conf.CONF.set_override("addon_repository", url, "capi_helm")
        # The files say nothing of it.
        self.assertIsNone(self.look().wanted)
        self.rolled_out(chart=rolling.NEW)
        self.assertEqual(
            {"repo": url}, self.told()["addons"]["cni"]["calico"]["chart"]
        )

    def test_versions_that_are_refused(self) -> None:
        for version, text in (
            (
                "0.25.1",
                "the cluster can't go back to an older chart: it has 0.26.1, "
                "and --chart-version is 0.25.1; give 0.26.1 or a later "
                "version",
            ),
            ("0.99.0", "chart openstack-cluster 0.99.0 is not in the chart"),
        ):
            self.helm.published = {rolling.NEW}
            self.assertIn(text, self.no(chart=version))


class OldChartTest(rolling.RolloutTestCase):
    """A cluster of chart 0.10.1."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)

    def test_a_kubernetes_that_the_chart_is_not_made_for(self) -> None:
        self.complete({"labels": {"capi_helm_chart_version": "0.10.1"}})
        self.assertEqual(
            "the chart is not made for the Kubernetes of the image: chart "
            "0.15.0 takes 1.29 to 1.32, not v1.34.2; choose another version "
            "of the chart, or upgrade the cluster first",
            self.no(chart="0.15.0"),
        )

    def test_a_label_that_the_chart_would_ignore(self) -> None:
        labels = {
            "capi_helm_chart_version": "0.10.1",
            "api_master_lb_allowed_cidrs": "192.0.2.0/24",
        }
        self.complete({"image_id": "ubuntu-1.32", "labels": labels})
        self.assertEqual(
            "label api_master_lb_allowed_cidrs='192.0.2.0/24' is not allowed: "
            "give it with a chart version that applies it (up to 0.10.1, "
            "0.24.0 and later), not with 0.15.0",
            self.no(chart="0.15.0"),
        )

    def test_a_label_that_was_ignored_so_far(self) -> None:
        labels = {"capi_helm_chart_version": "0.10.1"}
        self.complete({"image_id": "ubuntu-1.32", "labels": labels})
        # As 1.4.0, which took any label, may have left it.
        self.of_template({**labels, "api_server_log_level": "5"})
        self.assertIsNotNone(self.look(chart="0.15.0").wanted)


class MachinesTest(rolling.RolloutTestCase):
    """What replaces machines has to be ordered as such."""

    def test_it_is_refused_with_the_groups(self) -> None:
        self.all.write_text(rolling.MACHINES)
        self.assertEqual(
            "machines would be replaced, in control-plane (1): "
            "--allow-replacement lets them be",
            self.no(),
        )

    def test_it_is_done_when_that_is_ordered(self) -> None:
        self.all.write_text(rolling.MACHINES)
        self.rolled_out(files=True, replacing=True)
        own = self.told()["controlPlane"]["kubeadmConfigSpec"]
        self.assertEqual(["mine"], own["postKubeadmCommands"])


class RefusedTest(rolling.RolloutTestCase):
    """What keeps a cluster from it; nothing is written."""

    def setUp(self) -> None:
        super().setUp()
        self.all.write_text(rolling.ADDON)

    def test_statuses(self) -> None:
        for status in (
            "CREATE_IN_PROGRESS",
            "CREATE_FAILED",
            "UPDATE_IN_PROGRESS",
            "UPDATE_FAILED",
        ):
            row = self.row()
            row.status, row.status_reason = status, "for this reason"
            row.save()
            self.assertEqual(
                f"the cluster is {status} (for this reason): what is rolled "
                "out goes to complete clusters alone",
                self.no(),
            )

    def test_clusters_that_are_being_deleted(self) -> None:
        gone = "the cluster is being deleted"
        master = self.groups()["default-master"]
        master.status = "DELETE_IN_PROGRESS"
        master.save()
        self.assertEqual(gone, self.no())
        self.delete()
        self.assertEqual(gone, self.no())

    def test_a_cluster_that_is_marked_for_deletion(self) -> None:
        # Its row does not say so yet.
        runtime.get().leases.mark_deleted(base.NAMESPACE, base.RELEASE)
        before = self.written()
        error = self.assertRaises(exceptions.NotSupported, self.roll_out)
        self.assertEqual("the cluster is being deleted", str(error))
        self.assertEqual(before, self.written())

    def test_a_cluster_whose_row_is_gone_leaves_no_lease(self) -> None:
        row = self.row()
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        row.destroy()
        self.assertRaises(
            exceptions.NotSupported,
            rollout.apply,
            runtime.get(),
            self.admin,
            row,
            self.order(),
        )
        self.assertIsNone(
            self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        )

    def test_somebody_else_at_work(self) -> None:
        before = self.written()
        with self.busy():
            self.assertRaises(exceptions.LeaseHeld, self.roll_out)
        self.assertEqual(before, self.written())

    def test_a_command_that_was_killed_is_waited_for(self) -> None:
        """Its Lease lives half a minute longer than it."""
        self.take_lease("killed")
        rt = dataclasses.replace(runtime.get(), long_patience=60.0)
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            self.plane.clock.advance(lease.DURATION)

        self.useFixture(fixtures.MockPatch("time.sleep", sleep))
        rollout.apply(rt, self.admin, self.row(), self.order())
        self.assertEqual(1, len(pauses))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_a_webhook_that_refuses(self) -> None:
        before = self.written()
        self.management.fail(
            exceptions.ManagementError("spec.chart is immutable"),
            verbs=("dry-run",),
            kind=kinds.HELM_RELEASE,
        )
        error = self.assertRaises(exceptions.NotSupported, self.roll_out)
        self.assertEqual(
            "what is rolled out does not fit this cluster: spec.chart is "
            "immutable",
            str(error),
        )
        self.assertEqual(before, self.written())

    def test_a_lease_that_is_lost_before_it_is_accepted(self) -> None:
        before = self.written()[1:]

        def lose() -> None:
            if self.management.requests[-1].verb == "dry-run":
                self.plane.clock.advance(lease.DURATION + 1)
                self.take_lease("other")

        self.management.before = lose
        self.assertRaises(exceptions.LeaseLost, self.roll_out)
        self.management.before = lambda: None
        self.assertEqual(before, self.written()[1:])
        # The row says that it goes on, and a poll that nothing does.
        self.take_lease("")
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(before, self.written()[1:])


class InterruptedTest(rolling.RolloutTestCase):
    """Killed half way, or refused by helm."""

    def setUp(self) -> None:
        super().setUp()
        self.all.write_text(rolling.ADDON)

    def test_killed_before_the_intent_it_has_not_happened(self) -> None:
        self.management.kill_before("apply", kinds.SECRET)
        with self.dies():
            self.roll_out()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn("the cluster is UPDATE_IN_PROGRESS", self.no())
        self.settle()
        self.assertNotIn("ccm", self.told()["addons"]["openstack"])
        self.rolled_out()

    def test_killed_after_it_the_polls_do_it_and_it_is_waited_for(
        self,
    ) -> None:
        self.helm.outcomes = [fake_helm.Outcome.KILLED]
        with self.dies():
            self.roll_out()
        self.assertEqual(
            rollout.Found(rolling.OLD, going_on=True), self.look()
        )
        self.assertEqual("UPDATE_IN_PROGRESS", self._left())
        self.poll()
        self.assertIn("is pending-upgrade", self._left())
        # Nobody's helm: it is called failed, and run once more.
        self.plane.clock.advance(3600)
        self.poll()
        self.settle()
        self.assertEqual("", self._left())
        self.assertIn("ccm", self.told()["addons"]["openstack"])
        self.assertEqual(rollout.Found(rolling.OLD), self.look())

    def test_a_helm_that_could_not_is_run_by_a_poll(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.assertIn("cluster unreachable", self.roll_out())
        self.assertTrue(self.look().going_on)
        self.poll()
        self.settle()
        self.assertEqual("", self._left())

    def test_a_resize_meanwhile_goes_with_it(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.roll_out()
        self.resize(3)
        self.assertTrue(self.look().going_on)
        self.settle()
        self.assertEqual(("", 3), (self._left(), self.replicas()))
        self.assertIn("ccm", self.told()["addons"]["openstack"])

    def test_a_helm_that_never_will_is_a_failure_with_its_reason(
        self,
    ) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.roll_out()
        self.poll()
        error = self.assertRaises(exceptions.CapiHelmError, self._left)
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
        left = rollback.apply(runtime.get(), self.admin, self.row())
        self.assertEqual("", left)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(rolling.OLD, self.helm.upgrades[-1].chart_version)
        self.assertEqual(before, self.told())
        after = self.snapshot()
        for each in (*rows, *after):
            each.pop("status")
        self.assertEqual(rows, after)
        # And may be tried again.
        self.rolled_out(chart=rolling.NEW, files=True)

    def test_a_complete_one_is_not_taken_for_one_that_failed(self) -> None:
        self.rolled_out()
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_cluster_that_is_deleted_meanwhile(self) -> None:
        self.roll_out()
        self.delete()
        error = self.assertRaises(exceptions.CapiHelmError, self._left)
        self.assertEqual("the cluster was deleted meanwhile", str(error))

    def _left(self) -> str:
        return rollout.going_on(self.admin, self.row())


class CountedTest(rolling.RolloutTestCase):
    """The rows want the same before and after."""

    def test_it_is_complete_only_when_the_release_has_it(self) -> None:
        self.all.write_text(rolling.ADDON)
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE] * 2
        self.roll_out()
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(60)
        self.poll()
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        found = self.server.get(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        assert found is not None
        self.assertEqual(
            "1",
            view.annotations_of(found)["magnum.openstack.org/upgrade"],
        )


class LegacyTest(test_legacy.LegacyTestCase):
    """A cluster of 1.4.0, of which nothing but its release is known."""

    def test_its_values_stay(self) -> None:
        order = orders.Order(chart="0.16.1")
        left = rollout.apply(runtime.get(), self.admin, self.row(), order)
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
