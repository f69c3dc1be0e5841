# SPDX-License-Identifier: Apache-2.0

"""promtool is used where it is, fetched where it can be, or done without."""

import contextlib
import io
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from lab import layout
from lab import unpacked


class ProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        state = pathlib.Path(folder.name)
        self.program = state / "promtool" / "usr" / "bin" / "promtool"
        patch = mock.patch.object(layout, "STATE", state)
        patch.start()
        self.addCleanup(patch.stop)

    def found(self, *known: str) -> pathlib.Path | None:
        def which(name: str) -> str | None:
            return f"/usr/bin/{name}" if name in known else None

        with mock.patch.object(shutil, "which", which):
            return unpacked.Program("promtool", "prometheus").folder()

    def test_the_one_on_the_path_is_enough(self) -> None:
        self.assertIsNone(self.found("promtool"))

    def test_what_was_fetched_is_not_fetched_again(self) -> None:
        self.program.parent.mkdir(parents=True)
        self.program.touch()
        self.assertEqual(self.program.parent, self.found())

    def test_without_debian_its_tests_are_skipped(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertIsNone(self.found())
        self.assertIn("whose tests are skipped", said.getvalue())
