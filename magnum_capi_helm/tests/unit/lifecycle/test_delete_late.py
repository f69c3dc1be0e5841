# SPDX-License-Identifier: Apache-2.0

"""Polls and requests that began before another conductor's delete ended."""

from __future__ import annotations

from typing import Any
from unittest import mock

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import delete
from magnum_capi_helm.lifecycle import poll_status
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting


class LateDeleteTest(deleting.DeletionTestCase):
    """A poll that began before another conductor's ended the deletion."""

    def setUp(self) -> None:
        super().setUp()
        self.created()
        self.delete()
        self.capi.finish()

    def made(self) -> list[str]:
        """Objects that were made since the last look."""
        found = [
            f"{each.kind} {each.name}"
            for each in self.management.requests
            if each.verb in ("create", "apply")
        ]
        self.management.requests.clear()
        return found

    def operation(self, row: Any) -> cluster_operation.Operation:
        return cluster_operation.Operation(self.admin, row, runtime.get())

    def test_a_late_poll_finds_no_row_and_sends_nothing(self) -> None:
        late = self.row()
        self.poll()
        self.management.requests.clear()
        self.assertEqual("", delete.step(self.operation(late)))
        self.assertEqual([], self.management.requests)

    def test_a_late_poll_makes_no_lease(self) -> None:
        ascertain = identity.verify

        def slow(*given: Any) -> bool:
            found = ascertain(*given)
            with mock.patch.object(identity, "verify", ascertain):
                self.poll()
            self.made()
            return found

        with mock.patch.object(identity, "verify", slow):
            self.poll()
        self.assertEqual([], self.made())
        self.assertTrue(self.gone())
        self.assertEqual([], self.warnings())

    def test_a_late_poll_removes_no_row_again(self) -> None:
        late = self.row()
        step = delete.step

        def quicker(*given: Any) -> Any:
            self.poll_of(step)
            return step(*given)

        with mock.patch.object(delete, "step", quicker):
            self.driver.update_cluster_status(self.admin, late)
        self.assertEqual("DELETE_IN_PROGRESS", late.status)

    def test_an_error_of_a_late_poll_needs_no_row(self) -> None:
        def fail(*_: Any) -> str:
            self.poll_of(step)
            raise errors.ManagementUnreachable("no answer")

        step = delete.step
        late = self.row()
        with mock.patch.object(delete, "step", fail):
            self.driver.update_cluster_status(self.admin, late)
        self.assertTrue(self.gone())

    def test_a_poll_makes_no_lease_before_the_row_goes(self) -> None:
        row = self.row()
        self.assertEqual("", delete.step(self.operation(row)))
        self.assertEqual({}, self.remains())
        self.made()
        self.assertEqual("", delete.step(self.operation(row)))
        self.assertEqual([], self.made())
        self.poll()
        self.assertTrue(self.gone())

    def test_a_late_health_poll_does_nothing(self) -> None:
        late = self.row()
        self.poll()
        poll_status.resume_deletion(
            cluster_operation.Operation(self.admin, late, runtime.get())
        )
        self.assertEqual({}, self.remains())

    def poll_of(self, step: Any) -> None:
        """A poll of another conductor."""
        with mock.patch.object(delete, "step", step):
            self.poll()


class LateUpdateTest(deleting.DeletionTestCase):
    """A request or poll that took the Lease when the cluster was gone."""

    def setUp(self) -> None:
        super().setUp()
        self.created()

    def lose(self, *found: Any) -> None:
        """The cluster goes, and its Lease before it.

        :param found: what the row is before, each time it is read
        """
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.patch(rows, "fresh", mock.Mock(side_effect=found))

    def tearDown(self) -> None:
        self.assertEqual([], self.server.names(kinds.LEASE))
        super().tearDown()

    def test_a_late_status_poll_writes_nothing(self) -> None:
        self.resize(3)
        self.lose(self.row(), None)
        self.poll()

    def test_a_late_resize_writes_nothing(self) -> None:
        self.lose(self.row(), None)
        self.resize(3)

    def test_a_late_change_of_a_nodegroup_writes_nothing(self) -> None:
        self.lose(self.row(), None)
        self.change("default-worker", max_node_count=5)
