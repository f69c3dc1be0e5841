# SPDX-License-Identifier: Apache-2.0

"""Who asked for what this thread does: for logs, and for helm's history.

Magnum's handlers, the operator's command line and the polls begin an action;
what runs in it, in threads of
:class:`magnum_capi_helm.model.timing.Threads` too, asks for it. A
revision of helm says in its description who it is for.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
from typing import Any

from oslo_log import log

LOG = log.getLogger(__name__)

#: Characters of one part: what clients send has no limit of its own.
_LONGEST = 64


@dataclasses.dataclass(frozen=True)
class Actor:
    """Who asked, and for what.

    :param action: ``resize``, ``rollout``, ``status poll``...
    :param user: ID of the user, or of the operator's shell; empty: the driver
    :param project: ID of the project that the request was made in
    :param request: ID of the request, as in the logs of all services
    """

    action: str
    user: str = ""
    project: str = ""
    request: str = ""

    def __str__(self) -> str:
        """One line without control characters, as short as can be."""
        parts = {
            "user": self.user,
            "project": self.project,
            "request": self.request,
        }
        known = [f"{name} {_line(v)}" for name, v in parts.items() if v]
        return ", ".join([_line(self.action), *known])


_actor: contextvars.ContextVar[Actor | None]
_actor = contextvars.ContextVar("actor", default=None)


def current() -> Actor | None:
    """Who asked; None: nobody said."""
    return _actor.get()


@contextlib.contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """What is done in the block, is done for ``actor``."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


@contextlib.contextmanager
def requested(action: str, context: Any, uuid: str) -> Iterator[None]:
    """A request of Magnum's: acting, and a line of what became of it.

    :param context: Magnum's, of whom the token is
    :param uuid: of the cluster
    """
    actor = Actor(
        action,
        user=str(context.user_id or ""),
        project=str(context.project_id or ""),
        request=str(context.request_id or ""),
    )
    with acting(actor), noted(uuid):
        yield


@contextlib.contextmanager
def noted(uuid: str) -> Iterator[None]:
    """Log who did what to a cluster, and whether it was accepted."""
    with told(f"cluster {uuid}"):
        yield


@contextlib.contextmanager
def told(subject: str) -> Iterator[None]:
    """As :func:`noted`, of something else than a cluster."""
    became = "refused"
    try:
        yield
        became = "accepted"
    finally:
        LOG.info("audit: %s: %s: %s", subject, became, current())


def _line(text: str) -> str:
    """Nothing that would begin another line of a log."""
    plain = "".join(each if each.isprintable() else "?" for each in text)
    return plain[:_LONGEST]
