# SPDX-License-Identifier: Apache-2.0

"""``describe --watch``: when another tree is drawn, and what ends it."""

from __future__ import annotations

import re
from typing import Any

import fixtures

from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import described


class WatchTest(described.DescribeTestCase):
    def nothing(self) -> None:
        """Time passes."""

    def fail_one(self) -> None:
        """A machine is lost."""
        self.capi.fail_machine("default-worker")

    def test_another_tree_only_when_something_changed(self) -> None:
        code = self.describe(
            "--watch", meanwhile=(self.nothing, self.fail_one, self.nothing)
        )
        self.assertEqual(2, self.printed().count("cluster web"))
        self.assertEqual(1, code)
        self.assertNotIn("\x1b", self.printed())

    def test_ctrl_c_ends_it_with_the_code_of_the_last_look(self) -> None:
        self.assertEqual(0, self.describe("--watch"))
        self.assertEqual(described.WELL, self.printed())

    def test_a_terminal_is_brought_up_to_date_in_place(self) -> None:
        self.out = described.Terminal()
        self.assertEqual(
            1, self.describe("--watch", meanwhile=(self.fail_one,))
        )
        self.assertIn("\x1b[", self.printed())
        self.assertIn("No valid host", self.printed())

    def test_what_is_well_is_folded_where_the_terminal_is_too_low(
        self,
    ) -> None:
        self.set_size(columns=200, lines=12)
        self.describe("--watch", meanwhile=(self.fail_one,))
        first, last = self.plain().split("cluster web", 2)[1:]
        self.assertNotIn("Machine R-default-worker-m0", first)
        self.assertIn("Cluster R (https://203.0.113.10:6443): ready", first)
        self.assertNotIn("OpenStackCluster R", first)
        self.assertIn("OpenStackCluster R", last)
        self.assertNotIn("Machine R-control-plane-m0", last)
        self.assertIn("No valid host", last)

    def test_a_terminal_gets_lines_as_long_as_it_is_wide(self) -> None:
        self.set_size(columns=60, lines=100)
        self.describe()
        lines = self.plain().splitlines()
        self.assertLess(21, len(lines))
        self.assertEqual([], [each for each in lines if len(each) > 60])

    def plain(self) -> str:
        """What came out, without weights of type."""
        return re.sub(r"\x1b\[\d+m", "", self.printed())

    def set_size(self, columns: int, lines: int) -> None:
        """The output is a terminal of that size, without colours."""
        self.out = described.Terminal()
        for name, value in (
            ("COLUMNS", str(columns)),
            ("LINES", str(lines)),
            ("NO_COLOR", "1"),
            ("TERM", "xterm"),
        ):
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def test_a_look_that_fails_is_told_and_does_not_end_it(self) -> None:
        code = self.describe(
            "--watch",
            meanwhile=(self.management.unreachable, self.management.recover),
        )
        self.assertEqual(0, code)
        self.assertIn("cluster web: unknown: ", self.printed())
        self.assertEqual(3, self.printed().count("cluster web"))

    def test_a_look_that_fails_is_an_error_without_it(self) -> None:
        self.management.unreachable()
        self.assertRaises(errors.ManagementUnreachable, self.describe)

    def test_it_ends_when_the_cluster_is_gone(self) -> None:
        def go() -> None:
            for each in self.groups().values():
                each.destroy()
            self.row().destroy()

        self.assertEqual(0, self.describe("--watch", meanwhile=(go,)))
        self.assertEqual("web is gone\n", self.err.getvalue())

    def test_a_credential_that_works_is_tried_once(self) -> None:
        self.describe("--watch", meanwhile=(self.nothing, self.nothing))
        self.assertEqual(1, self.logins())

    def logins(self) -> int:
        """How often Keystone was asked for a token by a credential."""
        bodies: list[dict[str, Any]] = [
            each.json()
            for each in self.openstack.mocker.request_history
            if each.method == "POST" and "auth/tokens" in each.url
        ]
        return sum(
            "application_credential" in each["auth"]["identity"]["methods"]
            for each in bodies
        )
