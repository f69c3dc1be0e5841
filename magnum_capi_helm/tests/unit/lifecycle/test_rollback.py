# SPDX-License-Identifier: Apache-2.0

"""The way back from an upgrade that failed."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_OLD = ("1.34.2", "i-1")


class RollbackTest(upgrading.UpgradeTestCase):
    """After helm refused an upgrade, or machines did not come up."""

    def fail_upgrade(self) -> None:
        """An upgrade that helm refuses for good."""
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(
            self.template(image_id="ubuntu-1.35", flavor_id="m1.large")
        )
        self.poll()
        assert self.row().status == "UPDATE_FAILED"

    def back(self) -> None:
        """``magnum-capi-helm cluster rollback``."""
        left = rollback.rollback(
            cluster_operation.Operation(self.admin, self.row(), runtime.get())
        )
        self.assertEqual("", left)

    def no_way(self) -> str:
        """Why there is no way back; nothing changes."""
        before = self.snapshot()
        error = self.assertRaises(errors.NotSupported, self.back)
        self.assertEqual(before, self.snapshot())
        return str(error)

    def test_rows_and_release_are_as_before_and_may_be_upgraded(self) -> None:
        before = self.snapshot()
        self.fail_upgrade()
        self.back()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.settle()
        self.assertEqual(
            {"control-plane": _OLD, "default-worker": _OLD}, self.machines()
        )
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
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.resize(4)
        self.poll()
        self.back()
        self.assertEqual(4, self.replicas())

    def test_a_resize_leaves_nothing_to_go_back_to(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.resize(3)
        self.poll()
        self.assertIn("nothing to go back to", self.no_way())

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
                self.server.patch(
                    kinds.MACHINE,
                    base.NAMESPACE,
                    view.name_of(each),
                    {"spec": {"version": "v1.35.1"}},
                )
        self.assertIn(
            "runs Kubernetes v1.35.1 already, and a control plane never goes "
            "back to v1.34.2",
            self.no_way(),
        )

    def test_somebody_else_at_work(self) -> None:
        self.fail_upgrade()
        with self.busy():
            self.assertRaises(errors.LeaseHeld, self.back)
