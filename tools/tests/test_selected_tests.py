# SPDX-License-Identifier: Apache-2.0

"""A pattern of tests may select none in some folders."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import io

from oslotest import base

from tools import selected_tests


class SelectedTestsTest(base.BaseTestCase):
    def test_exit_codes_and_runs(self) -> None:
        good, bad, none = (0, True), (1, True), (1, False)
        for words, answers, code, combined in (
            ([], [good] * 4, 0, [False, True, True, True]),
            (["x"], [none, good, none, none], 0, [False, False, True, True]),
            (["x"], [none] * 4, 1, [False] * 4),
            (["x"], [bad, *[none] * 3], 1, [False, True, True, True]),
            ([], [good, none, good, good], 1, [False, True, True, True]),
        ):
            left = iter(answers)
            runs: list[bool] = []

            def start(given: Sequence[str]) -> tuple[int, bool]:
                runs.append("--combine" in given)  # noqa: B023
                return next(left)  # noqa: B023

            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(code, selected_tests.run(words, start))
            self.assertEqual(combined, runs)
