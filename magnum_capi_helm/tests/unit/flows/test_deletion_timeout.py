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

"""A deletion that takes too long says so, and goes on all the same."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.tests.unit.flows import base

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

    def test_it_fails_with_what_it_waits_for(self) -> None:
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

    def test_what_refuses_it_is_the_reason(self) -> None:
        self.overdue()
        self.management.fail(
            exceptions.ManagementError("refused (403)"),
            verbs=["get"],
            kind=kinds.CLUSTER,
        )
        self.poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assertEqual(
            "not done in time: deletion waits: refused (403)",
            self.row().status_reason,
        )

    def test_while_nothing_moves_it_stays_failed(self) -> None:
        self.failed()
        for _ in range(2):
            self.health_poll()
            self.assertEqual("DELETE_FAILED", self.row().status)

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
