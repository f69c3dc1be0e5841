# SPDX-License-Identifier: Apache-2.0

"""Two commands never change one lab at a time."""

import os
import pathlib
import tempfile
import unittest

from lab import errors
from lab import lock


class LockTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "state" / "lock"

    def test_the_second_one_is_told_who_holds_it(self) -> None:
        held = lock.take("up", self.path)
        self.addCleanup(os.close, held)
        with self.assertRaisesRegex(
            errors.LabError, f"'lab up', pid {os.getpid()}"
        ):
            lock.take("down", self.path)

    def test_it_may_be_taken_again_after_its_release(self) -> None:
        lock.release(lock.take("up", self.path))
        lock.release(lock.take("down", self.path))
        text = self.path.read_text()
        self.assertEqual(f"'lab down', pid {os.getpid()}\n", text)
