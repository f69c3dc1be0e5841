# SPDX-License-Identifier: Apache-2.0

"""Who may have lost the Lease writes nothing more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib

from oslotest import base

import magnum_capi_helm
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import lease_case

_WITHOUT_LEASE = {
    "database/status_writer.py": [
        "all polls write what they read",
        "all polls write what they read",
        "nothing was begun",
        "a deletion waits for no operation",
        "a deletion waits for no operation",
        "a request, which the next holder finds",
        "it asks for polls alone",
        "it ends nothing",
    ],
    "delivery.py": [
        "the API server compares the record",
    ],
    "kubernetes/lease.py": [
        "a deletion waits for no operation",
        "a deletion waits for no operation",
        "the Lease itself, when its cluster is gone",
        "the Lease itself, which the API server compares",
    ],
    "kubernetes/maintenance.py": [
        "a freeze holds for all clusters",
    ],
    "kubernetes/permissions.py": [
        "a review of access is a question",
    ],
    "lifecycle/delete.py": [
        "without a namespace there is no Lease",
        "nothing is left to guard",
    ],
    "lifecycle/poll_status.py": [
        "no management cluster has anything of it",
        "all polls write what they read",
    ],
    "lifecycle/resize.py": [
        "marks and counts of autoscaled groups",
    ],
    "lifecycle/nodegroups.py": [
        "nothing was made for the cluster",
    ],
    "lifecycle/plan_steps.py": [
        "the hook waits for nobody",
    ],
    "management_clusters/identity.py": [
        "all polls write the same identity",
    ],
    "management_clusters/placement.py": [
        "a namespace belongs to all clusters of a project",
    ],
    "operations/cluster_release.py": [
        "keys of requests, which the next holder takes",
    ],
}


class StandstillTest(lease_case.LeaseTestCase):
    """A conductor stands still while it holds the Lease, and wakes up."""

    def setUp(self) -> None:
        super().setUp()
        self.client = self.api.client()
        self.asked: list[str] = []
        self.api.before = lambda method, path: self.asked.append(
            f"{method} {path.rpartition('/')[2]}"
        )

    def _write(self) -> None:
        self.client.delete(kinds.SECRET, "n", "demo-1-intent")

    def _hold_and_wake(self, seconds: float, thief: str = "") -> list[str]:
        """What is asked for one write, that much after the Lease is taken."""
        with self.hold(self.leases()):
            self.clock.now += seconds
            if thief:
                self.left_behind(thief)
            self.asked.clear()
            try:
                self._write()
            finally:
                found = list(self.asked)
        return found

    def test_a_write_in_time_asks_nobody(self) -> None:
        for seconds in (0, lease.SAFE - 0.1):
            found = self._hold_and_wake(seconds)
            self.assertEqual(["DELETE demo-1-intent"], found)

    def test_a_late_write_renews_before(self) -> None:
        for seconds in (lease.SAFE, 3600):
            found = self._hold_and_wake(seconds)
            self.assertEqual(["PUT demo-1", "DELETE demo-1-intent"], found)

    def test_a_holder_that_lost_its_lease_writes_nothing(self) -> None:
        error = self.assertRaises(
            errors.LeaseLost, self._hold_and_wake, 31, "two/1"
        )
        self.assertEqual(
            "the Lease of demo-1 was taken over by two/1", str(error)
        )
        self.assertEqual(["PUT demo-1", "GET demo-1"], self.asked)
        self.assertEqual("two/1", self.live()["spec"]["holderIdentity"])

    def test_a_lost_lease_is_asked_for_once(self) -> None:
        with self.hold(self.leases()):
            self.clock.now += 31
            self.left_behind("two/1")
            self.assertRaises(errors.LeaseLost, self._write)
            self.asked.clear()
            self.assertRaises(errors.LeaseLost, self._write)
            self.assertEqual([], self.asked)

    def test_without_an_answer_there_is_no_write(self) -> None:
        def broken(method: str, path: str) -> None:
            raise errors.ManagementUnreachable("no answer")

        with self.hold(self.leases()):
            self.clock.now += 31
            self.api.before = broken
            self.assertRaises(errors.ManagementUnreachable, self._write)

    def test_reads_go_on(self) -> None:
        with self.hold(self.leases()):
            self.clock.now += 31
            self.left_behind("two/1")
            self.client.get(kinds.SECRET, "n", "demo-1-intent")

    def test_threads_of_the_block_are_held_back_as_well(self) -> None:
        with self.hold(self.leases()), call.Threads(1) as pool:
            self.clock.now += 31
            self.left_behind("two/1")
            written = pool.submit(self._write)
            self.assertRaises(errors.LeaseLost, written.result)

    def test_programs_of_the_block_learn_that_it_is_lost(self) -> None:
        with self.hold(self.leases()) as hold:
            lost = call.lease_lost()
            self.assertFalse(lost())
            self.clock.now += 31
            self.left_behind("two/1")
            self.assertRaises(errors.LeaseLost, hold.confirm)
            self.assertTrue(lost())
        self.assertFalse(call.lease_lost()())

    def test_a_call_without_the_lease_writes_nothing(self) -> None:
        with call.acting(call.Actor("a call")):
            self.assertRaises(errors.LeaseMissing, self._write)
            with self.hold(self.leases()):
                with call.acting(call.Actor("another call")):
                    self.assertRaises(errors.LeaseMissing, self._write)
                self._write()
            self.assertRaises(errors.LeaseMissing, self._write)
        self.assertEqual(1, self.asked.count("DELETE demo-1-intent"))

    def test_a_writer_that_needs_no_lease_heeds_a_lost_one(self) -> None:
        with call.without_lease("it is a test"):
            self._write()
        with self.hold(self.leases()), call.without_lease("it is a test"):
            self.clock.now += 31
            self.left_behind("two/1")
            self.assertRaises(errors.LeaseLost, self._write)


class WithoutLeaseTest(base.BaseTestCase):
    """The list of the writers that need no Lease."""

    def test_no_other_writer_goes_without_the_lease(self) -> None:
        self.assertEqual(_WITHOUT_LEASE, dict(_without_lease()))


def _without_lease() -> Iterator[tuple[str, list[str]]]:
    """Yield the files whose writers need no Lease, with their reasons."""
    package = pathlib.Path(magnum_capi_helm.__file__).parent
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        nodes = ast.walk(ast.parse(path.read_text()))
        reasons = [
            ast.literal_eval(each.args[0])
            for each in nodes
            if isinstance(each, ast.Call)
            and ast.unparse(each.func) == "call.without_lease"
        ]
        if reasons and place.parts[0] != "tests":
            yield str(place), reasons
