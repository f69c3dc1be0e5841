# SPDX-License-Identifier: Apache-2.0

"""``describe --watch``: when another tree is drawn, and what ends it."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import io
import os
import re
import signal
import time
from typing import Any

import fixtures
from rich import live_render

from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import described

#: A tree takes the place of the one before it.
_CLEARED = re.compile(r"\r\x1b\[2K(?:\x1b\[1A\x1b\[2K)+")


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

    def test_ctrl_c_ends_it_also_where_the_exception_goes_nowhere(
        self,
    ) -> None:
        def press() -> None:
            with contextlib.suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)

        self.handled_by(signal.default_int_handler)
        for kind in (io.StringIO, described.Terminal):
            self.out = kind()
            more = (press, self.fail_one, self.nothing)
            self.assertEqual(0, self.describe("--watch", meanwhile=more))
            self.assertNotIn("No valid host", self.printed())
        self.assertIs(
            signal.default_int_handler, signal.getsignal(signal.SIGINT)
        )

    def test_ctrl_c_never_leaves_a_tree_half_drawn(self) -> None:
        self.handled_by(signal.default_int_handler)
        self.set_size(columns=80, lines=60)
        self.pressed_in_frame(2)
        more = (self.fail_one, self.nothing)
        self.assertEqual(1, self.describe("--watch", meanwhile=more))
        drawn = _CLEARED.split(self.printed())
        heights = [each.strip().count("\n") for each in drawn]
        cleared = _CLEARED.findall(self.printed())
        self.assertEqual(
            heights[:-1], [each.count("\x1b[1A") for each in cleared]
        )
        self.assertLess(heights[0], heights[-1])

    def pressed_in_frame(self, number: int) -> None:
        """Ctrl-C comes between what rich computes and what it writes."""
        real = live_render.LiveRender.__rich_console__
        left = list(range(number))

        def render(*args: Any) -> Iterator[Any]:
            yield from real(*args)
            if left and not left.pop():
                os.kill(os.getpid(), signal.SIGINT)

        self.useFixture(
            fixtures.MonkeyPatch(
                "rich.live_render.LiveRender.__rich_console__", render
            )
        )

    def test_in_the_background_of_a_shell_ctrl_c_is_for_others(self) -> None:
        self.handled_by(signal.SIG_IGN)

        def press() -> None:
            os.kill(os.getpid(), signal.SIGINT)

        self.describe("--watch", meanwhile=(press, self.fail_one))
        self.assertIn("No valid host", self.printed())

    def handled_by(self, handler: Any) -> None:
        """What becomes of Ctrl-C, before the command begins."""
        before = signal.signal(signal.SIGINT, handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

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
