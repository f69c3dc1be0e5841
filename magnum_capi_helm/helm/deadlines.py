# SPDX-License-Identifier: Apache-2.0

"""An end to programs that do not find one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time

from magnum_capi_helm.model import lease_guard

#: Seconds between asking a program to end and ending it.
_PATIENCE = 10
#: Seconds between two looks whether the Lease is lost.
_LOOK = 0.5


class Deadline:
    """Ends a process, and all that it started, when its time is over.

    Its time is over, too, when another conductor has taken the Lease of the
    block around: two programs would write for one cluster.

    A thread and not ``communicate(timeout=)``: under eventlet that raises a
    class of its own that no ``except`` here would know.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], seconds: float
    ) -> None:
        self._process = process
        self.seconds = seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        # The watching thread has no context of the block.
        self._lost = lease_guard.lost()
        self.expired = False
        self.lost = False

    def __enter__(self) -> Deadline:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        if self._process.poll() is None:
            # The caller was interrupted: no helm is left behind.
            self._signal(signal.SIGKILL)

    def _watch(self) -> None:
        over = time.monotonic() + self.seconds
        while not (self.expired or self.lost):
            left = over - time.monotonic()
            if self._done.wait(max(0.0, min(left, _LOOK))):
                return
            self.lost = self._lost()
            self.expired = time.monotonic() >= over
        self._signal(signal.SIGTERM)
        if not self._done.wait(_PATIENCE):
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
