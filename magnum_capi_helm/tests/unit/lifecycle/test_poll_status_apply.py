# SPDX-License-Identifier: Apache-2.0

"""Polls that apply what a request began and did not finish."""

from __future__ import annotations

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit.lifecycle import base


class ApplyTest(base.FlowTestCase):
    """Polls finish what a request began."""

    def statuses_of_revisions(self) -> list[str]:
        """helm's word for each revision, the oldest first."""
        found = self.server.list(
            kinds.SECRET, base.NAMESPACE, f"owner=helm,name={base.RELEASE}"
        )
        labels = [each["metadata"]["labels"] for each in found]
        labels.sort(key=lambda each: int(each["version"]))
        return [each["status"] for each in labels]

    def test_a_pending_revision_is_waited_for_then_given_up(self) -> None:
        self.helm.outcomes = [helm.Outcome.KILLED]
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        self.assertEqual(["pending-install"], self.statuses_of_revisions())
        self.poll()
        self.plane.clock.advance(lease.DURATION + 1)
        self.poll()
        self.assertEqual(["pending-install"], self.statuses_of_revisions())
        self.assertEqual(1, len(self.helm.upgrades))
        self.plane.clock.advance(300)
        self.poll()
        self.assertEqual(["pending-install"], self.statuses_of_revisions())
        self.plane.clock.advance(31)
        self.poll()
        self.assertEqual(["failed", "deployed"], self.statuses_of_revisions())
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_dead_helm_of_this_conductor_is_not_waited_for(self) -> None:
        self.helm.outcomes = [helm.Outcome.BROKEN_OFF]
        self.create()
        self.assertEqual(["failed"], self.statuses_of_revisions())
        self.assertEqual(
            "helm upgrade was killed (SIGKILL)", self.row().status_reason
        )
        self.plane.clock.advance(11)
        self.poll()
        self.assertEqual(["failed", "deployed"], self.statuses_of_revisions())

    def test_a_dead_helm_whose_record_can_not_be_changed_is_waited_for(
        self,
    ) -> None:
        self.complete()
        self.management.fail(
            errors.ManagementUnreachable("it does not answer"),
            verbs=("patch",),
            name="sh.helm.release.v1",
        )
        self.helm.outcomes = [helm.Outcome.BROKEN_OFF]
        self.resize(3)
        self.management.recover()
        for seconds, status in ((11, "pending-upgrade"), (331, "failed")):
            self.plane.clock.advance(seconds)
            self.poll()
            self.assertEqual(status, self.statuses_of_revisions()[1])

    def test_a_helm_of_somebody_else_is_left_at_work(self) -> None:
        """Ours did not come as far as to begin a revision."""
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.resize(3)
        # ``helm upgrade --reuse-values`` at a shell copies all that we gave.
        theirs = records.Revision(
            release=base.RELEASE,
            namespace=base.NAMESPACE,
            version=2,
            status="pending-upgrade",
            chart_version="0.27.0",
            values=self.helm.upgrades[-1].values,
        ).record()
        self.server.create(kinds.SECRET, theirs)
        for seconds in (11, 300, 29):
            self.plane.clock.advance(seconds)
            self.poll()
            self.assertEqual(
                ["deployed", "pending-upgrade"], self.statuses_of_revisions()
            )
        self.plane.clock.advance(300)
        self.poll()
        self.assertEqual(
            ["superseded", "failed", "deployed"], self.statuses_of_revisions()
        )

    def test_a_pending_upgrade_is_given_up_and_applied_again(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.KILLED]
        self.assertRaises(management.Killed, self.resize, 3)
        self.management.recover()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.plane.clock.advance(lease.DURATION + 1)
        self.poll()
        self.plane.clock.advance(331)
        self.poll()
        self.assertEqual(
            ["superseded", "failed", "deployed"], self.statuses_of_revisions()
        )
        self.assertEqual(3, self.replicas())
        self.capi.settle()
        self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses_but_master())

    def statuses_but_master(self) -> set[str]:
        """A resize touches the workers' group alone."""
        return {self.row().status, self.groups()["default-worker"].status}

    def test_a_failed_revision_is_applied_again(self) -> None:
        self.helm.outcomes = [helm.Outcome.INTERRUPTED]
        self.create()
        self.assertEqual(["failed"], self.statuses_of_revisions())
        self.poll()
        self.assertEqual("deployed", self.statuses_of_revisions()[-1])
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_cluster_completed_elsewhere_is_not_applied(self) -> None:
        self.complete()
        stale = self.row()
        stale.status = "UPDATE_FAILED"
        stale.obj_reset_changes()
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v1",
            {"metadata": {"labels": {"status": "failed"}}},
        )
        runs = len(self.helm.upgrades)
        self.driver.get_monitor(self.admin, stale).poll_health_status()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_applying_backs_off(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 4
        self.create()
        tries = []
        for _ in range(8):
            self.poll()
            tries.append(len(self.helm.upgrades))
            self.plane.clock.advance(10)
        # The request itself, at once, then after 10, 20 and 40 seconds.
        self.assertEqual([2, 3, 3, 4, 4, 4, 4, 5], tries)

    def test_a_lost_race_for_the_secret_begins_no_pause(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.resize(3)
        nodegroup = self.groups()["default-worker"]
        nodegroup.node_count = 4
        nodegroup.save()
        self.management.fail(
            errors.Conflict("the Secret has changed"),
            verbs=("patch",),
            kind=kinds.SECRET,
            name=base.INTENT,
            times=1,
        )
        runs = len(self.helm.upgrades)
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.poll()
        self.assertEqual(runs + 1, len(self.helm.upgrades))

    def test_a_refusal_of_helm_ends_an_update(self) -> None:
        self.complete()
        self.helm.outcomes = [
            helm.Outcome.UNREACHABLE,
            helm.Outcome.REFUSED,
        ]
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn("denied", self.row().status_reason)
        self.assertEqual(
            "UPDATE_FAILED", self.groups()["default-worker"].status
        )

    def test_a_cluster_with_a_delete_mark_is_never_applied(self) -> None:
        self.complete()
        self.delete()
        self.capi.drain()
        runs = len(self.helm.upgrades)
        # What Magnum's nodegroup handlers do to a cluster being deleted.
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_a_resize_after_a_delete_is_never_applied(self) -> None:
        self.complete()
        row = self.row()
        self.delete()
        runs = len(self.helm.upgrades)
        group = self.groups()["default-worker"]
        self.handler.cluster_resize(self.context, row, 5, [], group)
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_a_delete_that_did_not_reach_helm_is_not_undone(self) -> None:
        self.complete()
        row, group = self.row(), self.groups()["default-worker"]
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.delete()
        runs = len(self.helm.upgrades)
        self.handler.cluster_resize(self.context, row, 5, [], group)
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual(2, self.replicas())

    def test_a_release_that_is_gone_is_not_installed_again(self) -> None:
        self.complete()
        self.helm.uninstall(base.RELEASE, base.NAMESPACE)
        runs = len(self.helm.upgrades)
        self.driver.update_cluster_status(self.admin, self.row())
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.resize(3)
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn("not installed anew", self.row().status_reason)

    def test_counts_that_helm_left_alone_are_repaired(self) -> None:
        self.complete()
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-default-worker",
            {"spec": {"replicas": 7}},
        )
        self.resize(2)
        self.assertEqual(2, self.replicas())

    def test_a_changed_default_reaches_no_cluster_by_a_resize(self) -> None:
        self.complete()
        before = self.helm.upgrades[-1]
        conf.CONF.set_override(
            "default_helm_chart_version", "0.99.0", "capi_helm"
        )
        self.openstack.images.clear()
        self.resize(3)
        after = self.helm.upgrades[-1]
        self.assertEqual("0.27.0", after.chart_version)
        before.values["nodeGroups"][0]["machineCount"] = 3
        for values in (before.values, after.values):
            del values["clusterAnnotations"]
        self.assertEqual(before.values, after.values)
