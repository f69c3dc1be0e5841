# SPDX-License-Identifier: Apache-2.0

"""What is rolled out to clusters: the operator's files as they are now."""

from __future__ import annotations

from magnum_capi_helm.chart import diff
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling

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

    def test_a_plan_lists_the_changed_objects(self) -> None:
        self.all.write_text(rolling.ADDON)
        name = f"{base.RELEASE}-ccm-openstack"
        self.assertEqual(
            (
                diff.Change(
                    "HelmRelease", name, "changed", ("spec.valuesSources",)
                ),
            ),
            self.look().changes,
        )

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

    def test_a_protected_field_stays(self) -> None:
        self.all.write_text("kubeNetwork: {serviceDomain: other}\n")
        self.assertEqual(rollout.Plan(rolling.OLD), self.look())

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
        self.assertIn("capi_helm_values_profiles: give names of", self.no())


class MachinesTest(rolling.RolloutTestCase):
    """What replaces machines has to be ordered as such."""

    def test_a_replacement_is_refused_with_its_groups(self) -> None:
        self.all.write_text(rolling.MACHINES)
        self.assertEqual(
            "machines would be replaced, in control-plane (1): "
            "--allow-replacement lets them be",
            self.no(),
        )

    def test_an_ordered_replacement_is_applied(self) -> None:
        self.all.write_text(rolling.MACHINES)
        self.rolled_out(files=True, replacing=True)
        own = self.told()["controlPlane"]["kubeadmConfigSpec"]
        self.assertEqual(["mine"], own["postKubeadmCommands"])


class CountedTest(rolling.RolloutTestCase):
    """The rows want the same before and after."""

    def test_a_rollout_is_complete_once_the_release_has_it(self) -> None:
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
