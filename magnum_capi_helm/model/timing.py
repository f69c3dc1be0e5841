# SPDX-License-Identifier: Apache-2.0

"""The waiting times of an operation: for helm, OpenStack and Kubernetes.

Code that waits uses :func:`waiting`, and :func:`measured` adds the times of a
block up. Parallel waits count once: for helm before OpenStack, and for
OpenStack before the management cluster. The rest is the driver's own time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
import contextlib
import contextvars
import time
from typing import Any, TypeVar

T = TypeVar("T")

HELM = "helm"
OPENSTACK = "OpenStack"
MANAGEMENT = "management cluster"

#: Units of the counts. Parallel waits count for the first of these.
_UNITS = {HELM: "processes", OPENSTACK: "requests", MANAGEMENT: "requests"}


class Spent:
    """The waiting times of one operation since it began."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        # Several threads append to it; for a list this is safe.
        self._waits: list[tuple[str, float, float]] = []

    def add(self, what: str, began: float, ended: float) -> None:
        """Add a wait, in monotonic seconds."""
        self._waits.append((what, began, ended))

    def __str__(self) -> str:
        waits = list(self._waits)
        whole = time.monotonic() - self._began
        parts = []
        counted_waits: list[tuple[float, float]] = []
        counted = 0.0
        for what, unit in _UNITS.items():
            mine = [(began, ended) for by, began, ended in waits if by == what]
            counted_waits += mine
            share = covered(counted_waits) - counted
            counted += share
            parts.append(f"{what} {share:.3f} s ({len(mine)} {unit})")
        return ", ".join([f"driver {whole - counted:.3f} s", *parts])


def covered(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of intervals."""
    length, end = 0.0, float("-inf")
    for began, ended in sorted(intervals):
        length += max(0.0, ended - max(began, end))
        end = max(end, ended)
    return length


_measured: contextvars.ContextVar[Spent | None] = contextvars.ContextVar(
    "measured", default=None
)


@contextlib.contextmanager
def measured() -> Iterator[Spent]:
    """Measure the block, and the :class:`Threads` that it starts.

    A block inside another one goes on with its measure.
    """
    if inherited := _measured.get():
        yield inherited
        return
    spent = Spent()
    token = _measured.set(spent)
    try:
        yield spent
    finally:
        _measured.reset(token)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Count the time of the block as waiting."""
    spent = _measured.get()
    began = time.monotonic()
    try:
        yield
    finally:
        if spent is not None:
            spent.add(what, began, time.monotonic())


class Threads(futures.ThreadPoolExecutor):
    """Threads whose waiting times count for the operation that starts them."""

    def submit(
        self, function: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> futures.Future[T]:
        """Run the function with the context of the caller."""
        context = contextvars.copy_context()
        return super().submit(context.run, function, *args, **kwargs)
