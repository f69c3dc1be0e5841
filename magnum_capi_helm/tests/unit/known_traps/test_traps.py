# SPDX-License-Identifier: Apache-2.0

"""Traps that no other test is about."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm.tests.unit.lifecycle import base


class UpgradeTest(base.FlowTestCase):
    """B9."""

    def test_an_upgrade_that_is_refused_has_changed_no_row(self) -> None:
        """B9: all is looked at before the first write."""
        self.complete()
        before = [self.row().as_dict()]
        before += [each.as_dict() for each in self.groups().values()]
        new = self.template(image_id="no-such-image")
        group = self.groups()["default-worker"]
        self.assertRaises(
            exception.NotSupported,
            self.handler.cluster_upgrade,
            self.context,
            self.row(),
            new,
            1,
            group,
        )
        after = [self.row().as_dict()]
        after += [each.as_dict() for each in self.groups().values()]
        self.assertEqual(before, after)
        self.assertEqual(1, len(self.helm.upgrades))


class HalfMadeTest(base.FlowTestCase):
    """M7."""

    def test_a_cluster_without_workers_is_deleted(self) -> None:
        """M7: Magnum died between the rows of its two default groups."""
        self.saved()
        self.groups()["default-worker"].destroy()
        self.poll()
        self.health_poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.delete()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
