# SPDX-License-Identifier: Apache-2.0

"""No write for a cluster that somebody else may work on by now.

A conductor may stand still between any two of its lines: its machine is
paused, or starved. Its Lease runs out meanwhile and another conductor goes
on; when it wakes up, its next write is one too many. So what writes asks here
first, in the block that holds a Lease and in threads started from it
(:class:`magnum_capi_helm.model.timing.Threads`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import contextvars

_confirm: contextvars.ContextVar[Callable[[], None] | None]
_confirm = contextvars.ContextVar("confirm", default=None)
_lost: contextvars.ContextVar[Callable[[], bool]]
_lost = contextvars.ContextVar("lost", default=lambda: False)


def check() -> None:
    """Refuse to go on without the Lease of the block around, if any.

    :raises LeaseLost: somebody else has it by now
    :raises ManagementError: nobody can say who has it
    """
    confirm = _confirm.get()
    if confirm is not None:
        confirm()


def lost() -> Callable[[], bool]:
    """What says whether the Lease of the block around is known to be lost.

    For whoever watches a program from a thread of its own. It asks nobody.
    """
    return _lost.get()


@contextlib.contextmanager
def around(
    confirm: Callable[[], None] | None,
    lost: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Ask ``confirm`` before each write in the block.

    :param confirm: raises unless the Lease is held; None: ask nobody
    :param lost: whether it is known that ``confirm`` would raise
    """
    confirming, losing = _confirm.set(confirm), _lost.set(lost)
    try:
        yield
    finally:
        _lost.reset(losing)
        _confirm.reset(confirming)
