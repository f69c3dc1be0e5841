# SPDX-License-Identifier: Apache-2.0

"""Progress: live lines on a terminal, one line per event without one."""

import dataclasses
import os
import shutil
import sys
import threading
import time

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def duration(seconds: float) -> str:
    """Short and of constant precision: 0.4s, 12.3s, 4m05s."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02d}s"


@dataclasses.dataclass
class _Line:
    number: int
    started: float
    detail: str = ""


class Board:
    """The steps that run now, and a counter of those that have ended.

    Thread-safe: steps report from their own threads. On a terminal somebody
    must call :meth:`tick` now and then to keep the clocks running. With a
    total of 0 the steps are not numbered.
    """

    def __init__(self, total: int) -> None:
        self._stream = sys.stdout
        self._live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._total = total
        self._next = 1
        self._lines: dict[str, _Line] = {}
        self._drawn = 0
        self._lock = threading.RLock()

    def begin(self, name: str) -> None:
        """A step starts."""
        with self._lock:
            self._lines[name] = _Line(self._next, time.monotonic())
            self._next += 1
            self.tick()

    def say(self, name: str, detail: str) -> None:
        """A running step tells what it is at."""
        with self._lock:
            line = self._lines[name]
            line.detail = detail
            if not self._live:
                took = duration(time.monotonic() - line.started)
                self._print(f"{self._head(line)}{name} {took} {detail}")
            self.tick()

    def end(self, name: str, mark: str = "✓") -> None:
        """A step is done, or has failed when the mark says so."""
        with self._lock:
            line = self._lines.pop(name)
            took = duration(time.monotonic() - line.started)
            self._print(f"{self._head(line)}{mark} {name} {took}")
            self.tick()

    def tick(self) -> None:
        """Draw the running steps anew."""
        if not self._live:
            return
        with self._lock:
            self._erase()
            width = shutil.get_terminal_size().columns
            now = time.monotonic()
            spinner = _SPINNER[int(now * 10) % len(_SPINNER)]
            for name, line in self._lines.items():
                took = duration(now - line.started)
                text = (
                    f"{self._head(line)}{spinner} {name} {took} {line.detail}"
                )
                self._stream.write(text[: width - 1] + "\n")
            self._drawn = len(self._lines)
            self._stream.flush()

    def _head(self, line: _Line) -> str:
        if not self._total:
            return ""
        digits = len(str(self._total))
        return f"[{line.number:{digits}}/{self._total}] "

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _print(self, text: str) -> None:
        if self._live:
            self._erase()
        self._stream.write(text + "\n")
        self._stream.flush()
