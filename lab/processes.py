# SPDX-License-Identifier: Apache-2.0

"""Long-running processes: start, find again, stop.

A process is known by its pid *and* its start time, both as the kernel tells
them, so that a pid which was given to another process is never signalled. The
record is written by the new process itself before it becomes the program:
whatever interrupts us, no program runs without one. A zombie counts as dead;
in a container nobody may be there to reap it.
"""

from collections.abc import Mapping, Sequence
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time

PROC = pathlib.Path("/proc")

# $0 is the record, "$@" the program. The shell keeps its pid and start time
# when it becomes the program.
_LAUNCH = (
    'read -r line </proc/$$/stat && printf "%s\\n" "$line" >"$0.new"'
    ' && mv "$0.new" "$0" && exec "$@"'
)


@dataclasses.dataclass(frozen=True)
class Identity:
    """One process for all time: clock ticks tell two equal pids apart."""

    pid: int
    ticks: int


def _parse(stat: str) -> tuple[Identity, str]:
    """The identity and the state letter out of a line of /proc/PID/stat."""
    head, _, rest = stat.rpartition(")")  # the name may hold anything
    fields = rest.split()
    return Identity(int(head.split()[0]), int(fields[19])), fields[0]


def read(record: pathlib.Path) -> Identity | None:
    """Which process a record names, running or not."""
    try:
        return _parse(record.read_text())[0]
    except (OSError, ValueError, IndexError):
        return None


def alive(identity: Identity | None, proc: pathlib.Path = PROC) -> bool:
    """Whether that very process still runs."""
    if identity is None:
        return False
    try:
        stat = (proc / str(identity.pid) / "stat").read_text()
    except OSError:
        return False
    found, state = _parse(stat)
    if found != identity:
        return False
    return state not in "ZX" or _has_living_threads(identity, proc)


def _has_living_threads(identity: Identity, proc: pathlib.Path) -> bool:
    """Whether threads outlive the main one: they still hold its ports."""
    try:
        tasks = list((proc / str(identity.pid) / "task").iterdir())
    except OSError:
        return False
    for task in tasks:
        try:
            if _parse((task / "stat").read_text())[1] not in "ZX":
                return True
        except OSError:
            continue
    return False


def spawn(
    argv: Sequence[str],
    *,
    record: pathlib.Path,
    log: pathlib.Path,
    env: Mapping[str, str],
    cwd: pathlib.Path,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; both outputs go to the log."""
    for folder in (record.parent, log.parent, cwd):
        folder.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    with log.open("ab") as out:
        return subprocess.Popen(
            ["/bin/sh", "-c", _LAUNCH, str(record), *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )


def send(identity: Identity, number: signal.Signals) -> None:
    """Signal the process and its group, if it is still the same one."""
    if alive(identity):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(identity.pid, number)


def stop(
    identity: Identity,
    *,
    first: signal.Signals = signal.SIGTERM,
    grace: float = 10.0,
) -> bool:
    """End a process; true when it went without being killed."""
    send(identity, first)
    deadline = time.monotonic() + grace
    while alive(identity):
        if time.monotonic() > deadline:
            send(identity, signal.SIGKILL)
            _wait_gone(identity)
            return False
        time.sleep(0.05)
    return True


def _wait_gone(identity: Identity) -> None:
    for _ in range(100):
        if not alive(identity):
            return
        time.sleep(0.05)
