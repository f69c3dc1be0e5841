# SPDX-License-Identifier: Apache-2.0

"""``cluster rollback``: its lines, and its effect with ``--apply``."""

from __future__ import annotations

import io
from typing import Any

from magnum_capi_helm.cli import cluster
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import upgrading


class RollbackCommandTest(upgrading.UpgradeTestCase):
    """On a cluster whose upgrade helm refused."""

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()

    def fail_upgrade(self) -> None:
        """An upgrade that helm refuses for good."""
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.poll()

    def rollback(self, *argv: str) -> list[dict[str, Any]]:
        """The rows that the command prints."""
        code, lines = command_case.run_json(
            cluster.Rollback, *argv, err=self.err
        )
        self.assertEqual(0, code)
        return lines

    def test_a_rollback_is_accepted_and_finished_by_polls(self) -> None:
        old = self.row().cluster_template_id
        self.fail_upgrade()
        self.rollback("web", "--apply")
        self.assertIn(": accepted\n", self.err.getvalue())
        self.settle()
        self.assertEqual(
            ("UPDATE_COMPLETE", old),
            (self.row().status, self.row().cluster_template_id),
        )

    def test_helm_is_left_to_the_polls_when_it_fails(self) -> None:
        self.fail_upgrade()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.rollback("web", "--apply")
        self.assertIn(
            ": accepted; Magnum's polls continue: ", self.err.getvalue()
        )
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_unless_it_is_told_to_apply_it_writes_nothing(self) -> None:
        self.fail_upgrade()
        before = self.snapshot()
        upgrades = len(self.helm.upgrades)
        self.rollback("web")
        self.assertIn(
            ": nothing was written: add --apply", self.err.getvalue()
        )
        self.assertEqual(before, self.snapshot())
        self.assertEqual(upgrades, len(self.helm.upgrades))

    def test_an_upgrade_stops_where_it_is(self) -> None:
        old = self.row().cluster_template_id
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.capi.settle()
        for argv in (("--stop-here",), ("--stop-here", "--apply")):
            self.rollback("web", *argv)
        text = self.err.getvalue()
        self.assertIn(": nothing was written: add --apply", text)
        self.assertIn(": accepted\n", text)
        self.settle()
        expected = {"control-plane": upgrading.NEW}
        expected["default-worker"] = upgrading.OLD
        self.assertEqual(expected, self.machines())
        row = self.row()
        done = ("UPDATE_COMPLETE", old)
        self.assertEqual(done, (row.status, row.cluster_template_id))

    def test_without_a_way_back_it_fails_with_the_reason(self) -> None:
        before = self.snapshot()
        error = self.assertRaises(
            errors.NotSupported, self.rollback, "web", "--apply"
        )
        self.assertIn("cluster web is CREATE_COMPLETE", str(error))
        self.assertEqual(before, self.snapshot())

    def test_a_cluster_that_is_not_there(self) -> None:
        self.assertRaises(errors.InvalidInput, self.rollback, "nobody")
