# SPDX-License-Identifier: Apache-2.0

"""One command at a time may change a lab.

The lock is the kernel's (flock), so it can't be left behind by a process that
was killed. It is handed on through ``execve`` when the lab moves into its
virtual environment.
"""

import fcntl
import os

from lab import errors
from lab import layout

_HANDED_ON = "LAB_LOCK_FD"


def take(command: str) -> int:
    """Hold the lock until this process ends, or say who holds it."""
    inherited = os.environ.pop(_HANDED_ON, "")
    if inherited:
        return int(inherited)
    layout.LOCK.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(layout.LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(descriptor, 200).decode(errors="replace").strip()
        os.close(descriptor)
        raise errors.LabError(
            f"another command is changing this lab: {holder or 'unknown'}",
            hint="Wait until it has ended, or end it, then try again.",
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"'lab {command}', pid {os.getpid()}\n".encode())
    return descriptor


def release(descriptor: int) -> None:
    """Let the next command in before this process ends."""
    os.close(descriptor)


def handed_on(descriptor: int) -> dict[str, str]:
    """What to put into the environment of the program we turn into."""
    os.set_inheritable(descriptor, True)
    return {_HANDED_ON: str(descriptor)}
