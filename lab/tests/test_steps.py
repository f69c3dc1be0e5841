# SPDX-License-Identifier: Apache-2.0

"""Steps run in order, and the first failure is the one that is told."""

import io
import pathlib
import tempfile
import unittest
from unittest import mock

from lab import errors
from lab import layout
from lab import progress
from lab import steps
from lab import tools


def _fail(say: steps.Say) -> None:
    raise errors.LabError("port 1 is in use")


def _break(say: steps.Say) -> None:
    raise KeyError("ours")


class StepsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.done: list[str] = []
        patch = mock.patch.object(tools, "abort")
        self.abort = patch.start()
        self.addCleanup(patch.stop)

    def step(
        self, name: str, *needs: str, action: steps.Action | None = None
    ) -> steps.Step:
        def note(say: steps.Say) -> None:
            self.done.append(name)

        return steps.Step(name, action or note, frozenset(needs))

    def run_all(self, *todo: steps.Step) -> None:
        steps.run(todo, progress.Board(io.StringIO(), len(todo)))

    def test_needs_come_first(self) -> None:
        self.run_all(self.step("c", "b"), self.step("b", "a"), self.step("a"))
        self.assertEqual(["a", "b", "c"], self.done)
        self.abort.assert_not_called()

    def test_a_need_that_is_not_to_do_counts_as_done(self) -> None:
        self.run_all(self.step("b", "a"))
        self.assertEqual(["b"], self.done)

    def test_nothing_starts_after_a_failure(self) -> None:
        failing = self.step("a", action=_fail)
        with self.assertRaises(steps.StepError) as caught:
            self.run_all(failing, self.step("b", "a"))
        self.assertEqual("a: port 1 is in use", str(caught.exception))
        self.assertEqual([], self.done)
        self.abort.assert_called_once_with()

    def test_a_mistake_of_ours_becomes_one_line(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(layout, "LOGS", pathlib.Path(folder)),
            self.assertRaises(steps.StepError) as caught,
        ):
            self.run_all(self.step("a", action=_break))
        self.assertEqual("a: KeyError: 'ours'", str(caught.exception))


class ToolsTest(unittest.TestCase):
    def test_a_complaint_is_passed_on(self) -> None:
        with self.assertRaisesRegex(errors.LabError, "no such thing"):
            tools.output(["sh", "-c", "echo no such thing >&2; exit 3"])

    def test_what_it_prints_is_returned(self) -> None:
        self.assertEqual("hello\n", tools.output(["echo", "hello"]))
