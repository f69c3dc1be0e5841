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

"""Status polls, through Magnum's own periodic job."""

from __future__ import annotations

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit.flows import base


class PollTestCase(base.FlowTestCase):
    """Helpers of the tests below."""

    def statuses_of_revisions(self) -> list[str]:
        """helm's word for each revision, the oldest first."""
        found = self.server.list(
            kinds.SECRET, base.NAMESPACE, f"owner=helm,name={base.RELEASE}"
        )
        labels = [each["metadata"]["labels"] for each in found]
        labels.sort(key=lambda each: int(each["version"]))
        return [each["status"] for each in labels]

    def no_verdict(self) -> None:
        """A poll writes nothing, but where the cluster is."""
        with self.saves() as saved:
            self.poll()
        self.assertEqual([], [each for each in saved if "@" not in each])


class ReadingTest(PollTestCase):
    """No LIST, no verdict."""

    def test_an_unreachable_management_cluster_gives_no_verdict(self) -> None:
        self.create()
        self.capi.settle()
        self.management.unreachable()
        self.no_verdict()
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_each_list_that_fails_gives_no_verdict(self) -> None:
        self.create()
        self.capi.settle()
        for kind in (
            kinds.CLUSTER,
            kinds.CONTROL_PLANE,
            kinds.MACHINE_DEPLOYMENT,
            kinds.MACHINE,
            kinds.HELM_RELEASE,
            kinds.MANIFESTS,
            kinds.SECRET,
        ):
            self.management.fail(
                exceptions.ManagementUnreachable("no answer"),
                verbs=["list"],
                kind=kind,
            )
            self.no_verdict()
            self.management.recover()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_forbidden_list_gives_no_verdict(self) -> None:
        self.create()
        self.capi.settle()
        self.management.fail(
            exceptions.ManagementError("refused (403)"),
            verbs=["list"],
            kind=kinds.HELM_RELEASE,
        )
        self.no_verdict()
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_a_list_that_fails_under_the_lease_gives_no_verdict(self) -> None:
        self.create()
        self.capi.settle()
        self.management.fail(
            exceptions.ManagementUnreachable("no answer"),
            verbs=["get"],
            kind=kinds.SECRET,
            name="sh.helm.release",
        )
        self.no_verdict()

    def test_a_poll_of_a_cluster_that_is_gone_does_nothing(self) -> None:
        row = self.create()
        row.destroy()
        self.driver.update_cluster_status(self.admin, row)
        self.assertEqual([], self.warnings())


class ProgressTest(PollTestCase):
    """A cluster on its way."""

    def test_the_reason_is_written_without_the_lease(self) -> None:
        self.create()
        self.capi.settle_infrastructure()
        self.management.requests.clear()
        self.poll()
        row = self.row()
        self.assertEqual("CREATE_IN_PROGRESS", row.status)
        self.assertIn("0 of 1 machines ready", row.status_reason)
        self.assertEqual(
            "nodegroup default-worker: 0 of 2 machines ready",
            self.groups()["default-worker"].status_reason,
        )
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertNotIn(
            "Lease", {each.kind for each in self.management.requests}
        )

    def test_a_machine_without_a_host_is_named_with_its_reason(self) -> None:
        self.create()
        machine = self.capi.fail_machine("default-worker")
        self.poll()
        wanted = (
            "nodegroup default-worker: machine "
            f"{machine}: {cluster_api.NO_HOST}: the cloud has no room for a "
            "server of this flavor there; choose another flavor or "
            "availability zone, or ask the operator"
        )
        self.assertEqual(wanted, self.row().status_reason)
        self.assertEqual(wanted, self.groups()["default-worker"].status_reason)
        self.assertIsNone(self.groups()["default-master"].status_reason)

    def test_a_failed_addon_is_named_until_it_recovers(self) -> None:
        self.create()
        self.capi.settle()
        self.capi.fail_addon("csi-cinder", "chart not found")
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(
            "addon csi-cinder: Failed: chart not found",
            self.row().status_reason,
        )
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_an_addon_of_the_manifest_that_does_not_exist_yet_is_waited_for(
        self,
    ) -> None:
        self.create()
        self.capi.settle()
        name = f"{base.RELEASE}-ccm-openstack"
        self.server.delete(kinds.HELM_RELEASE, base.NAMESPACE, name)
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(1, len(self.helm.upgrades))

    def test_a_spec_that_no_controller_has_seen_is_not_complete(self) -> None:
        self.create()
        self.capi.settle()
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-default-worker",
            {"spec": {"paused": False}},
        )
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())

    def test_a_revision_that_is_not_deployed_is_not_complete(self) -> None:
        self.create()
        self.capi.settle()
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v1",
            {"metadata": {"labels": {"status": "pending-install"}}},
        )
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())

    def test_another_fingerprint_is_not_complete(self) -> None:
        self.complete()
        group = self.groups()["default-worker"]
        group.flavor_id = "m1.other"
        group.save()
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(
            "the latest change is still to be applied",
            self.row().status_reason,
        )


class LeaseTest(PollTestCase):
    """One writer."""

    def hold(self) -> None:
        """Another conductor has taken the Lease just now."""
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": "other", "renewTime": "now"}},
        )

    def test_a_held_lease_gives_no_verdict_and_no_warning(self) -> None:
        self.create()
        self.capi.settle()
        self.hold()
        self.no_verdict()
        self.assertEqual([], self.warnings())

    def test_a_lease_that_nobody_renews_is_taken(self) -> None:
        self.create()
        self.capi.settle()
        self.hold()
        self.poll()
        self.plane.clock.advance(lease.DURATION + 1)
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())


class TimeoutTest(PollTestCase):
    """Work that takes too long."""

    def test_an_overdue_create_fails_with_the_lowest_reason(self) -> None:
        self.create(create_timeout=20)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=21)
        self.poll()
        row, groups = self.row(), self.groups()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn(cluster_api.NO_HOST, row.status_reason)
        self.assertEqual("CREATE_FAILED", groups["default-worker"].status)
        self.assertIn(
            cluster_api.NO_HOST, groups["default-worker"].status_reason
        )
        self.assertEqual("CREATE_COMPLETE", groups["default-master"].status)

    def test_a_create_that_is_not_overdue_goes_on(self) -> None:
        self.create(create_timeout=90)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=89)
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())

    def test_without_a_timeout_of_its_own_the_operators_counts(self) -> None:
        conf.CONF.set_override("operation_timeout", 30, "capi_helm")
        self.create(create_timeout=0)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=31)
        self.poll()
        self.assertEqual("CREATE_FAILED", self.row().status)

    def test_a_create_that_is_ready_too_late_is_complete(self) -> None:
        self.create()
        self.capi.settle()
        self.backdate(minutes=120)
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_an_overdue_create_that_never_began_fails(self) -> None:
        self.saved()
        self.backdate(minutes=61)
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual([], self.management.requests)

    def test_an_overdue_update_fails(self) -> None:
        self.complete()
        self.resize(3)
        self.capi.fail_machine("default-worker")
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v2",
            {"metadata": {"labels": {"modifiedAt": "1"}}},
        )
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn(cluster_api.NO_HOST, self.row().status_reason)

    def test_an_update_that_helm_never_took_fails_in_the_end(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 100
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(3601)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)


class ApplyTest(PollTestCase):
    """Polls finish what a request began."""

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
        self.assertEqual(["pending-install"], self.statuses_of_revisions())
        self.assertEqual(
            "helm upgrade was killed (SIGKILL)", self.row().status_reason
        )
        self.plane.clock.advance(11)
        self.poll()
        self.assertEqual(["failed", "deployed"], self.statuses_of_revisions())

    def test_one_of_somebody_else_is_as_long_as_their_helm_may_take(
        self,
    ) -> None:
        conf.CONF.set_override("helm_timeout", 60, "capi_helm")
        self.helm.outcomes = [helm.Outcome.BROKEN_OFF]
        self.create()
        # Of the same number, with other values.
        other = records.Revision(
            release=base.RELEASE,
            namespace=base.NAMESPACE,
            version=1,
            status="pending-install",
            chart_version="0.27.0",
            values={**self.helm.upgrades[0].values, "clusterAnnotations": {}},
        ).record()
        name = other["metadata"]["name"]
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)
        self.server.create(kinds.SECRET, other)
        # What it is itself given to is another's: 1.4.0 gives five minutes.
        for seconds in (11, 91, 220):
            self.plane.clock.advance(seconds)
            self.poll()
            self.assertEqual(["pending-install"], self.statuses_of_revisions())
        self.plane.clock.advance(40)
        self.poll()
        self.assertEqual(["failed", "deployed"], self.statuses_of_revisions())

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

    def test_what_another_conductor_completed_is_not_applied(self) -> None:
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


class CostTest(PollTestCase):
    """What a poll of a cluster at rest costs."""

    def test_a_poll_takes_at_most_eight_requests_and_saves_nothing(
        self,
    ) -> None:
        self.complete()
        self.driver.update_cluster_status(self.admin, self.row())
        self.management.requests.clear()
        with self.saves() as saved:
            self.driver.update_cluster_status(self.admin, self.row())
        self.assertLessEqual(len(self.management.requests), 8)
        self.assertEqual(
            {"list"}, {each.verb for each in self.management.requests}
        )
        self.assertEqual([], saved)

    def test_a_verdict_that_nobody_changed_is_not_saved_again(self) -> None:
        self.create()
        self.capi.fail_machine("default-worker")
        self.poll()
        self.no_verdict()
