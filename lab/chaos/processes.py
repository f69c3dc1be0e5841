# SPDX-License-Identifier: Apache-2.0

"""Who sent a request: processes of this machine, by their sockets."""

from __future__ import annotations

import contextlib
import pathlib

_PROC = pathlib.Path("/proc")


def asking(port: int, server: int) -> int | None:
    """The process at the client's end of a connection.

    :param port: the client's
    :param server: the port that it is connected to
    """
    socket = _socket(port, server)
    if socket is None:
        return None
    for process in _PROC.glob("[0-9]*"):
        # What ends meanwhile does not ask.
        with contextlib.suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                if str(descriptor.readlink()) == socket:
                    return int(process.name)
    return None


def _socket(port: int, server: int) -> str | None:
    """How the kernel calls a connection of loopback."""
    for line in (_PROC / "net" / "tcp").read_text().splitlines()[1:]:
        words = line.split()
        local, remote = (int(each.split(":")[1], 16) for each in words[1:3])
        if (local, remote) == (port, server):
            return f"socket:[{words[9]}]"
    return None


def command(pid: int) -> str:
    """What it was started with; empty for one that has ended."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return words.replace(b"\0", b" ").decode(errors="replace")


def parent(pid: int) -> int:
    """Who started it; 0 for one that has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0
    # The name before it may have spaces and parentheses.
    return int(stat.rpartition(")")[2].split()[1])


def running(words: str) -> list[int]:
    """Processes whose command has these words."""
    every = (int(each.name) for each in _PROC.glob("[0-9]*"))
    return [pid for pid in every if words in command(pid)]


def helms(words: str) -> list[int]:
    """helm processes whose command has these words."""
    return [pid for pid in running(words) if command(pid).startswith("helm ")]
