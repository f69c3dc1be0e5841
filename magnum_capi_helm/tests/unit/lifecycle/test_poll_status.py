# SPDX-License-Identifier: Apache-2.0

"""Status polls, through Magnum's own periodic job."""

from __future__ import annotations

from typing import Any
from unittest import mock

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
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
                self.save(status="CREATE_FAILED", status_reason="no quota")
            return scan(kind, *args, **more)

        self.edit(kinds.CLUSTER, base.RELEASE, _PAUSED)
        with mock.patch.object(self.management, "scan", fail):
            self.poll()
        self.assertEqual(("CREATE_FAILED", "no quota"), self.state())


class PollTestCase(base.FlowTestCase):
    def made(self) -> None:
        """A cluster whose machines are ready; no poll has seen it yet."""
        self.create()
        self.capi.settle()

    def no_verdict(self) -> None:
        """A poll writes nothing, but where the cluster is."""
        with self.saves() as saved:
            self.poll()
        self.assertEqual([], [each for each in saved if "@" not in each])


class ReadingTest(PollTestCase):
    def test_each_list_that_fails_gives_no_verdict(self) -> None:
        self.made()
        for kind in (
            kinds.CLUSTER,
            kinds.CONTROL_PLANE,
            kinds.MACHINE_DEPLOYMENT,
            kinds.MACHINE,
            kinds.HELM_RELEASE,
            kinds.MANIFESTS,
            kinds.SECRET,
        ):
            self.fails("list", kind)
            self.no_verdict()
            self.management.recover()
        # Nor does a request that fails under the Lease.
        self.fails("get", kinds.SECRET, "sh.helm.release")
        self.no_verdict()
        self.management.recover()
        self.management.unreachable()
        seen = len(self.warnings())
        self.no_verdict()
        self.assertEqual(1, len(self.warnings()) - seen, self.warnings())
        self.management.recover()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_forbidden_list_is_the_reason(self) -> None:
        self.made()
        self.fails(
            "list",
            kinds.HELM_RELEASE,
            error=errors.ManagementError("refused (403)"),
        )
        self.poll()
        refused = ("CREATE_IN_PROGRESS", "refused (403)")
        self.assertEqual(refused, self.state())
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_a_desired_state_of_a_newer_version_is_named(self) -> None:
        self.made()
        where = (kinds.SECRET, base.NAMESPACE, base.INTENT)
        before = self.live(kinds.SECRET, base.INTENT)["data"]["intent.json"]
        later = {**encoding.read_plain(before), "format": "3"}
        self.server.patch(
            *where, {"data": {"intent.json": encoding.plain(later)}}
        )
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.assertIn("of a newer version", self.why())
        self.server.patch(*where, {"data": {"intent.json": before}})
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_poll_of_a_cluster_that_is_gone_does_nothing(self) -> None:
        row = self.create()
        row.destroy()
        self.driver.update_cluster_status(self.admin, row)
        self.assertEqual([], self.warnings())


class ProgressTest(PollTestCase):
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
        self.assertEqual(wanted, self.why())
        self.assertEqual(wanted, self.groups()["default-worker"].status_reason)
        self.assertIsNone(self.groups()["default-master"].status_reason)

    def test_a_failed_addon_is_named_until_it_recovers(self) -> None:
        self.made()
        self.capi.fail_addon("csi-cinder", "chart not found")
        self.poll()
        reason = "addon csi-cinder: Failed: chart not found"
        self.assertEqual(("CREATE_IN_PROGRESS", reason), self.state())
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_an_addon_that_does_not_exist_yet_is_waited_for(self) -> None:
        self.made()
        name = f"{base.RELEASE}-ccm-openstack"
        self.server.delete(kinds.HELM_RELEASE, base.NAMESPACE, name)
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(1, len(self.helm.upgrades))

    def test_another_fingerprint_is_not_complete(self) -> None:
        self.complete()
        self.save(self.groups()["default-worker"], flavor_id="m1.other")
        self.save(status="UPDATE_IN_PROGRESS")
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.poll()
        reason = "the latest change is still to be applied"
        self.assertEqual(("UPDATE_IN_PROGRESS", reason), self.state())

    def test_a_held_lease_gives_no_verdict_and_no_warning(self) -> None:
        self.made()
        self.hold("other")
        self.no_verdict()
        self.assertEqual([], self.warnings())
        # Nobody renews it.
        self.poll_after(lease.DURATION + 1)
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())


class CostTest(PollTestCase):
    """What a poll of a cluster at rest costs."""

    def test_a_poll_takes_eight_requests_and_saves_nothing(self) -> None:
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


class TimeoutTest(base.FlowTestCase):
    def test_an_overdue_create_fails_with_the_lowest_reason(self) -> None:
        self.create(create_timeout=20)
        self.capi.fail_machine("default-worker", "no quota")
        self.backdate(minutes=19)
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
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

    def test_without_a_timeout_of_its_own_the_operators_counts(self) -> None:
        self.set_option(operation_timeout=30)
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

    def test_a_create_that_never_began_fails_soon(self) -> None:
        self.set_option(operation_timeout=0)
        self.saved(create_timeout=0)
        for minutes, status in ((14, "IN_PROGRESS"), (16, "FAILED")):
            self.backdate(minutes=minutes)
            self.poll()
            self.assertEqual({f"CREATE_{status}"}, self.statuses())
        self.assertEqual([], self.management.requests)

    def test_a_create_that_never_began_has_the_users_time(self) -> None:
        self.saved(create_timeout=5)
        self.backdate(minutes=6)
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())

    def test_an_update_that_helm_never_took_fails_in_the_end(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 100
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll_after(3601)
        self.assertEqual("UPDATE_FAILED", self.row().status)


DAMAGED = "the Secret with the desired state, <release>-intent, is damaged"
FORBIDDEN = "the management cluster refused GET Secret (403)"


class ErrorsTest(base.NodegroupTestCase):
    def damage(self) -> str:
        """Damage the desired state; return the values of before."""
        data = self.live(kinds.SECRET, base.INTENT)["data"]
        self.store("!")
        return str(data["values.json.gz"])

    def store(self, content: str) -> None:
        change = {"data": {"values.json.gz": content}}
        self.edit(kinds.SECRET, base.INTENT, change)

    def forbid(self, name: str) -> None:
        """The role of the driver does not let it read Secrets."""
        self.fails(
            "get",
            kinds.SECRET,
            name,
            error=responses.ForbiddenError(FORBIDDEN),
        )

    def later(self, seconds: float = 0.0) -> tuple[str, str]:
        """Status and reason after one more poll, after some time."""
        self.poll_after(seconds)
        status, reason = self.state()
        return status, reason or ""

    def test_a_damaged_desired_state_ends_an_update(self) -> None:
        with self.busy():
            self.resize(3)
        content = self.damage()
        for seconds in (11, 3500):
            status, reason = self.later(seconds)
            self.assertEqual("UPDATE_IN_PROGRESS", status)
            self.assertIn(DAMAGED, reason)
        status, reason = self.later(101)
        self.assertEqual("UPDATE_FAILED", status)
        self.assertTrue(reason.startswith("not done in time: "), reason)
        self.assertIn(DAMAGED, reason)
        groups = self.groups()
        self.assertEqual("UPDATE_FAILED", groups["default-worker"].status)
        # The operator restores it.
        self.store(content)
        for _ in range(3):
            self.plane.clock.advance(60)
            self.health_poll()
            self.capi.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, {self.row().status})
        self.assertEqual(3, self.replicas())

    def test_a_role_without_rights_ends_an_update(self) -> None:
        self.resize(3)
        self.forbid(base.INTENT)
        self.capi.settle()
        expected = ("UPDATE_IN_PROGRESS", FORBIDDEN)
        self.assertEqual(expected, self.later())
        expected = ("UPDATE_FAILED", f"not done in time: {FORBIDDEN}")
        self.assertEqual(expected, self.later(3601))

    def test_only_errors_without_a_pause_end_it(self) -> None:
        self.resize(3)
        self.forbid(base.INTENT)
        self.capi.settle()
        self.later()
        self.management.recover()
        self.capi.fail_machine("default-worker")
        self.later(3000)
        self.forbid("")
        self.damage()
        self.capi.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.later(700)[0])

    def test_a_conductor_at_work_ends_nothing(self) -> None:
        self.resize(3)
        self.capi.settle()
        for number in range(5):
            self.hold(f"other-{number}")
            self.assertEqual("UPDATE_IN_PROGRESS", self.later(1000)[0])

    def test_errors_before_a_conductors_work_do_not_count(self) -> None:
        self.resize(3)
        self.forbid(base.INTENT)
        self.capi.settle()
        self.later()
        self.management.recover()
        with self.busy():
            self.later(3000)
        self.forbid(base.INTENT)
        self.assertEqual("UPDATE_IN_PROGRESS", self.later(700)[0])
