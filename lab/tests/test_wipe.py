# SPDX-License-Identifier: Apache-2.0

"""What ``wipe`` deletes."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from lab import layout

BUILT = ["bin/etcd", "stamps/program-etcd", "venv/bin/nova-api"]
USED = [
    "cloud/nova/nova.conf",
    "etcd/member/wal",
    "kubeconfig",
    "postgres/data/base",
    "second/etcd/member/wal",
    "stamps/filled-compute",
    "with-nodes",
]


class WipeTest(unittest.TestCase):
    def test_a_new_cloud_begins_with_what_was_built(self) -> None:
        for option, left in ((["--keep-built"], BUILT), ([], [])):
            with self.subTest(option), tempfile.TemporaryDirectory() as state:
                folder = pathlib.Path(state)
                for path in (*BUILT, *USED):
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).touch()
                done = subprocess.run(
                    [sys.executable, "-m", "lab", "wipe", *option],
                    cwd=layout.CHECKOUT,
                    env={**os.environ, "LAB_DIR": state},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                rest = "Only what was built" if option else "Nothing"
                self.assertEqual(
                    "The lab is down: 0 services stopped.\n"
                    f"{rest} is left in {folder.resolve()}.\n",
                    done.stdout,
                )
                found = folder.rglob("*")
                files = [path for path in found if path.is_file()]
                self.assertEqual(
                    sorted(["lock", *left]),
                    sorted(str(path.relative_to(folder)) for path in files),
                )
