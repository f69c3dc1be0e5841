# SPDX-License-Identifier: Apache-2.0

"""What keeps a cluster from what is rolled out."""

from __future__ import annotations

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling


class RefusedTest(rolling.RolloutTestCase):
    """What keeps a cluster from it; nothing is written."""

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
            cluster_operation.Operation(self.admin, row, runtime.get()),
            self.order(),
        )
        self.assertIsNone(
            self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        )

    def test_somebody_else_at_work(self) -> None:
        before = self.written()
        with self.busy():
            self.assertRaises(errors.LeaseHeld, self.roll_out)
        self.assertEqual(before, self.written())

    def test_a_command_that_was_killed_is_waited_for(self) -> None:
        """Its Lease lives half a minute longer than it."""
        self.take_lease("killed")
        rt = runtime.get()
        rt.command_lease_wait = 60.0
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            self.plane.clock.advance(lease.DURATION)

        self.useFixture(fixtures.MockPatch("time.sleep", sleep))
        operation = cluster_operation.Operation(self.admin, self.row(), rt)
        rollout.apply(operation, self.order())
        self.assertEqual(1, len(pauses))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_a_webhook_that_refuses(self) -> None:
        before = self.written()
        self.management.fail(
            errors.ManagementError("spec.chart is immutable"),
            verbs=("dry-run",),
            kind=kinds.HELM_RELEASE,
        )
        error = self.assertRaises(errors.NotSupported, self.roll_out)
        self.assertRegex(
            str(error),
            "^what is rolled out .*: spec.chart is immutable$",
        )
        self.assertEqual(before, self.written())

    def test_a_lease_that_is_lost_before_it_is_accepted(self) -> None:
        before = self.written()[1:]

        def lose() -> None:
            if self.management.requests[-1].verb == "dry-run":
                self.plane.clock.advance(lease.DURATION + 1)
                self.take_lease("other")

        self.management.before = lose
        self.assertRaises(errors.LeaseLost, self.roll_out)
        self.management.before = lambda: None
        self.assertEqual(before, self.written()[1:])
        # The row says that it goes on, and a poll that nothing does.
        self.take_lease("")
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(before, self.written()[1:])
