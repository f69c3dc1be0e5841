# SPDX-License-Identifier: Apache-2.0

"""A pattern of tests may select none in some folders."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import io

from oslotest import base

from tools import selected_tests


class _Stestr:
    """Answers in turn, and notes whether a run adds to one before."""

    def __init__(self, answers: Sequence[tuple[int, bool]]) -> None:
        self._answers = iter(answers)
        self.runs: list[str] = []

    def run(self, words: Sequence[str]) -> tuple[int, bool]:
        self.runs.append("more" if "--combine" in words else "first")
        return next(self._answers)


class SelectedTestsTest(base.BaseTestCase):
    def test_exit_codes_and_runs(self) -> None:
        good, bad, none = (0, True), (1, True), (1, False)
        for words, answers, code, runs in (
            ([], [good] * 4, 0, ["first", "more", "more", "more"]),
            (["x"], [good, *[none] * 3], 0, ["first", *["more"] * 3]),
            (
                ["x"],
                [none, good, none, none],
                0,
                ["first", "first", "more", "more"],
            ),
            (["x"], [none] * 4, 1, ["first"] * 4),
            (["x"], [bad, *[none] * 3], 1, ["first", *["more"] * 3]),
            ([], [good, none, good, good], 1, ["first", *["more"] * 3]),
        ):
            stestr = _Stestr(answers)
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(code, selected_tests.run(words, stestr.run))
            self.assertEqual(runs, stestr.runs)
