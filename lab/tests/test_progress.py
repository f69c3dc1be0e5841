# SPDX-License-Identifier: Apache-2.0

"""What progress looks like without a terminal."""

import io
import unittest

from lab import progress


class Clock:
    """Time that passes only when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class PlainBoardTest(unittest.TestCase):
    def setUp(self) -> None:
        self.out = io.StringIO()
        self.clock = Clock()

    def board(self, total: int) -> progress.Board:
        return progress.Board(self.out, total, clock=self.clock)

    def test_a_step_is_one_line_when_it_has_ended(self) -> None:
        board = self.board(12)
        board.begin("etcd")
        board.tick()
        self.assertEqual("", self.out.getvalue())
        self.clock.now = 2.04
        board.end("etcd")
        self.assertEqual("[ 1/12] ✓ etcd 2.0s\n", self.out.getvalue())

    def test_a_long_step_tells_what_it_is_at(self) -> None:
        board = self.board(2)
        board.begin("packages")
        board.begin("programs")
        self.clock.now = 72
        board.say("programs", "4/10 kubectl")
        board.end("programs", "✗")
        self.assertEqual(
            "[2/2] programs 1m12s 4/10 kubectl\n[2/2] ✗ programs 1m12s\n",
            self.out.getvalue(),
        )

    def test_no_control_characters_reach_a_file(self) -> None:
        board = self.board(0)
        board.begin("create")
        board.say("create", "CREATE_IN_PROGRESS")
        board.end("create")
        self.assertNotIn("\x1b", self.out.getvalue())
        self.assertNotIn("[", self.out.getvalue())


class DurationTest(unittest.TestCase):
    def test_seconds_and_minutes(self) -> None:
        shown = [progress.duration(s) for s in (0.04, 59.94, 60, 245)]
        self.assertEqual(["0.0s", "59.9s", "1m00s", "4m05s"], shown)
