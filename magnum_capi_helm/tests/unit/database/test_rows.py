# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows: groups, statuses and requests."""

from __future__ import annotations

import types

from magnum_capi_helm.database import rows
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class ReadTest(base.FlowTestCase):
    def test_rows_are_read_as_plain_data(self) -> None:
        row = self.saved(stack_id=base.RELEASE)
        wanted, nodegroups = rows.read(row)
        self.assertEqual(base.UUID, wanted.uuid)
        self.assertEqual(base.RELEASE, wanted.release)
        self.assertEqual({"default-worker": 2}, wanted.counts())
        assert wanted.master is not None
        self.assertEqual(1, wanted.master.count)
        self.assertEqual(2, len(nodegroups))

    def test_an_incomplete_taint_keeps_no_poll_from_reading(self) -> None:
        group = types.SimpleNamespace(
            uuid="u-1",
            name="gpu",
            role="worker",
            status="CREATE_COMPLETE",
            is_default=False,
            stack_id=base.RELEASE,
            node_count=1,
            flavor_id="f",
            image_id="i",
            min_node_count=0,
            max_node_count=None,
            node_taints=[{"value": "yes"}],
        )
        self.assertEqual(
            (("", "yes", ""),), rows.group(group, base.RELEASE).node_taints
        )

    def test_images_of_the_templates_that_a_project_sees(self) -> None:
        others = {"project_id": "theirs"}
        for image, fields in (
            ("own", {}),
            ("own-hidden", {"hidden": True}),
            ("public", {**others, "public": True}),
            ("private", others),
            ("hidden", {**others, "public": True, "hidden": True}),
            ("of-heat", {"driver": "k8s_fedora_coreos_v1"}),
        ):
            self.template(image_id=image, **fields)
        seen = rows.template_images(openstack.PROJECT)
        self.assertEqual(["own", "own-hidden", "public"], sorted(seen))

    def test_which_groups_are_part_of_a_cluster(self) -> None:
        row = self.saved(stack_id=base.RELEASE, status="CREATE_COMPLETE")
        for name, fields, expected in (
            ("complete", {"status": "CREATE_COMPLETE"}, True),
            ("updating", {"status": "UPDATE_IN_PROGRESS"}, True),
            ("failed", {"status": "UPDATE_FAILED"}, True),
            ("refused", {"status": "CREATE_FAILED"}, False),
            ("asked", {"status": "CREATE_IN_PROGRESS"}, False),
            ("going", {"status": "DELETE_IN_PROGRESS"}, False),
            (
                "accepted",
                {"status": "CREATE_IN_PROGRESS", "stack_id": base.RELEASE},
                True,
            ),
        ):
            group = self.nodegroup(row, name=name, **fields)
            self.assertEqual(expected, rows.is_member(group), name)
        # The default groups count even if the create failed.
        self.save(row, status="CREATE_FAILED")
        for each in ("default-master", "default-worker"):
            group = self.groups()[each]
            self.save(group, status="CREATE_FAILED")
            self.assertTrue(rows.is_member(group), each)

    def test_a_cluster_whose_control_plane_leaves_is_doomed(self) -> None:
        self.saved(stack_id=base.RELEASE)
        groups = self.groups()
        for name, expected in (
            ("default-worker", False),
            ("default-master", True),
        ):
            self.save(groups[name], status="DELETE_IN_PROGRESS")
            self.assertEqual(expected, rows.doomed(groups.values()), name)

    def test_a_row_that_is_gone_is_none(self) -> None:
        row = self.saved()
        self.assertIsNotNone(rows.fresh(self.admin, row))
        row.destroy()
        self.assertIsNone(rows.fresh(self.admin, row))


class StatusTest(base.FlowTestCase):
    def test_the_action_is_the_first_word_of_the_status(self) -> None:
        for status, expected in (
            (None, "CREATE"),
            ("CREATE_FAILED", "CREATE"),
            ("UPDATE_IN_PROGRESS", "UPDATE"),
            ("DELETE_COMPLETE", "DELETE"),
            ("ROLLBACK_COMPLETE", "ROLLBACK"),
        ):
            self.assertEqual(expected, rows.action(status))

    def test_the_last_words_of_a_status_are_read(self) -> None:
        self.assertTrue(rows.in_progress("UPDATE_IN_PROGRESS"))
        self.assertFalse(rows.in_progress("UPDATE_FAILED"))
        self.assertTrue(rows.failed("UPDATE_FAILED"))
        self.assertFalse(rows.failed(None))
