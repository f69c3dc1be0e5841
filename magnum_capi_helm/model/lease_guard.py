# SPDX-License-Identifier: Apache-2.0

"""Confirm the Lease before each write.

A conductor may be paused between any two lines. If its Lease expires, another
conductor takes over, and the next write of the first one would be wrong. Every
writer therefore calls :func:`check` first, in the block that holds the Lease
and in threads started from it
(:class:`magnum_capi_helm.model.timing.Threads`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import contextvars

#: The two functions of :func:`around`.
_guard: contextvars.ContextVar[
    tuple[Callable[[], None] | None, Callable[[], bool]]
]
_guard = contextvars.ContextVar("guard", default=(None, lambda: False))


def check() -> None:
    """Refuse to go on without the Lease of the block around, if any.

    :raises LeaseLost: another conductor has it now
    :raises ManagementError: the Lease can't be read
    """
    confirm = _guard.get()[0]
    if confirm is not None:
        confirm()


def lost() -> Callable[[], bool]:
    """Return a function that returns whether the Lease is known to be lost.

    It sends no request, so a thread that watches helm can call it often.
    """
    return _guard.get()[1]


@contextlib.contextmanager
def around(
    confirm: Callable[[], None] | None,
    lost: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Call ``confirm`` before each write in the block.

    :param confirm: raises unless the Lease is held; None: no check
    :param lost: returns whether ``confirm`` is known to raise
    """
    token = _guard.set((confirm, lost))
    try:
        yield
    finally:
        _guard.reset(token)
