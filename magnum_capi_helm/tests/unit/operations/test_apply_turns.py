# SPDX-License-Identifier: Apache-2.0

"""Operations while as many helm processes run as may."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import threading

import fixtures

from magnum_capi_helm.helm import turns
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import upgrade
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading


class InLineCase(base.FlowTestCase):
    """The one turn is another cluster's, for as long as a test wants."""

    @contextlib.contextmanager
    def helm_is_busy(self) -> Iterator[None]:
        has, ends = threading.Event(), threading.Event()

        def hold() -> None:
            with self.plane.turns.turn():
                has.set()
                ends.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        has.wait(30)
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def turns_come(self) -> None:
        while self.plane.due:
            self.plane.due.pop(0)()

    def conductor_dies(self) -> None:
        """Another one goes on, whose line is empty."""
        self.plane.due = []
        self.plane.turns = turns.Turns(1, self.plane.due.append)
        base.install(self, self.plane.runtime("conductor-2"))

    def lease_is_free(self) -> bool:
        lease = self.server.get(
            kinds.LEASE, base.NAMESPACE, names.lease(base.RELEASE)
        )
        return lease is not None and not lease["spec"]["holderIdentity"]


class CreateTest(InLineCase):
    """A create that finds no turn."""

    def test_a_create_leaves_helm_to_its_turn(self) -> None:
        with self.helm_is_busy():
            row = self.create()
            self.assertEqual(
                ("CREATE_IN_PROGRESS", "waiting for helm: 0 before it"),
                (row.status, row.status_reason),
            )
            self.assertTrue(self.lease_is_free())
            self.assertEqual([], self.helm.upgrades)
        self.turns_come()
        self.assertEqual(1, len(self.helm.upgrades))
        self.capi.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_poll_says_where_in_line_it_is_and_asks_for_nothing(
        self,
    ) -> None:
        with self.helm_is_busy():
            self.plane.turns.later("another", lambda: None)
            self.create()
            before = len(self.management.requests)
            self.poll()
            self.assertEqual(
                "waiting for helm: 1 before it", self.row().status_reason
            )
            self.assertEqual([], self.management.requests[before:])
            with self.saves() as saved:
                self.poll()
            self.assertEqual([], saved)
        self.turns_come()
        self.assertEqual(1, len(self.helm.upgrades))

    def test_polls_do_the_waiting_work_of_a_dead_conductor(self) -> None:
        with self.helm_is_busy():
            self.create()
        self.conductor_dies()
        self.poll()
        self.assertEqual(1, len(self.helm.upgrades))

    def test_a_poll_that_finds_no_turn_gets_in_line(self) -> None:
        with self.helm_is_busy():
            self.create()
        self.conductor_dies()
        with self.helm_is_busy():
            self.poll()
            self.assertEqual([], self.helm.upgrades)
        self.turns_come()
        self.assertEqual(1, len(self.helm.upgrades))


class ChangeTest(InLineCase, upgrading.UpgradeTestCase):
    """Changes of a complete cluster that find no turn."""

    def test_changes_leave_helm_to_their_turn(self) -> None:
        for change in (
            lambda: self.resize(3),
            # Which applies all once more.
            lambda: self.resize(3),
            lambda: self.add("gpu"),
            lambda: self.change("gpu", max_node_count=7),
            lambda: self.remove("gpu"),
        ):
            ran = len(self.helm.upgrades)
            with self.helm_is_busy():
                change()
                self.assertEqual(ran, len(self.helm.upgrades))
                self.assertTrue(self.lease_is_free())
            self.turns_come()
            self.assertEqual(ran + 1, len(self.helm.upgrades))
            self.settle()

    def test_a_deletion_leaves_helm_to_its_turn(self) -> None:
        with self.helm_is_busy():
            self.delete()
            self.poll()
            self.assertEqual(
                "deletion waits: waiting for helm: 0 before it",
                self.row().status_reason,
            )
            self.assertEqual([], self.helm.uninstalls)
        self.turns_come()
        self.assertEqual(1, len(self.helm.uninstalls))

    def test_a_deletion_takes_the_place_of_what_it_makes_needless(
        self,
    ) -> None:
        ran = len(self.helm.upgrades)
        with self.helm_is_busy():
            self.resize(3)
            self.delete()
        self.turns_come()
        self.assertEqual(ran, len(self.helm.upgrades))
        self.assertEqual(1, len(self.helm.uninstalls))

    def test_an_upgrade_waits_and_is_refused_with_nothing_written(
        self,
    ) -> None:
        self.useFixture(fixtures.MockPatchObject(upgrade, "_PATIENCE", 0.05))
        template = self.template(image_id="ubuntu-1.35")
        with self.helm_is_busy():
            self.assertEqual(
                "too many clusters are being changed, try again in a moment",
                self.refused(template),
            )
        self.upgrade(template)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
