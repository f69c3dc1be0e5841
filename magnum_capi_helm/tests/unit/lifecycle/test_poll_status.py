# SPDX-License-Identifier: Apache-2.0

"""Status polls, through Magnum's own periodic job."""

from __future__ import annotations

from typing import Any
from unittest import mock

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base

_PAUSED = {"spec": {"paused": True}}


class OverlapTest(base.FlowTestCase):
    """Two polls of a cluster at a time."""

    def test_the_slower_poll_keeps_the_reason_of_a_failure(self) -> None:
        self.create()
        self.poll()
        scan = self.management.scan

        def fail(kind: kinds.Kind, *args: Any, **more: Any) -> Any:
            # The poll has read the row by then.
            if kind == kinds.CLUSTER:
                row = self.row()
                row.status, row.status_reason = "CREATE_FAILED", "no quota"
                row.save()
            return scan(kind, *args, **more)

        self.server.patch(kinds.CLUSTER, base.NAMESPACE, base.RELEASE, _PAUSED)
        with mock.patch.object(self.management, "scan", fail):
            self.poll()
        row = self.row()
        self.assertEqual(
            ("CREATE_FAILED", "no quota"), (row.status, row.status_reason)
        )


class PollTestCase(base.FlowTestCase):
    """Helpers of the tests below."""

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
                errors.ManagementUnreachable("no answer"),
                verbs=["list"],
                kind=kind,
            )
            self.no_verdict()
            self.management.recover()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_forbidden_list_is_the_reason(self) -> None:
        self.create()
        self.capi.settle()
        self.management.fail(
            errors.ManagementError("refused (403)"),
            verbs=["list"],
            kind=kinds.HELM_RELEASE,
        )
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.assertEqual("refused (403)", self.row().status_reason)
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_a_list_that_fails_under_the_lease_gives_no_verdict(self) -> None:
        self.create()
        self.capi.settle()
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["get"],
            kind=kinds.SECRET,
            name="sh.helm.release",
        )
        self.no_verdict()

    def test_a_desired_state_of_a_newer_version_is_named(self) -> None:
        self.create()
        self.capi.settle()
        name = names.desired_state(base.RELEASE)
        where = (kinds.SECRET, base.NAMESPACE, name)
        found = self.server.get(*where)
        assert found is not None
        before = found["data"]["intent.json"]
        later = {**encoding.read_plain(before), "format": "3"}
        self.server.patch(
            *where, {"data": {"intent.json": encoding.plain(later)}}
        )
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.assertIn("of a newer version", self.row().status_reason)
        self.server.patch(*where, {"data": {"intent.json": before}})
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

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
            "availability zone, or ask the operator; auto-healing then "
            "replaces the machine, or resize with --nodes-to-remove [no-host]"
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
