# SPDX-License-Identifier: Apache-2.0

"""A deletion that takes too long says so, and goes on all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

LONG_AGO = "2026-01-01T00:00:00.000000Z"


class DeletionTimeoutTest(base.FlowTestCase):
    """Machines that don't go."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.delete()

    def overdue(self) -> None:
        """The user asked long ago."""
        mark = {lease.DELETE_MARK: LONG_AGO}
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"metadata": {"annotations": mark}},
        )

    def failed(self) -> None:
        """A poll finds that it takes too long."""
        self.overdue()
        self.poll()
        self.assertEqual("DELETE_FAILED", self.row().status)

    def test_an_overdue_deletion_fails_and_names_the_machines(self) -> None:
        self.failed()
        self.assertRegex(
            self.row().status_reason,
            "^not done in time: 3 machines still to be deleted: web-",
        )
        groups = self.groups().values()
        self.assertEqual(
            {"DELETE_IN_PROGRESS"}, {each.status for each in groups}
        )

    def test_in_time_it_is_in_progress(self) -> None:
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())

    def test_without_a_limit_it_never_fails(self) -> None:
        conf.CONF.set_override("operation_timeout", 0, "capi_helm")
        self.overdue()
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_an_unreachable_management_cluster_is_waited_for(self) -> None:
        self.overdue()
        self.management.unreachable()
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.assertIn("does not answer", self.row().status_reason)

    def test_a_refusal_is_the_reason_of_an_overdue_deletion(self) -> None:
        self.overdue()
        self.management.fail(
            errors.ManagementError("refused (403)"),
            verbs=["get"],
            kind=kinds.CLUSTER,
        )
        self.poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assertEqual(
            "not done in time: deletion waits: refused (403)",
            self.row().status_reason,
        )

    def test_a_poll_that_finds_no_management_cluster_is_too_late(self) -> None:
        # The text of a failed deletion tells whether it makes progress.
        def fail_meanwhile(_: Any) -> None:
            row = self.row()
            row.status = "DELETE_FAILED"
            row.status_reason = "not done in time: 3 machines"
            row.save()
            raise errors.ManagementUnreachable("no answer")

        with mock.patch.object(registry, "runtime_of", fail_meanwhile):
            self.poll()
        row = self.row()
        self.assertEqual("DELETE_FAILED", row.status)
        self.assertEqual("not done in time: 3 machines", row.status_reason)

    def test_while_nothing_moves_it_stays_failed(self) -> None:
        self.failed()
        for _ in range(2):
            self.health_poll()
            self.assertEqual("DELETE_FAILED", self.row().status)

    def fault(self, message: str) -> None:
        """Nova has that fault for a server; without one, the server runs."""
        servers = self.server.names(kinds.OPENSTACK_SERVER)
        if message and not servers:
            servers = [self.capi.server_in_error("default-worker")]
        for name in servers:
            self.openstack.servers.faults[name] = message
            if not message:
                self.server.delete(
                    kinds.OPENSTACK_SERVER, base.NAMESPACE, name
                )
        scope = (base.NAMESPACE, base.RELEASE)
        runtime.get().faults.pop(scope, None)

    def user(self, *, deleted: bool) -> None:
        """The owner of the credential, and a new look at Keystone."""
        (set.add if deleted else set.discard)(
            self.openstack.deleted, openstack.USER
        )
        self.plane.clock.advance(301)

    def test_a_reason_alone_is_no_progress_and_is_told(self) -> None:
        """Each change is made behind the one before it."""
        busy, full = "volume is busy", "disk is full"
        user = f"user {openstack.USER} is deleted"
        changes: list[tuple[Callable[[], None], tuple[str, ...]]] = [
            (lambda: None, ()),
            (lambda: self.fault(busy), (busy,)),
            (lambda: self.fault(full), (full,)),
            (lambda: self.user(deleted=True), (full, user)),
            (lambda: self.fault(""), (user,)),
            (lambda: self.user(deleted=False), ()),
        ]
        self.failed()
        for number, (change, told) in enumerate(changes):
            change()
            self.health_poll()
            row = self.row()
            self.assertEqual("DELETE_FAILED", row.status, str(number))
            self.assertTrue(
                row.status_reason.startswith(
                    "not done in time: 3 machines still to be deleted: web-"
                ),
                row.status_reason,
            )
            for phrase in (busy, full, user):
                self.assertEqual(
                    phrase in told,
                    phrase in row.status_reason,
                    f"{number}: {row.status_reason}",
                )

    def test_machines_that_go_are_progress_with_any_reason(self) -> None:
        self.fault("volume is busy")
        self.failed()
        stays = self.server.names(kinds.OPENSTACK_SERVER)
        for fault, left in (
            ("disk is full", "2 machines still to be deleted: "),
            ("", "1 machine still to be deleted: "),
        ):
            machines = self.server.names(kinds.MACHINE)
            gone = next(each for each in machines if each not in stays)
            self.server.delete(kinds.MACHINE, base.NAMESPACE, gone)
            self.fault(fault)
            self.health_poll()
            row = self.row()
            self.assertEqual("DELETE_IN_PROGRESS", row.status, left)
            self.assertTrue(row.status_reason.startswith(left), left)
            self.failed()

    def test_when_it_moves_it_is_in_progress_with_all_its_time(self) -> None:
        self.failed()
        self.capi.drain()
        self.health_poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.assertEqual(
            "network still to be deleted", self.row().status_reason
        )
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_when_nothing_is_left_the_rows_go(self) -> None:
        self.failed()
        self.capi.finish()
        self.health_poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_asking_again_gives_it_all_its_time(self) -> None:
        self.failed()
        self.delete()
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_another_conductor_at_work_is_left_alone(self) -> None:
        self.failed()
        with self.busy():
            self.health_poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assertEqual(1, len(self.warnings()), self.warnings())
