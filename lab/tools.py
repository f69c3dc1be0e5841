# SPDX-License-Identifier: Apache-2.0

"""Programs that the lab runs to their end: pip, Go, database tools, kubectl.

None of them outlives us: an interrupted step ends its programs, and where
``setpriv`` is there the kernel ends them when we are killed outright.
"""

from collections.abc import Mapping, Sequence
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

from lab import environment
from lab import errors

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()
_aborted = threading.Event()


def abort() -> None:
    """End every running program; those that would start are refused."""
    _aborted.set()
    with _lock:
        running = list(_running)
    for child in running:
        _end(child)


def check() -> None:
    """Leave a waiting loop once the run was aborted."""
    if _aborted.is_set():
        raise errors.AbortedError


def pause(seconds: float) -> None:
    """Sleep, but not past an abort."""
    if _aborted.wait(seconds):
        raise errors.AbortedError


def _end(child: subprocess.Popen[bytes]) -> None:
    """SIGINT first: Go and pip then remove their temporary files."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(2)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _bound(argv: Sequence[str]) -> list[str]:
    setpriv = shutil.which("setpriv")
    prefix = [setpriv, "--pdeathsig", "TERM"] if setpriv else []
    return [*prefix, *argv]


def run(
    argv: Sequence[str | pathlib.Path],
    *,
    log: pathlib.Path,
    env: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
    timeout: float = 1800,
    hint: str = "",
) -> None:
    """Run a program to its end; what it prints is added to the log."""
    check()
    words = [str(word) for word in argv]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        out.write(f"$ {' '.join(words)}\n".encode())
        out.flush()
        child = subprocess.Popen(
            _bound(words),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=dict(environment.inside() if env is None else env),
            cwd=cwd,
            start_new_session=True,
        )
    code = _wait(child, timeout)
    check()
    if code:
        what = "did not end in time" if code < 0 else f"ended with {code}"
        raise errors.LabError(f"{_name(words)} {what}", log=log, hint=hint)


def _name(words: Sequence[str]) -> str:
    """What a program is called: ``pip`` rather than ``python -m pip``."""
    if words[1:2] == ["-m"]:
        return words[2]
    return pathlib.Path(words[0]).name


def _wait(child: subprocess.Popen[bytes], timeout: float) -> int:
    with _lock:
        _running.add(child)
    deadline = time.monotonic() + timeout
    try:
        while child.poll() is None:
            if _aborted.wait(0.05) or time.monotonic() > deadline:
                _end(child)
        return child.returncode
    finally:
        with _lock:
            _running.discard(child)


def output(
    argv: Sequence[str | pathlib.Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
    timeout: float = 300,
) -> str:
    """What a short program prints; its complaint becomes the error."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            _bound(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=dict(environment.inside() if env is None else env),
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise errors.LabError(
            f"{' '.join(words)} did not end within {timeout:.0f} s"
        ) from None
    if done.returncode:
        complaint = done.stderr.strip()[-500:]
        raise errors.LabError(
            f"{' '.join(words)}: {complaint}",
            hint=errors.guess_hint(complaint),
        )
    return done.stdout
