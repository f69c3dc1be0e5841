# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
