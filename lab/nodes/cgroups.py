# SPDX-License-Identifier: Apache-2.0

"""Control groups of machines, of version 1.

Each controller has its own hierarchy below ``/sys/fs/cgroup``. systemd also
needs the one named ``systemd``, and uses the ``unified`` one.
"""

from collections.abc import Iterable
import contextlib
import os
import pathlib
import signal
import time

_MOUNTS = pathlib.Path("/sys/fs/cgroup")
#: A new group has none of them, and then no process may enter it.
_INHERITED = ("cpuset.mems", "cpuset.cpus")
#: All machines of a lab get as much of a busy processor as so many processes
#: of the host; without it, they would get as much as one.
_SHARES = 16 * 1024
_PATIENCE = 10.0


def _hierarchies() -> Iterable[pathlib.Path]:
    return (each for each in _MOUNTS.iterdir() if each.is_dir())


def make(name: str, memory: int) -> list[pathlib.Path]:
    """Make the groups of a machine.

    :param name: two words with a slash between them
    :param memory: limit in bytes
    :returns: files to which a process writes its number to enter
    """
    found = []
    for hierarchy in _hierarchies():
        group = hierarchy
        for word in name.split("/"):
            above, group = group, group / word
            group.mkdir(exist_ok=True)
            if hierarchy.name == "cpuset":
                _inherit(above, group)
        if hierarchy.name == "cpu":
            (group.parent / "cpu.shares").write_text(str(_SHARES))
        if hierarchy.name == "memory":
            (group / "memory.limit_in_bytes").write_text(str(memory))
        found.append(group / "cgroup.procs")
    return found


def _inherit(above: pathlib.Path, group: pathlib.Path) -> None:
    for file in _INHERITED:
        if not (group / file).read_text().strip():
            (group / file).write_text((above / file).read_text())


def kill(name: str) -> None:
    """Kill all processes of a machine and wait until they are gone."""
    deadline = time.monotonic() + _PATIENCE
    while (left := _processes(name)) and time.monotonic() < deadline:
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.05)


def _processes(name: str) -> list[int]:
    group = _MOUNTS / "pids" / name
    return [
        int(line)
        for file in group.rglob("cgroup.procs")
        for line in file.read_text().split()
    ]


def remove(name: str) -> None:
    """Remove the groups of a machine that has no processes."""
    for hierarchy in _hierarchies():
        group = hierarchy / name
        for folder, _, _ in os.walk(group, topdown=False):
            pathlib.Path(folder).rmdir()
