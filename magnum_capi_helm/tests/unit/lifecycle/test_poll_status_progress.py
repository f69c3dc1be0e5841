# SPDX-License-Identifier: Apache-2.0

"""An update fails after ``operation_timeout`` without progress."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any
from unittest import mock

import fixtures

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

WORKER = "default-worker"
CLUSTER = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
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
        """Names of all Machines of the workers."""
        return sorted(
            each["metadata"]["name"]
            for each in self.server.list(kinds.MACHINE, base.NAMESPACE)
            if WORKER in each["metadata"]["name"]
        )

    def status(self) -> str:
        return str(self.row().status)

    def mark(self) -> dict[str, Any] | None:
        """What the annotation of the Cluster says."""
        found = self.server.get(*CLUSTER)
        assert found is not None
        text = (found["metadata"].get("annotations") or {}).get(
            replacement.PROGRESS_ANNOTATION
        )
        return json.loads(text) if text else None

    def counts(self) -> tuple[int, int]:
        """Best counts so far: new machines that are ready, old machines."""
        mark = self.mark()
        assert mark is not None
        return mark["new"], mark["old"]

    def version(self) -> str:
        """The resourceVersion of the Cluster, which a new mark changes."""
        return view.version_of(self.server.get(*CLUSTER))


class MovingTest(ProgressTestCase):
    def test_an_upgrade_that_moves_may_take_longer(self) -> None:
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

    def test_an_old_cluster_has_the_same_time(self) -> None:
        # helm copies the time of the first revision to the next record.
        self.after(24 * LIMIT)
        self.begin_upgrade()
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())

    def test_a_resize_to_more_that_moves_may_take_longer(self) -> None:
        self.after(1)
        self.resize(5)
        for _ in range(3):
            self.after(LIMIT - 5)
            self.capi.add_machine(WORKER)
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.status())

    def test_a_resize_to_fewer_that_moves_may_take_longer(self) -> None:
        self.after(1)
        self.resize(0)
        for name in self.workers():
            self.after(LIMIT - 5)
            self.capi.remove_machine(name)
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())

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
        self.assertIn("no image", self.row().status_reason)


class StandingStillTest(ProgressTestCase):
    def test_an_update_without_progress_fails(self) -> None:
        self.begin_upgrade()
        self.capi.fail_machine(WORKER)
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())
        self.assertIn("not done in time: ", self.row().status_reason)
        self.assertIn(cluster_api.NO_HOST, self.row().status_reason)

    def test_an_update_that_stops_after_progress_fails(self) -> None:
        self.begin_upgrade()
        self.after(LIMIT - 5)
        self.capi.add_machine(WORKER)
        self.poll()
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())

    def test_an_update_that_repeats_one_machine_fails(self) -> None:
        self.begin_upgrade()
        broken = self.capi.add_machine(WORKER)
        self.poll()
        for _ in range(5):
            self.capi.remove_machine(broken)
            self.after(5)
            self.assertEqual("UPDATE_IN_PROGRESS", self.status())
            broken = self.capi.add_machine(WORKER)
            self.after(6)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())

    def test_a_create_that_moves_has_no_more_than_its_time(self) -> None:
        row = self.row()
        row.status = "CREATE_IN_PROGRESS"
        row.create_timeout = 20
        row.save()
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

    def test_the_best_counts(self) -> None:
        self.begin_upgrade()
        self.assertEqual((0, 3), self.counts())
        old = self.workers()
        new = self.capi.add_machine(WORKER)
        self.poll()
        self.assertEqual((1, 3), self.counts())
        self.capi.remove_machine(old[0])
        self.poll()
        self.assertEqual((1, 2), self.counts())
        self.capi.remove_machine(new)
        self.poll()
        self.assertEqual((1, 2), self.counts())
        self.capi.add_machine(WORKER, ready=False)
        self.poll()
        self.assertEqual((1, 2), self.counts())

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

    def test_the_next_update_starts_anew(self) -> None:
        self.begin_upgrade()
        for _ in range(2):
            self.capi.add_machine(WORKER)
        self.poll()
        self.after(LIMIT + 5)
        self.assertEqual("UPDATE_FAILED", self.status())
        before = self.mark()
        self.resize(3)
        self.poll()
        after = self.mark()
        assert before is not None
        assert after is not None
        self.assertLess(before["revision"], after["revision"])
        self.assertEqual((0, 5), self.counts())
        self.after(LIMIT - 5)
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.after(10)
        self.assertEqual("UPDATE_FAILED", self.status())

    def test_an_update_that_began_without_a_mark(self) -> None:
        """Driver 1.4.0 began it, or an operator removed the annotation."""
        self.begin_upgrade()
        for value in (None, "3 of 5", "[1]", '{"revision": "two"}'):
            annotations = {replacement.PROGRESS_ANNOTATION: value}
            self.server.patch(
                *CLUSTER, {"metadata": {"annotations": annotations}}
            )
            self.after(10)
            self.assertEqual((0, 3), self.counts())
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        # Time counts from the revision until there is progress.
        self.after(25)
        self.assertEqual("UPDATE_FAILED", self.status())

    def test_the_mark_is_written_only_with_progress(self) -> None:
        self.begin_upgrade()
        first = self.version()
        for _ in range(3):
            self.after(1)
        self.assertEqual(first, self.version())
        self.capi.add_machine(WORKER)
        self.after(1)
        second = self.version()
        self.assertNotEqual(first, second)
        for _ in range(3):
            self.after(1)
        self.assertEqual(second, self.version())

    def test_a_complete_cluster_gets_no_mark(self) -> None:
        before = len(self.management.requests)
        for _ in range(3):
            self.after(10)
            self.health_poll()
        verbs = {each.verb for each in self.management.requests[before:]}
        self.assertEqual(set(), verbs & {"patch", "apply", "replace"})
        self.assertIsNone(self.mark())

    def test_a_poll_that_lost_the_race_writes_nothing(self) -> None:
        self.begin_upgrade()
        self.capi.add_machine(WORKER)
        numbers = itertools.count()

        def change() -> None:
            annotations = {"count": str(next(numbers))}
            self.server.patch(
                *CLUSTER, {"metadata": {"annotations": annotations}}
            )

        # Someone changes the Cluster before each request.
        self.management.before = change
        self.poll()
        self.management.before = lambda: None
        self.assertEqual((0, 3), self.counts())
        self.poll()
        self.assertEqual((1, 3), self.counts())

    def test_a_mark_that_cannot_be_written_delays_nothing_else(self) -> None:
        self.after(1)
        self.resize(3)
        self.poll()
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["patch"],
            kind=kinds.CLUSTER,
        )
        self.capi.add_machine(WORKER)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.status())
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.status())
