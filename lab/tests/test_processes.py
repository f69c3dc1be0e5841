# SPDX-License-Identifier: Apache-2.0

"""Processes are never confused with others that got their pid."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from lab import processes


class ProcessTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.record = self.folder / "sleeper.pid"

    def spawn(self, *argv: str) -> subprocess.Popen[bytes]:
        child = processes.spawn(
            argv,
            record=self.record,
            log=self.folder / "log",
            env=os.environ,
            cwd=self.folder,
        )
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def identity(self) -> processes.Identity:
        for _ in range(200):
            found = processes.read(self.record)
            if found is not None:
                return found
            time.sleep(0.01)
        raise AssertionError("no record was written")

    def test_the_record_names_the_program_itself(self) -> None:
        child = self.spawn("sleep", "60")
        identity = self.identity()
        self.assertEqual(child.pid, identity.pid)
        self.assertTrue(processes.alive(identity))

    def test_a_stopped_process_is_dead_though_a_zombie(self) -> None:
        child = self.spawn("sleep", "60")
        self.assertTrue(processes.stop(self.identity()))
        self.assertFalse(processes.alive(self.identity()))
        self.assertIsNone(child.returncode)  # nobody has reaped it

    def test_who_does_not_go_is_killed_after_a_grace(self) -> None:
        self.spawn("sh", "-c", "trap '' TERM; echo ready; sleep 60")
        log = self.folder / "log"
        while not log.exists() or b"ready" not in log.read_bytes():
            time.sleep(0.01)
        self.assertFalse(processes.stop(self.identity(), grace=0.1))
        self.assertFalse(processes.alive(self.identity()))

    def test_a_reused_pid_is_not_signalled(self) -> None:
        child = self.spawn("sleep", "60")
        real = self.identity()
        earlier = processes.Identity(real.pid, real.ticks - 1)
        self.assertFalse(processes.alive(earlier))
        processes.send(earlier, signal.SIGKILL)
        self.assertTrue(processes.stop(earlier))
        self.assertIsNone(child.poll())

    def test_a_damaged_record_names_nobody(self) -> None:
        self.record.write_text("12")
        self.assertIsNone(processes.read(self.record))
        self.assertFalse(processes.alive(None))

    def test_a_name_with_brackets_is_read(self) -> None:
        rest = " ".join(["S", *["0"] * 18, "4711", "0"])
        self.record.write_text(f"12 (a) b (c)) {rest}\n")
        self.assertEqual(
            processes.Identity(12, 4711), processes.read(self.record)
        )
