# SPDX-License-Identifier: Apache-2.0

"""What the lab does on machines that developers rarely have."""

import os
import sys
from unittest import mock

from lab import debian
from lab import errors
from lab import processes
from lab import virtualenv
from lab.tests import base


class RareTest(base.LabCase):
    def test_a_user_is_told_which_packages_root_installs(self) -> None:
        self.replace(os, "getuid", lambda: 1000)
        with self.assertRaises(errors.LabError) as caught:
            debian.install(["mariadb-server"])
        self.assertIn("apt-get install -y", caught.exception.hint)
        with (
            mock.patch.dict(sys.modules, {"ensurepip": None}),
            self.assertRaises(errors.LabError) as caught,
        ):
            virtualenv.create(self.folder / "venv", self.folder / "log")
        self.assertIn("-venv", caught.exception.hint)

    def test_a_reused_pid_is_not_signalled(self) -> None:
        record = self.folder / "sleeper.pid"
        child = processes.spawn(
            ["sleep", "60"],
            record=record,
            log=self.folder / "log",
            env=os.environ,
            cwd=self.folder,
        )
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        while (found := processes.read(record)) is None:
            child.poll()
        earlier = processes.Identity(found.pid, found.ticks - 1)
        self.assertFalse(processes.alive(earlier))
        self.assertTrue(processes.stop(earlier))
        self.assertIsNone(child.poll())
        # A name with brackets is read, and nobody is named by half a record.
        rest = " ".join(["S", *["0"] * 18, "4711", "0"])
        record.write_text(f"12 (a) b (c)) {rest}\n")
        self.assertEqual(processes.Identity(12, 4711), processes.read(record))
        record.write_text("12")
        self.assertIsNone(processes.read(record))
