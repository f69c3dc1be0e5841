# SPDX-License-Identifier: Apache-2.0

"""Who listens on a port, read from /proc: no tool has to be installed."""

import dataclasses
import os
import pathlib

_PROC = pathlib.Path("/proc")
_LISTEN = "0A"


@dataclasses.dataclass(frozen=True)
class Owner:
    """A process that listens; pid 0 when it belongs to another user."""

    pid: int
    command: str

    def __str__(self) -> str:
        if not self.pid:
            return "a process of another user"
        return f"process {self.pid} ({self.command})"


def _listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on the port."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            field = line.split()
            if field[3] == _LISTEN and int(field[1][-4:], 16) == port:
                inodes.add(field[9])
    return inodes


def _holds(process: pathlib.Path, links: set[str]) -> bool:
    try:
        return any(
            os.readlink(descriptor) in links
            for descriptor in (process / "fd").iterdir()
        )
    except OSError:
        return False


def owner(port: int) -> Owner | None:
    """The process that listens on a TCP port of this machine, if any."""
    inodes = _listening(port)
    if not inodes:
        return None
    links = {f"socket:[{inode}]" for inode in inodes}
    for process in _PROC.iterdir():
        if process.name.isdigit() and _holds(process, links):
            words = (process / "cmdline").read_bytes().split(b"\0")
            command = b" ".join(words).decode(errors="replace").strip()
            return Owner(int(process.name), command[:60])
    return Owner(0, "")
