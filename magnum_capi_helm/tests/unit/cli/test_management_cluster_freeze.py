# SPDX-License-Identifier: Apache-2.0

"""``management-cluster freeze`` and ``thaw``: output and effect."""

from __future__ import annotations

import io
from typing import Any

import fixtures

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class Freeze(management_cluster.Freeze):
    """Without a pause between two looks."""

    pause = 0.0


class CommandsTest(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        # What another process knows is too old at once.
        self.useFixture(
            fixtures.MonkeyPatch(f"{maintenance.__name__}.AGE", 0.0)
        )

    def run_command(
        self, kind: type, *argv: str
    ) -> tuple[int, list[dict[str, Any]]]:
        return command_case.run_json(kind, *argv, err=self.err)

    def frozen(self) -> bool:
        found = self.server.get(kinds.NAMESPACE, "", "kube-system") or {}
        return maintenance.parsed(found).freeze is not None

    def test_unless_told_to_apply_it_writes_nothing(self) -> None:
        self.complete()
        with self.busy():
            code, [line] = self.run_command(Freeze, "--reason", "etcd moves")
        self.assertEqual((0, False), (code, self.frozen()))
        self.assertEqual(
            ("open", "", base.RELEASE),
            (line["State"], line["Reason"], line["Still at work"]),
        )
        self.assertIn("add --apply to freeze it", self.err.getvalue())

    def test_freeze_shows_that_all_is_quiet(self) -> None:
        code, [line] = self.run_command(
            Freeze, "--reason", "etcd moves", "--apply"
        )
        self.assertEqual((0, True), (code, self.frozen()))
        self.assertRegex(line.pop("Since"), r"^20\d\d-\d\d-\d\dT.*\+00:00$")
        self.assertEqual(
            {
                "Management cluster": "",
                "State": "frozen",
                "By": commands.operator("freeze").user,
                "Reason": "etcd moves",
                "Still at work": "nobody",
            },
            line,
        )

    def test_freeze_waits_for_work_under_way(self) -> None:
        self.complete()
        looks = []

        def look() -> None:
            """The third look finds the Lease given back."""
            looks.append(1)
            if len(looks) == 5:
                idle = {"spec": {"holderIdentity": ""}}
                self.edit(kinds.LEASE, base.RELEASE, idle)

        with self.busy():
            self.management.before = look
            code, [line] = self.run_command(
                Freeze, "--reason", "etcd moves", "--apply"
            )
        self.assertEqual((0, "nobody"), (code, line["Still at work"]))
        self.assertEqual(
            f"still at work: {base.RELEASE}\nstill at work: nobody\n",
            self.err.getvalue(),
        )

    def test_a_reason_is_needed_before_anything_is_asked(self) -> None:
        self.assertRaises(
            errors.InvalidInput, self.run_command, Freeze, "--reason", " "
        )
        self.assertEqual([], self.management.requests)

    def test_the_log_says_who_began_and_ended_a_maintenance(self) -> None:
        reason = ("--reason", "etcd moves")
        for kind, argv, state, frozen in (
            (Freeze, reason, "open", False),
            (Freeze, (*reason, "--apply"), "frozen", True),
            (management_cluster.Thaw, (), "frozen", True),
            (management_cluster.Thaw, ("--apply",), "open", False),
            (management_cluster.Thaw, ("--apply",), "open", False),
        ):
            code, [line] = self.run_command(kind, *argv)
            self.assertEqual(
                (0, state, frozen), (code, line["State"], self.frozen())
            )
        who = commands.operator("freeze").user
        self.assertEqual(
            [
                f"management cluster: accepted: {action}, user {who}"
                for action in ("freeze", "thaw", "thaw")
            ],
            self.audited(),
        )

    def audited(self) -> list[str]:
        lines = self.log.output.splitlines()
        return [
            each.partition("audit: ")[2] for each in lines if "audit: " in each
        ]

    def test_a_maintenance_that_could_not_begin_is_in_the_log(self) -> None:
        who = commands.operator("freeze").user
        logged = []
        for verb, kind, became in (
            # Leases are listed once it is frozen.
            ("list", kinds.LEASE, "accepted"),
            ("patch", kinds.NAMESPACE, "refused"),
        ):
            error = errors.ManagementError(f"may not {verb} (403)")
            self.fails(verb, kind, error=error)
            order = ("--reason", "x", "--apply")
            self.assertRaises(
                errors.ManagementError, self.run_command, Freeze, *order
            )
            logged.append(f"management cluster: {became}: freeze, user {who}")
            self.assertEqual(logged, self.audited())
            self.management.recover()


class SeveralTest(placing.LocationTestCase):
    run_command = CommandsTest.run_command

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()

    def test_thaw_needs_the_name_of_one_of_several(self) -> None:
        error = self.assertRaises(
            errors.InvalidInput, self.run_command, management_cluster.Thaw
        )
        self.assertEqual("give --management-cluster, one of a, b", str(error))
        self.assertRaises(
            errors.NotConfigured,
            self.run_command,
            management_cluster.Thaw,
            "--management-cluster",
            "c",
        )
        words = ("--management-cluster", "b", "--apply")
        _, [line] = self.run_command(management_cluster.Thaw, *words)
        self.assertEqual("b", line["Management cluster"])
        self.assertIn(
            "audit: management cluster b: accepted: thaw", self.log.output
        )
