# SPDX-License-Identifier: Apache-2.0

"""Polls that apply what a request began, and how long they wait."""

from __future__ import annotations

from collections.abc import Callable
import itertools
import json
import time
from typing import Any
from unittest import mock

import fixtures

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading


class ApplyTest(base.FlowTestCase):
    def revised(self) -> list[str]:
        """helm's word for each revision, the oldest first."""
        found = self.server.list(
            kinds.SECRET, base.NAMESPACE, f"owner=helm,name={base.RELEASE}"
        )
        labels = [each["metadata"]["labels"] for each in found]
        labels.sort(key=lambda each: int(each["version"]))
        return [each["status"] for each in labels]

    def killed(self, call: Callable[..., object], *args: Any) -> None:
        """The conductor dies while its helm runs; nobody renews its Lease."""
        self.helm.outcomes = [helm.Outcome.KILLED]
        self.assertRaises(management.Killed, call, *args)
        self.management.recover()
        self.poll()
        self.poll_after(lease.DURATION + 1)

    def test_a_pending_revision_is_waited_for_then_given_up(self) -> None:
        self.killed(self.create)
        for seconds in (0, 300):
            self.poll_after(seconds)
            self.assertEqual(["pending-install"], self.revised())
            self.assertEqual(1, len(self.helm.upgrades))
        self.poll_after(31)
        self.assertEqual(["failed", "deployed"], self.revised())
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_dead_helm_of_this_conductor_is_not_waited_for(self) -> None:
        self.helm.outcomes = [helm.Outcome.BROKEN_OFF]
        self.create()
        self.assertEqual(["failed"], self.revised())
        self.assertEqual("helm upgrade was killed (SIGKILL)", self.why())
        self.poll_after(11)
        self.assertEqual(["failed", "deployed"], self.revised())

    def test_a_dead_helm_that_can_not_be_marked_is_awaited(self) -> None:
        self.complete()
        self.fails(
            "patch",
            name="sh.helm.release.v1",
            error=errors.ManagementUnreachable("it does not answer"),
        )
        self.helm.outcomes = [helm.Outcome.BROKEN_OFF]
        self.resize(3)
        self.management.recover()
        for seconds, status in ((11, "pending-upgrade"), (331, "failed")):
            self.poll_after(seconds)
            self.assertEqual(status, self.revised()[1])

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
            self.poll_after(seconds)
            self.assertEqual(["deployed", "pending-upgrade"], self.revised())
        self.poll_after(300)
        self.assertEqual(["superseded", "failed", "deployed"], self.revised())

    def test_a_cluster_completed_elsewhere_is_not_applied(self) -> None:
        self.complete()
        stale = self.row()
        stale.status = "UPDATE_FAILED"
        stale.obj_reset_changes()
        self.relabel(1, status="failed")
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
        self.save(self.groups()["default-worker"], node_count=4)
        self.fails(
            "patch",
            kinds.SECRET,
            base.INTENT,
            error=errors.Conflict("the Secret has changed"),
            times=1,
        )
        runs = len(self.helm.upgrades)
        self.poll()
        self.assertEqual(runs, len(self.helm.upgrades))
        self.poll()
        self.assertEqual(runs + 1, len(self.helm.upgrades))

    def test_a_resize_after_a_delete_is_never_applied(self) -> None:
        """Be it that helm did not remove the release yet."""
        for outcomes in ([helm.Outcome.UNREACHABLE], []):
            self.created()
            row, group = self.row(), self.groups()["default-worker"]
            self.helm.outcomes = outcomes
            self.delete()
            runs = len(self.helm.upgrades)
            self.handler.cluster_resize(self.context, row, 5, [], group)
            self.poll()
            # What Magnum's nodegroup handlers do to such a cluster.
            self.save(status="UPDATE_IN_PROGRESS")
            self.poll()
            self.assertEqual(runs, len(self.helm.upgrades))
            self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
            self.capi.finish()
            self.poll()
            self.assertTrue(self.gone())

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
        self.assertIn("not installed anew", self.why())

    def test_a_changed_default_reaches_no_cluster_by_a_resize(self) -> None:
        self.complete()
        before = self.helm.upgrades[-1]
        self.set_option(default_helm_chart_version="0.99.0")
        self.openstack.images.clear()
        self.resize(3)
        after = self.helm.upgrades[-1]
        self.assertEqual("0.27.0", after.chart_version)
        before.values["nodeGroups"][0]["machineCount"] = 3
        for values in (before.values, after.values):
            del values["clusterAnnotations"]
        self.assertEqual(before.values, after.values)


WORKER = "default-worker"
#: Minutes: the default of the option.
LIMIT = 60


class ProgressTestCase(upgrading.UpgradeTestCase):
    """A cluster with one control plane machine and two workers."""

    def setUp(self) -> None:
        super().setUp()
        wall = mock.Mock(wraps=time, time=self.plane.clock.wall)
        for module in (observed_state, reads, records):
            self.useFixture(fixtures.MockPatchObject(module, "time", wall))
        self.after(0)

    def after(self, minutes: float) -> None:
        """So many minutes pass on all clocks, and a poll follows."""
        self.plane.clock.advance(minutes * 60)
        self.server.stamp = time.strftime(
            "%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.plane.clock.wall())
        )
        self.poll()

    def begin_upgrade(self) -> None:
        """Begin an upgrade of workers, after that of the control plane."""
        self.after(1)
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.capi.settle()
        for _ in range(2):
            self.poll()

    def workers(self) -> list[str]:
        return sorted(
            each["metadata"]["name"]
            for each in self.server.list(kinds.MACHINE, base.NAMESPACE)
            if WORKER in each["metadata"]["name"]
        )

    def status(self) -> str:
        return str(self.row().status)

    def mark(self) -> dict[str, Any] | None:
        notes = view.annotations_of(self.live(kinds.CLUSTER))
        text = notes.get(replacement.PROGRESS_ANNOTATION)
        return json.loads(text) if text else None

    def note(self, name: str, value: str | None) -> None:
        change = {"metadata": {"annotations": {name: value}}}
        where = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*where, change)

    def counts(self) -> tuple[int, int]:
        """Best counts so far: new machines that are ready, old machines."""
        mark = self.mark()
        assert mark is not None
        return mark["new"], mark["old"]


class MovingTest(ProgressTestCase):
    def test_an_upgrade_that_moves_may_take_longer(self) -> None:
        # helm copies the time of the first revision to the next record.
        self.after(24 * LIMIT)
        self.begin_upgrade()
        for name in self.workers():
            self.after(LIMIT - 5)
            self.capi.add_machine(WORKER)
            self.after(LIMIT - 5)
            self.capi.remove_machine(name)
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.capi.settle()
        self.after(LIMIT - 5)
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_addons_have_the_time_after_the_last_machine(self) -> None:
        self.begin_upgrade()
        self.after(LIMIT - 5)
        self.capi.add_machine(WORKER)
        self.poll()
        self.capi.settle()
        self.capi.fail_addon("csi-cinder", "no image")
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())
        self.assertIn("no image", self.why())


class StandingStillTest(ProgressTestCase):
    def test_an_update_without_progress_fails(self) -> None:
        """Or one that stops after some."""
        self.begin_upgrade()
        self.after(LIMIT - 5)
        self.capi.add_machine(WORKER)
        self.poll()
        self.capi.fail_machine(WORKER)
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())
        self.assertIn("not done in time: ", self.why())
        self.assertIn(cluster_api.NO_HOST, self.why())

    def test_a_create_that_moves_has_no_more_than_its_time(self) -> None:
        self.save(status="CREATE_IN_PROGRESS", create_timeout=20)
        self.backdate(minutes=19)
        self.capi.add_machine(WORKER)
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.status())
        self.assertIsNone(self.mark())
        self.capi.add_machine(WORKER)
        self.backdate(minutes=21)
        self.poll()
        self.assertEqual("CREATE_FAILED", self.status())


class KeptTest(ProgressTestCase):
    """The best counts, and when they were reached, are on the Cluster."""

    def test_a_conductor_that_starts_knows_them(self) -> None:
        self.begin_upgrade()
        self.after(LIMIT - 5)
        new = self.capi.add_machine(WORKER)
        self.poll()
        base.install(self, self.plane.runtime("conductor-2"))
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        # What conductor-1 saw already is no progress for conductor-2.
        self.capi.remove_machine(new)
        self.capi.add_machine(WORKER)
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())

    def test_an_update_that_began_without_a_mark(self) -> None:
        """Driver 1.4.0 began it, or an operator removed the annotation."""
        self.begin_upgrade()
        for value in (None, "3 of 5", "[1]", '{"revision": "two"}'):
            self.note(replacement.PROGRESS_ANNOTATION, value)
            self.after(10)
            self.assertEqual((0, 3), self.counts())
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        # Time counts from the revision until there is progress.
        self.after(25)
        self.assertEqual("UPDATE_FAILED", self.status())

    def test_a_poll_that_lost_the_race_writes_nothing(self) -> None:
        self.begin_upgrade()
        self.capi.add_machine(WORKER)
        numbers = itertools.count()
        # Someone changes the Cluster before each request.
        self.management.before = lambda: self.note("count", str(next(numbers)))
        self.poll()
        self.management.before = lambda: None
        self.assertEqual((0, 3), self.counts())
        self.poll()
        self.assertEqual((1, 3), self.counts())

    def test_a_mark_that_cannot_be_written_delays_nothing_else(self) -> None:
        self.after(1)
        self.resize(3)
        self.poll()
        self.fails("patch", kinds.CLUSTER)
        self.capi.add_machine(WORKER)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.assert_updated()
