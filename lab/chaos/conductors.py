# SPDX-License-Identifier: Apache-2.0

"""The lab's three conductors, and what can happen to one."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import functools
import os
import re
import signal
import threading

from lab.chaos import faults
from lab.chaos import processes
from magnum_capi_helm.tests.functional import programs

NAMES = tuple(f"magnum-conductor-{number}" for number in (1, 2, 3))
#: Seconds after which a service manager starts again what died.
RESTART = 5.0
_NAME = re.compile(r"/(magnum-conductor-\d)\.conf|/(magnum)_all\.py")


class Conductors:
    """Kills and freezes those that ask a proxy.

    :param port: of the proxy, when it is needed
    """

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self._lab = threading.Lock()
        self._timers: list[threading.Timer] = []

    def kill(self, request: faults.Request) -> None:
        """SIGKILL for the conductor that asks, or whose helm asks."""
        pid, name = self.behind(request)
        if pid:
            _signal(pid, signal.SIGKILL)
            self._later(RESTART, lambda: self.start(name))

    def kill_asking(self, request: faults.Request) -> None:
        """SIGKILL for helm, where it asks; else for the conductor."""
        pid = processes.asking(request.port, self._port())
        if pid and not _NAME.search(processes.command(pid)):
            _signal(pid, signal.SIGKILL)
        else:
            self.kill(request)

    def freeze(self, seconds: float) -> Callable[[faults.Request], None]:
        """SIGSTOP for the conductor behind a request, for some time."""

        def freeze(request: faults.Request) -> None:
            pid, _ = self.behind(request)
            if pid:
                _signal(pid, signal.SIGSTOP)
                self._later(seconds, functools.partial(_wake, pid))

        return freeze

    def start(self, name: str) -> None:
        """One that died."""
        # The lab takes one order at a time.
        with self._lab:
            programs.lab("start", name)

    def recover(self) -> None:
        """Wait until all are there again."""
        timers, self._timers = self._timers, []
        for each in timers:
            each.join()

    def behind(self, request: faults.Request) -> tuple[int, str]:
        """Process and name of the conductor behind a request."""
        pid = processes.asking(request.port, self._port()) or 0
        while pid > 1:
            found = _NAME.search(processes.command(pid))
            if found:
                return pid, found[1] or found[2]
            pid = processes.parent(pid)
        return 0, ""

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, action)
        timer.start()
        self._timers.append(timer)


def _wake(pid: int) -> None:
    _signal(pid, signal.SIGCONT)


def _signal(pid: int, number: signal.Signals) -> None:
    """To all of a service, which has a manager and a worker; or of a helm."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(os.getpgid(pid), number)
