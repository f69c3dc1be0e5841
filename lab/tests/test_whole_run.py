# SPDX-License-Identifier: Apache-2.0

"""``lab test`` runs all tests on a new lab, and fails with each of them."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys

import yaml

from lab import layout
from lab.tests import base
from magnum_capi_helm.tests import functional

_COMMON = pathlib.Path(functional.__file__).parent
#: It stands for each program.
_SCRIPT = """\
#!/bin/sh
if test "$2" = venv; then
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/tox"
    cp "$0" "$3/bin/python"
fi
echo "${0##*/} $*" >> "$CALLS"
test "$*" = "-m lab demo" && exit 1
exit 0
"""
_RUN = """
import os, sys
from lab.commands import test
sys.executable = os.environ["PROGRAM"]
os.getuid = lambda: 1000
sys.exit(test.run())
"""


class WholeRunTest(base.LabCase):
    def test_a_demo_that_fails_fails_the_run_and_ends_nothing(self) -> None:
        state, programs = self.folder, self.folder / "venv" / "bin"
        programs.mkdir(parents=True)
        # The last two would be fetched from Debian.
        for name in ("python", "promtool", "docker-registry"):
            (programs / name).write_text(_SCRIPT)
            (programs / name).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", _RUN],
            cwd=layout.CHECKOUT,
            env={
                **os.environ,
                "CALLS": f"{state}/calls",
                "LAB_DIR": str(state),
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PROGRAM": str(programs / "python"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        used = (state / "calls").read_text()
        for later in ("-e functional", "-m lab rows --since", "-m lab down"):
            self.assertIn(later, used.partition("-m lab demo")[2])
        printed = done.stdout.splitlines()
        self.assertIn(
            "=== skipped: conformance; its machines need root", printed
        )
        self.assertEqual("0 passed, 1 failed", printed[-1])
        self.assertEqual(1, done.returncode)

    def test_each_class_of_functional_tests_is_in_one_list(self) -> None:
        for folder in (_COMMON, _COMMON / "further"):
            lists = yaml.safe_load((folder / "workers.yaml").read_text())
            listed = [each for one in lists for each in one["worker"]]
            found = {
                f"{path.stem}.{item.name}"
                for path in folder.glob("test_*.py")
                for item in ast.parse(path.read_text()).body
                if isinstance(item, ast.ClassDef)
                and "\n    def test_" in f"\n{ast.unparse(item)}"
            }
            self.assertGreater(len(found), 8)
            for name in found:
                hits = [each for each in listed if re.search(each, name)]
                self.assertEqual(1, len(hits), name)
