# SPDX-License-Identifier: Apache-2.0

"""Measure what a driver costs in a process: hooks, threads, TLS.

Everything is counted in the same way for each driver, whatever it is made of.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import pathlib
import re
import resource
import ssl
import threading
import time
from typing import Any, NamedTuple

_PROC = pathlib.Path("/proc/self")


class Call(NamedTuple):
    """One call of a hook: monotonic seconds, CPU of its thread, its end."""

    started: float
    ended: float
    cpu: float
    failed: bool


class Meter:
    """Counts in this process, between :meth:`begin` and :meth:`end`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()
        self._calls: list[Call] = []
        self._handshakes = 0
        self._helpers: list[threading.Thread] = []
        self._helped = 0.0
        self._before: dict[str, float] = {}
        self._watch_threads()
        self._watch_handshakes()

    def hook(
        self, owner: Any, name: str, after: Callable[..., None] | None = None
    ) -> None:
        """Time a method of a class from now on.

        :param after: is shown what the method was called with
        """
        method = getattr(owner, name)

        @functools.wraps(method)
        def timed(*args: Any, **options: Any) -> Any:
            started, cpu = time.monotonic(), time.thread_time()
            self._here.hook = failed = True
            try:
                answer = method(*args, **options)
                failed = False
                return answer
            finally:
                self._here.hook = False
                cpu = time.thread_time() - cpu
                call = Call(started, time.monotonic(), cpu, failed)
                with self._lock:
                    self._calls.append(call)
                if after:
                    after(*args)

        setattr(owner, name, timed)

    def begin(self) -> None:
        """Start from zero."""
        # 5: forget the peak of resident memory (proc(5), clear_refs).
        (_PROC / "clear_refs").write_text("5")
        with self._lock:
            self._calls.clear()
        self._before = self._totals()

    def end(self) -> dict[str, float]:
        """Return the cost since :meth:`begin`, in seconds and kB."""
        after = self._totals()
        found = {key: after[key] - self._before[key] for key in after}
        with self._lock:
            calls = list(self._calls)
        found["hook_calls"] = len(calls)
        found["hook_failures"] = sum(each.failed for each in calls)
        found["hook_cpu"] = sum(each.cpu for each in calls)
        first = min((each.started for each in calls), default=0.0)
        last = max((each.ended for each in calls), default=0.0)
        found["hook_wall"] = last - first
        found["own_cpu"] = (
            found["hook_cpu"] + found["helper_cpu"] + found["children_cpu"]
        )
        status = (_PROC / "status").read_text()
        (peak,) = re.findall(r"^VmHWM:\s+(\d+)", status, re.MULTILINE)
        found["peak_kb"] = float(peak)
        return found

    def _totals(self) -> dict[str, float]:
        own = resource.getrusage(resource.RUSAGE_SELF)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "process_cpu": own.ru_utime + own.ru_stime,
            "children_cpu": children.ru_utime + children.ru_stime,
            "helper_cpu": self._helper_cpu(),
            "handshakes": self._handshakes,
        }

    def _helper_cpu(self) -> float:
        """CPU of threads that a hook, or a thread of one, has started."""
        with self._lock:
            self._helpers = [each for each in self._helpers if each.is_alive()]
            return self._helped + sum(map(_cpu, self._helpers))

    def _watch_threads(self) -> None:
        start = threading.Thread.start

        def watched(thread: threading.Thread) -> None:
            if getattr(self._here, "hook", False):
                self._adopt(thread)
            start(thread)

        threading.Thread.start = watched  # type: ignore[assignment, method-assign]

    def _adopt(self, thread: threading.Thread) -> None:
        run = thread.run

        def measured() -> None:
            self._here.hook = True
            try:
                run()
            finally:
                with self._lock:
                    self._helped += time.thread_time()
                    if thread in self._helpers:
                        self._helpers.remove(thread)

        thread.run = measured  # type: ignore[method-assign]
        with self._lock:
            self._helpers.append(thread)

    def _watch_handshakes(self) -> None:
        shake = ssl.SSLSocket.do_handshake

        def counted(sock: ssl.SSLSocket, block: bool = False) -> None:
            with self._lock:
                self._handshakes += 1
            shake(sock, block)

        ssl.SSLSocket.do_handshake = counted  # type: ignore[assignment, method-assign]


def _cpu(thread: threading.Thread) -> float:
    if thread.ident is None:
        return 0.0
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    except OSError:
        return 0.0
