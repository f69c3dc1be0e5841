# SPDX-License-Identifier: Apache-2.0

"""Fields that a verdict writes into Magnum's rows."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.database import status_writer
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.tests.unit.lifecycle import base


def verdict(reason: str = "", **groups: Any) -> cluster_status.Verdict:
    """A verdict; ``groups`` by name with ``_`` for ``-``."""
    return cluster_status.Verdict(
        reason=reason,
        groups={
            name.replace("_", "-"): cluster_status.GroupVerdict(
                reason=why, addresses=("192.0.2.1",)
            )
            for name, why in groups.items()
        },
        api_address="https://192.0.2.9:6443",
        coe_version="v1.34.2",
    )


class SaveTest(base.FlowTestCase):
    def test_facts_of_a_cluster_in_progress_are_saved(self) -> None:
        row = self.saved(stack_id=base.RELEASE)
        found = verdict("waiting", default_master="", default_worker="1 of 2")
        status_writer.save_facts(row, list(row.nodegroups), found)
        self.assertEqual("waiting", self.why())
        self.assertEqual("https://192.0.2.9:6443", self.row().api_address)
        groups = self.groups()
        self.assertEqual("1 of 2", groups["default-worker"].status_reason)
        self.assertEqual(
            ["192.0.2.1"], groups["default-worker"].node_addresses
        )
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())

    def test_facts_do_not_give_a_complete_cluster_a_reason(self) -> None:
        row = self.saved(stack_id=base.RELEASE, status="CREATE_COMPLETE")
        status_writer.save_facts(row, list(row.nodegroups), verdict("not now"))
        self.assertIsNone(self.why())

    def test_an_unknown_address_keeps_the_last_one(self) -> None:
        row = self.saved(
            stack_id=base.RELEASE, api_address="https://192.0.2.1:6443"
        )
        found = cluster_status.Verdict("", {}, None, None)
        status_writer.save_facts(row, list(row.nodegroups), found)
        self.assertEqual("https://192.0.2.1:6443", self.row().api_address)

    def test_complete_keeps_each_rows_own_action(self) -> None:
        row = self.saved(stack_id=base.RELEASE, status="CREATE_COMPLETE")
        for each in (row, self.groups()["default-worker"]):
            self.save(each, status="UPDATE_IN_PROGRESS")
        found = verdict(default_master="", default_worker="")
        status_writer.save_complete(row, list(row.nodegroups), found)
        groups = self.groups()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("UPDATE_COMPLETE", groups["default-worker"].status)
        self.assertEqual("CREATE_COMPLETE", groups["default-master"].status)

    def test_a_group_that_does_not_count_is_left_alone(self) -> None:
        row = self.saved(stack_id=base.RELEASE, status="UPDATE_IN_PROGRESS")
        self.nodegroup(row, name="refused", status="CREATE_FAILED")
        found = verdict(default_master="", default_worker="")
        status_writer.save_complete(row, list(row.nodegroups), found)
        self.assertEqual("CREATE_FAILED", self.groups()["refused"].status)

    def test_failed_tells_each_group_its_own_reason(self) -> None:
        row = self.saved(stack_id=base.RELEASE)
        found = verdict("all", default_master="", default_worker="no host")
        status_writer.save_failed(
            row, list(row.nodegroups), "too late: all", found
        )
        groups = self.groups()
        self.assertEqual("CREATE_FAILED", self.row().status)
        self.assertEqual("too late: all", self.why())
        self.assertEqual("CREATE_COMPLETE", groups["default-master"].status)
        self.assertEqual("CREATE_FAILED", groups["default-worker"].status)
        self.assertEqual("no host", groups["default-worker"].status_reason)

    def test_unchanged_facts_are_not_saved(self) -> None:
        row = self.saved(stack_id=base.RELEASE)
        found = verdict("waiting", default_master="", default_worker="x")
        status_writer.save_facts(row, list(row.nodegroups), found)
        with self.saves() as saved:
            status_writer.save_facts(
                self.row(), list(self.groups().values()), found
            )
        self.assertEqual([], saved)

    def test_the_outcome_is_shown_and_will_not_be_saved_again(self) -> None:
        handed_in = self.saved(stack_id=base.RELEASE)
        row = self.row()
        status_writer.save_reason(row, "because")
        status_writer.copy_outcome(row, handed_in)
        self.assertEqual("because", handed_in.status_reason)
        self.assertEqual(set(), handed_in.obj_what_changed())
