# SPDX-License-Identifier: Apache-2.0

"""The way back from an upgrade that failed, and its end in a step."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import test_upgrade_minors
from magnum_capi_helm.tests.unit.lifecycle import upgrading

WORKER = test_upgrade_minors.WORKER
OLD, MIDDLE = upgrading.OLD, upgrading.NEW
NEWEST = test_upgrade_minors.NEWEST


class RollbackTestCase(upgrading.UpgradeTestCase):
    def no_way(self, *, stop: bool = False) -> str:
        """Why there is no way back; nothing changes."""
        before = self.snapshot()
        error = self.assertRaises(
            errors.NotSupported, self.roll_back, stop=stop
        )
        self.assertEqual(before, self.snapshot())
        return str(error)


class RollbackTest(RollbackTestCase):
    def fail_upgrade(self) -> None:
        """An upgrade that helm refuses for good."""
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(
            self.template(image_id="ubuntu-1.35", flavor_id="m1.large")
        )
        self.poll()
        assert self.row().status == "UPDATE_FAILED"

    def test_rows_and_release_are_as_before_and_may_be_upgraded(self) -> None:
        before = self.snapshot()
        self.fail_upgrade()
        self.roll_back()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.settle()
        self.assertEqual({"control-plane": OLD, WORKER: OLD}, self.machines())
        after = self.snapshot()
        for each in (*before, *after):
            each.pop("status")
        self.assertEqual(before, after)
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual("v1.35.1", self.row().coe_version)

    def test_counts_of_today_stay(self) -> None:
        self.fail_upgrade()
        with self.busy():
            self.assertRaises(errors.LeaseHeld, self.roll_back)
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.resize(4)
        self.poll()
        self.roll_back()
        self.assertEqual(4, self.replicas())

    def test_a_complete_upgrade_is_not_taken_back(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertIn("is UPDATE_COMPLETE", self.no_way())
        # Nor by a resize that fails later.
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.resize(3)
        self.poll()
        self.assertIn("nothing to go back to", self.no_way())

    def test_a_control_plane_that_runs_the_new_version_stays(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.capi.settle()
        for each in self.server.list(kinds.MACHINE, base.NAMESPACE, ""):
            if view.CONTROL_PLANE_LABEL in view.labels_of(each):
                self.edit(
                    kinds.MACHINE,
                    view.name_of(each),
                    {"spec": {"version": "v1.35.1"}},
                )
        self.assertIn(
            "runs Kubernetes v1.35.1 already, and a control plane never goes "
            "back to v1.34.2",
            self.no_way(),
        )


class StopTest(RollbackTestCase, test_upgrade_minors.MinorsTestCase):
    """An upgrade from 1.34.2 to 1.36.0 ends in one of its steps."""

    def stopped(self, control_plane: tuple[str, str], image: str) -> None:
        """Stop; the control plane keeps a version, and all ends well."""
        old = self.row().cluster_template_id
        self.roll_back(stop=True)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        expected = {"control-plane": control_plane, WORKER: OLD}
        self.assertEqual(expected, self.machines())
        rows = {each.name: each.image_id for each in self.groups().values()}
        images = {"default-master": image, WORKER: "ubuntu-1.34"}
        self.assertEqual(images, rows)
        self.assertNotEqual(old, self.row().cluster_template_id)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_no_server_has_the_version_of_the_second_step(self) -> None:
        self.begin()
        self.capi.settle()
        self.poll()
        self.stopped(MIDDLE, "i-2")
        self.begin()
        self.settle()
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_a_server_has_the_version_of_the_second_step(self) -> None:
        self.begin(master_flavor_id="m1.large")
        self.capi.settle()
        self.poll()
        name = f"{base.RELEASE}-control-plane-m0"
        new = {"spec": {"version": "v1.36.0"}}
        self.edit(kinds.MACHINE, name, new)
        self.stopped(NEWEST, "i-1.36.0")
        self.assertEqual("m1.large", self.groups()["default-master"].flavor_id)

    def test_no_server_has_the_version_of_the_first_step(self) -> None:
        self.begin()
        self.stopped(OLD, "ubuntu-1.34")

    def test_a_step_of_workers_has_begun(self) -> None:
        self.begin()
        self.capi.settle()
        self.poll()
        self.capi.settle()
        self.poll()
        self.assertEqual(
            "upgrade, step 3 of 3: workers to v1.36.0: this step can't be "
            "stopped, since workers would have two versions: remove the "
            "reason why it does not end, and resize the cluster to the count "
            "it has",
            self.no_way(stop=True),
        )

    def test_a_new_group_that_is_newer_than_the_control_plane(self) -> None:
        self.begin()
        self.add("new", image_id="ubuntu-1.36")
        self.assertIn(
            "Nodegroup 'new' has v1.36.0, and the control plane gets v1.34.2",
            self.no_way(stop=True),
        )

    def test_an_upgrade_of_one_step_has_nothing_to_stop(self) -> None:
        self.upgrade(self.template(flavor_id="m1.large"))
        self.assertEqual(
            "cluster web has no upgrade with steps to come: there is nothing "
            "to stop",
            self.no_way(stop=True),
        )
