# SPDX-License-Identifier: Apache-2.0

"""Virtual environments that see nothing of the checkout."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

#: Of one program: pip may wait for the index, and install all that Magnum
#: needs.
_SECONDS = 2400
#: Variables of the environment that runs the tests, and of a user's Ansible.
_OURS = ("ANSIBLE_", "PYTHON", "VIRTUAL_ENV")


class Environment:
    """A virtual environment.

    :param folder: where it is made, unless it is there; also where its
        programs run
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.share = folder / "venv" / "share"
        if not self.bin.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self.run(sys.executable, "-m", "venv", "venv")

    def run(
        self,
        *command: object,
        folder: pathlib.Path | None = None,
        code: int = 0,
    ) -> str:
        """Run a program of the environment or another one; return its output.

        :param folder: where it runs instead
        :raises AssertionError: it ended with another code; what it said is
            in the message
        """
        folder = folder or self.folder
        env = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
        env |= {
            "ANSIBLE_HOME": str(folder / "ansible"),
            "ANSIBLE_REMOTE_TMP": str(folder / "ansible"),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{self.bin}:{env['PATH']}",
            "PYTHONWARNINGS": "ignore",
        }
        done = subprocess.run(
            [*map(str, command)],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        if done.returncode != code:
            raise AssertionError(
                f"{command} ended with {done.returncode}:\n"
                f"{done.stdout}\n{done.stderr}"
            )
        return done.stdout

    def pip(self, *words: object) -> None:
        """Run pip."""
        self.run("python", "-m", "pip", "-q", *words)
