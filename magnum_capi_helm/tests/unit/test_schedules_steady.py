# SPDX-License-Identifier: Apache-2.0

"""Polls of clusters that did not change since the poll before."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any
from unittest import mock

from magnum import objects
from oslotest import base as oslotest_base

from magnum_capi_helm import runtime
from magnum_capi_helm import schedules
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.kubernetes import shared_reads
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.lifecycle import base


class _SteadyTest(base.FlowTestCase):
    @contextlib.contextmanager
    def untouched(self) -> Iterator[None]:
        """Nothing is read from the database, or written to it."""
        reading = mock.Mock(side_effect=AssertionError("rows were read"))
        with (
            mock.patch.object(objects.NodeGroup, "list", reading),
            mock.patch.object(objects.Cluster, "get_by_uuid", reading),
            self.saves() as saved,
        ):
            yield
        self.assertEqual([], saved)

    def requests(self) -> set[tuple[str, str]]:
        found = {each[:2] for each in self.management.requests}
        self.management.requests.clear()
        return found


class HealthTest(_SteadyTest):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.health_poll()

    def look(self) -> dict[str, Any]:
        monitor = self.driver.get_monitor(self.admin, self.row())
        monitor.poll_health_status()
        return dict(monitor.data)

    def test_only_its_objects_are_read(self) -> None:
        row = self.row()
        self.requests()
        with self.untouched():
            monitor = self.driver.get_monitor(self.admin, row)
            monitor.poll_health_status()
        self.assertEqual({}, monitor.data)
        kinds_read = "Cluster KubeadmControlPlane MachineDeployment Machine"
        self.assertEqual(
            {("list", each) for each in kinds_read.split()}, self.requests()
        )

    def test_each_object_that_changes_is_looked_at(self) -> None:
        self.capi.fail_machine("default-worker")
        self.assertEqual("UNHEALTHY", self.look()["health_status"])
        self.health_poll()
        self.capi.settle()
        self.assertEqual("HEALTHY", self.look()["health_status"])

    def test_a_row_that_somebody_changed_is_corrected(self) -> None:
        before = self.row().coe_version
        self.save(health_status="UNKNOWN")
        self.assertEqual("HEALTHY", self.look()["health_status"])
        self.save(coe_version="v0.0.0")
        self.look()
        self.assertEqual(before, self.row().coe_version)

    def test_a_group_whose_row_changed_is_looked_at_in_time(self) -> None:
        self.save(self.groups()["default-worker"], node_addresses=[])
        self.look()
        self.assertEqual([], self.groups()["default-worker"].node_addresses)
        self.plane.clock.advance(901)
        self.look()
        self.assertNotEqual([], self.groups()["default-worker"].node_addresses)

    def test_health_that_depends_on_time_is_judged_each_time(self) -> None:
        machine: Any = self.server.list(kinds.MACHINE, base.NAMESPACE)[0]
        machine["status"]["conditions"] = []
        self.server.replace(kinds.MACHINE, machine)
        made = view.timestamp(machine["metadata"]["creationTimestamp"])
        for seconds, expected in ((10, "HEALTHY"), (3600, "UNKNOWN")):
            self.plane.clock.advance(seconds)
            with mock.patch("time.time", lambda: made + seconds):  # noqa: B023
                row = self.health_poll()
            self.assertEqual(expected, row.health_status)

    def test_its_credential_is_still_looked_at(self) -> None:
        self.requests()
        self.plane.clock.advance(10_000)
        self.look()
        self.assertIn(("get", "Secret"), self.requests())


class StatusTest(_SteadyTest):
    def setUp(self) -> None:
        super().setUp()
        self.create()
        # Polls ask Octavia about a load balancer until it is there.
        self.capi.settle_infrastructure()
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)

    def test_only_its_objects_are_read(self) -> None:
        row = self.row()
        self.requests()
        with self.untouched():
            self.driver.update_cluster_status(self.admin, row)
        self.assertEqual({"list"}, {verb for verb, _ in self.requests()})

    def test_a_timeout_is_noticed_in_time(self) -> None:
        # Six seconds are left.
        self.backdate(minutes=59.9)
        self.poll_after(61)
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.backdate(minutes=60.1)
        self.poll_after(7)
        self.assertEqual("CREATE_FAILED", self.row().status)

    def test_a_change_that_another_conductor_left_to_the_polls(self) -> None:
        self.save(self.groups()["default-worker"], node_count=3)
        self.poll()
        self.assertEqual(2, self.replicas())
        self.poll_after(61)
        self.assertEqual(3, self.replicas())

    def test_a_change_of_its_own_is_seen_by_the_next_poll(self) -> None:
        self.settle()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.resize(3)
        self.poll()
        with self.busy():
            self.resize(4)
        self.poll()
        self.assertEqual(4, self.replicas())


class FreshTest(base.FlowTestCase):
    """What a second conductor makes of looks that its polls share."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        made = self.plane.runtime("conductor-2")
        observer = reads.Reader(made.management, whole=True)
        shared = shared_reads.SharedReads(
            observer.read, 3600.0, 90.0, self.plane.clock
        )
        made.snapshots = shared
        self.second = made

    def poll_there(self) -> None:
        first = runtime.get()
        runtime.use(self.second)
        self.poll()
        runtime.use(first)

    def test_a_change_is_not_complete_by_a_look_before_it(self) -> None:
        self.poll_there()  # all is well, and it remembers that
        self.resize(3)
        self.resize(2)
        # The rows want what they wanted then, but a machine is still going.
        self.poll_there()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.capi.settle()
        self.plane.clock.advance(3601)
        self.poll_there()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


SCOPE = ("magnum-p1", "demo-1")
OTHER = ("magnum-p1", "demo-2")


class SteadyTest(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.cache: schedules.PollCache[str] = schedules.PollCache(
            60.0, lambda: self.now, lambda: 0.5
        )
        self.cache.put(SCOPE, "looks", "found")

    def test_each_release_has_its_own(self) -> None:
        self.assertIsNone(self.cache.get(OTHER, "looks"))
        self.assertEqual(
            (True, False), tuple(map(self.cache.has, (SCOPE, OTHER)))
        )

    def test_a_result_ends_after_a_minute_or_earlier(self) -> None:
        for seconds, until in ((60.0, ()), (5.0, (5.0,))):
            self.cache.put(SCOPE, "looks", "found", *until)
            self.now += seconds - 0.1
            self.assertEqual("found", self.cache.get(SCOPE, "looks"))
            self.assertIsNone(self.cache.get(SCOPE, "other looks"))
            self.now += 0.1
            self.assertIsNone(self.cache.get(SCOPE, "looks"))

    def test_results_of_one_moment_do_not_end_together(self) -> None:
        spread = iter((0.0, 1.0))
        found: schedules.PollCache[str] = schedules.PollCache(
            60.0, lambda: self.now, lambda: next(spread)
        )
        for scope in (SCOPE, OTHER):
            found.put(scope, "looks", "found")
        self.now += 30
        self.assertIsNone(found.get(SCOPE, "looks"))
        self.now += 59
        self.assertEqual("found", found.get(OTHER, "looks"))

    def test_a_change_by_this_process_ends_it(self) -> None:
        self.cache.forget(SCOPE)
        self.cache.forget(OTHER)
        self.assertIsNone(self.cache.get(SCOPE, "looks"))
