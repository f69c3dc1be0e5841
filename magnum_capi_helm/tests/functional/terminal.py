# SPDX-License-Identifier: Apache-2.0
"""A command on a terminal: what it draws there, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

#: What colours and weights of type look like.
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_INTERRUPT = b"\x03"


class Terminal:
    """Runs one command, until it is closed.

    :param words: the program's path, and its arguments
    :param size: lines and columns
    """

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        size: tuple[int, int] = (40, 79),
    ) -> None:
        size_ = struct.pack("HHHH", *size, 0, 0)
        given = {**os.environ, **env, "TERM": "xterm-256color"}
        # An operator's shell has none; libraries' warnings would be drawn.
        given.pop("PYTHONWARNINGS", None)
        self._pid, self._mine = pty.fork()
        if not self._pid:
            # What runs in the background of a shell ignores it.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size_)
            os.execve(words[0], list(words), given)  # noqa: S606
        self._code: int | None = None
        self._text = ""

    @property
    def text(self) -> str:
        """All that was written so far, without colours."""
        self._read(0.0)
        return _STYLE.sub("", self._text).replace("\r\n", "\n")

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.write(self._mine, _INTERRUPT)

    def ended(self, seconds: float) -> int:
        """Its exit code; it has to end by then."""
        deadline = time.monotonic() + seconds
        while not self._over():
            if time.monotonic() > deadline:
                raise AssertionError(f"it goes on: {self.text}")
            self._read(0.1)
        self._read(0.0)
        assert self._code is not None
        return self._code

    def _over(self) -> bool:
        if self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code is not None

    def close(self) -> None:
        """Whatever it does, it ends."""
        if not self._over():
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._mine)

    def _read(self, seconds: float) -> None:
        while select.select([self._mine], [], [], seconds)[0]:
            try:
                data = os.read(self._mine, 65536)
            except OSError:
                # Nobody has the other end any more.
                return
            if not data:
                return
            self._text += data.decode(errors="replace")
