# SPDX-License-Identifier: Apache-2.0

"""What is missing is said before anything is built."""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

from lab import errors
from lab import layout
from lab import programs
from lab import virtualenv


class MissingTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def patch(self, target: object, name: str, value: object) -> None:
        patch = mock.patch.object(target, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_user_is_told_how_to_get_virtual_environments(self) -> None:
        self.patch(os, "getuid", lambda: 1000)
        with (
            mock.patch.dict(sys.modules, {"ensurepip": None}),
            self.assertRaises(errors.LabError) as caught,
        ):
            virtualenv.create(self.folder / "venv", self.folder / "log")
        major, minor = sys.version_info[:2]
        self.assertEqual(
            f"sudo apt-get install -y python{major}.{minor}-venv",
            caught.exception.hint,
        )

    def test_a_full_disk_is_noticed_before_the_build(self) -> None:
        self.patch(layout, "STATE", self.folder)
        full = mock.Mock(free=10**9)
        self.patch(shutil, "disk_usage", lambda path: full)
        with self.assertRaisesRegex(errors.LabError, "0.9 GB free"):
            programs.build(lambda detail: None)

    def test_an_environment_of_another_python_is_not_used(self) -> None:
        pip = self.folder / "bin" / "pip"
        pip.parent.mkdir()
        pip.touch()
        settings = self.folder / "pyvenv.cfg"
        made: list[object] = []
        self.patch(virtualenv.tools, "run", lambda argv, **_: made.append(1))
        major, minor = sys.version_info[:2]
        settings.write_text(f"home = /usr/bin\nversion = {major}.{minor}.9\n")
        virtualenv.create(self.folder, self.folder / "log")
        self.assertEqual([], made)
        settings.write_text(f"version = {major}.{minor + 1}.0\n")
        virtualenv.create(self.folder, self.folder / "log")
        self.assertEqual([1], made)
