# SPDX-License-Identifier: Apache-2.0

"""One bash for a whole page: directories, variables and masks stay."""

from __future__ import annotations

from collections.abc import Mapping
import os
import pathlib
import select
import signal
import subprocess
import time
from types import TracebackType

#: What no program prints.
_MARK = "\x1ethe command ended with"


class Shell:
    """A bash that runs one command after the other.

    :param home: a folder of its own, where it begins
    """

    def __init__(self, home: pathlib.Path, env: Mapping[str, str]) -> None:
        self._step = home / ".step"
        self._child = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-o", "pipefail"],
            cwd=home,
            env={**env, "HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                pipe.close()

    def run(self, command: str, seconds: float = 300) -> tuple[int, str]:
        """The exit code of a command, and what it printed.

        :raises TimeoutError: it has not ended; the shell is of no use then
        """
        self._step.write_text(f"{command}\n")
        script = f". '{self._step}' </dev/null; printf '\\n{_MARK} %d\\n' $?\n"
        assert self._child.stdin
        self._child.stdin.write(script.encode())
        self._child.stdin.flush()
        printed = self._read(command, time.monotonic() + seconds)
        text, _, code = printed.rpartition(f"\n{_MARK} ")
        return int(code), text

    def _read(self, command: str, deadline: float) -> str:
        assert self._child.stdout
        pipe = self._child.stdout.fileno()
        read = b""
        while not (_MARK.encode() in read and read.endswith(b"\n")):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise TimeoutError(f"{command}: {read.decode()[-2000:]}")
            more = os.read(pipe, 65536)
            if not more:
                raise RuntimeError(f"{command} ended the shell")
            read += more
        return read.decode(errors="replace")
