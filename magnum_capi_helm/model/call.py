# SPDX-License-Identifier: Apache-2.0

"""The current call: its actor and its Lease.

Magnum's handlers, the operator's command line and the polls begin a call. The
code that runs in it, also in the :class:`Threads` that it starts, reads both
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
import contextlib
import contextvars
import dataclasses
from typing import Any, TypeVar

from oslo_log import log

from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

T = TypeVar("T")


# The actor, for logs and for helm's history: helm stores it in the
# description of each revision.

#: Characters of one part: clients may send more.
_LONGEST = 64


@dataclasses.dataclass(frozen=True)
class Actor:
    """The user or the part of the driver that began an action.

    :param action: ``resize``, ``cluster apply``, ``status poll``...
    :param user: ID of the user, or of the operator's shell; empty: the driver
    :param project: ID of the project that the request was made in
    :param request: ID of the request, as in the logs of all services
    """

    action: str
    user: str = ""
    project: str = ""
    request: str = ""

    def __str__(self) -> str:
        """Return one line without control characters."""
        details = [
            f"{name} {_line(value)}"
            for name, value in vars(self).items()
            if value and name != "action"
        ]
        return ", ".join([_line(self.action), *details])


_actor: contextvars.ContextVar[Actor | None]
_actor = contextvars.ContextVar("actor", default=None)


def actor() -> Actor | None:
    """Return the actor of this thread, if there is one."""
    return _actor.get()


@contextlib.contextmanager
def acting(by: Actor | None) -> Iterator[None]:
    """Run the block for an actor, who holds no Lease yet."""
    token = _actor.set(by)
    try:
        with lease_guard(_refuse):
            yield
    finally:
        _actor.reset(token)


@contextlib.contextmanager
def requested(action: str, context: Any, uuid: str) -> Iterator[None]:
    """Run the block for the user of a request, and log the outcome.

    :param context: Magnum's context, with the user of the token
    :param uuid: of the cluster
    """
    by = Actor(
        action,
        user=str(context.user_id or ""),
        project=str(context.project_id or ""),
        request=str(context.request_id or ""),
    )
    with acting(by), logged(f"cluster {uuid}"):
        yield


@contextlib.contextmanager
def logged(subject: str) -> Iterator[None]:
    """Log the actor of a change, and whether it was accepted."""
    became = "refused"
    try:
        yield
        became = "accepted"
    finally:
        LOG.info("audit: %s: %s: %s", subject, became, actor())


def _line(text: str) -> str:
    """Return the text without characters that begin another line."""
    plain = "".join(each if each.isprintable() else "?" for each in text)
    return plain[:_LONGEST]


class Threads(futures.ThreadPoolExecutor):
    """Threads that know the actor and the Lease of the call."""

    def submit(
        self, function: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> futures.Future[T]:
        """Run the function with the context of the caller."""
        context = contextvars.copy_context()
        return super().submit(context.run, function, *args, **kwargs)


# The Lease. A conductor may be paused between any two lines. If its Lease
# expires, another conductor takes over, and the next write of the first one
# would be wrong. Every writer therefore calls check_lease() first. Writes
# without the Lease are refused, but for the few that say why they need none.


def _refuse() -> None:
    raise errors.LeaseMissing("the driver writes nothing without the Lease")


def _allow() -> None:
    pass


#: The two functions of :func:`lease_guard`.
_guard: contextvars.ContextVar[tuple[Callable[[], None], Callable[[], bool]]]
_guard = contextvars.ContextVar("guard", default=(_refuse, lambda: False))


def check_lease() -> None:
    """Refuse to write without the Lease.

    :raises LeaseMissing: this call has never held it
    :raises LeaseLost: another conductor has it now
    :raises ManagementError: the Lease can't be read
    """
    _guard.get()[0]()


def lease_lost() -> Callable[[], bool]:
    """Return a function that returns whether the Lease is known to be lost.

    It sends no request, so a thread that watches helm can call it often.
    """
    return _guard.get()[1]


@contextlib.contextmanager
def lease_guard(
    confirm: Callable[[], None],
    lost: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Call ``confirm`` before each write in the block.

    :param confirm: raises unless the Lease is held
    :param lost: returns whether ``confirm`` is known to raise
    """
    token = _guard.set((confirm, lost))
    try:
        yield
    finally:
        _guard.reset(token)


@contextlib.contextmanager
def without_lease(_why: str) -> Iterator[None]:
    """Let the block write without the Lease.

    A call that holds the Lease confirms it before each write all the same.

    :param _why: why the block harms no work of another conductor
    """
    confirm, lost = _guard.get()
    with lease_guard(_allow if confirm is _refuse else confirm, lost):
        yield
