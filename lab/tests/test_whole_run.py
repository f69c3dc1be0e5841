# SPDX-License-Identifier: Apache-2.0

"""The order of ``test``, with a script in the place of each program."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from lab import layout

_SCRIPT = """\
#!/bin/sh
if test "$2" = venv; then
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/tox"
    cp "$0" "$3/bin/python"
fi
echo "${0##*/} $*" >> "$CALLS"
test "$*" = "$FAILING" && exit 1
exit 0
"""
_RUN = """
import os, sys
from lab.commands import test
sys.executable = os.environ["PROGRAM"]
os.getuid = lambda: 1000
sys.exit(test.run())
"""


class OrderTest(unittest.TestCase):
    def test_demo_comes_first_on_a_new_lab(self) -> None:
        code, calls, printed = self.run_with(failing="nothing")
        self.assertEqual(
            [
                "python -m lab wipe --keep-built",
                "python -m lab build",
                "python -m lab up",
                "python -m lab rows --keep",
                "python -m lab demo",
                "tox -e functional",
                "python -m lab rows --since",
                "python -m lab down",
            ],
            calls,
        )
        self.assertIn(
            "=== skipped: conformance; its machines need root", printed
        )
        self.assertEqual((0, "0 passed, 0 failed"), (code, printed[-1]))

    def test_run_fails_with_the_demo_and_goes_on(self) -> None:
        code, calls, printed = self.run_with(failing="-m lab demo")
        self.assertIn("tox -e functional", calls)
        self.assertEqual((1, "0 passed, 1 failed"), (code, printed[-1]))

    def test_another_command_on_the_lab_ends_the_run(self) -> None:
        code, calls, printed = self.run_with(
            failing="-m lab wipe --keep-built"
        )
        self.assertEqual(["python -m lab wipe --keep-built"], calls)
        self.assertEqual((1, "0 passed, 1 failed"), (code, printed[-1]))

    def run_with(self, failing: str) -> tuple[int, list[str], list[str]]:
        """Return exit code, calls that use a lab, and printed lines."""
        with tempfile.TemporaryDirectory() as state:
            folder = pathlib.Path(state)
            programs = folder / "venv" / "bin"
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
                    "FAILING": failing,
                    "LAB_DIR": state,
                    "PATH": f"{programs}:{os.environ['PATH']}",
                    "PROGRAM": str(programs / "python"),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            calls = (folder / "calls").read_text().splitlines()
        used = [
            call.partition(f" {state}")[0]
            for call in calls
            if call.startswith(("python -m lab", "tox -e functional"))
            and not call.endswith("--notest")
        ]
        return done.returncode, used, done.stdout.splitlines()
