# SPDX-License-Identifier: Apache-2.0

"""Keys end with the process, however it ends."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from magnum_capi_helm.kubernetes import kubeconfig

_KILLED = """
import os, signal
from magnum_capi_helm.kubernetes import kubeconfig
files = kubeconfig.MemoryFiles()
print(open(files.write("key", b"hunter2")).read(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class FilesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.files = kubeconfig.MemoryFiles()

    def test_a_file_has_its_content_and_its_owner(self) -> None:
        path = self.files.write("key", b"hunter2")
        self.assertEqual("hunter2", pathlib.Path(path).read_text())
        self.assertEqual(0o100600, os.stat(path).st_mode)
        self.assertNotIn("key", path)

    def test_children_do_not_inherit_it(self) -> None:
        path = self.files.write("key", b"hunter2")
        number = int(path.rpartition("/")[2])
        self.assertFalse(os.get_inheritable(number))
        child = [sys.executable, "-c", f"import os; os.fstat({number})"]
        done = subprocess.run(
            child, close_fds=False, capture_output=True, check=False
        )
        self.assertIn(b"Bad file descriptor", done.stderr)

    def test_a_file_goes_when_forgotten_or_with_its_owner(self) -> None:
        paths = [self.files.write("key", b"") for _ in range(3)]
        self.files.forget([paths[0], "/etc/passwd", "/proc/self/fd/1"])
        self.assertEqual(
            [False, True, True], [os.path.exists(each) for each in paths]
        )
        os.fstat(1)
        del self.files
        gc.collect()
        self.assertEqual([], [each for each in paths if os.path.exists(each)])

    def test_a_killed_process_leaves_none(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", _KILLED],
                env={**os.environ, "TMPDIR": folder},
                capture_output=True,
                check=False,
            )
            self.assertEqual(b"hunter2\n", done.stdout)
            self.assertEqual(-signal.SIGKILL, done.returncode)
            self.assertEqual([], os.listdir(folder))
