# SPDX-License-Identifier: Apache-2.0

"""The actor of the current action, for logs and for helm's history.

Magnum's handlers, the operator's command line and the polls begin an action.
The code that runs in it, also in threads of
:class:`magnum_capi_helm.model.timing.Threads`, reads the actor here. helm
stores it in the description of each revision.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
from typing import Any

from oslo_log import log

LOG = log.getLogger(__name__)

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


def current() -> Actor | None:
    """Return the actor of this thread, if there is one."""
    return _actor.get()


@contextlib.contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Run the block for an actor."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


@contextlib.contextmanager
def requested(action: str, context: Any, uuid: str) -> Iterator[None]:
    """Run the block for the user of a request, and log the outcome.

    :param context: Magnum's context, with the user of the token
    :param uuid: of the cluster
    """
    actor = Actor(
        action,
        user=str(context.user_id or ""),
        project=str(context.project_id or ""),
        request=str(context.request_id or ""),
    )
    with acting(actor), logged(f"cluster {uuid}"):
        yield


@contextlib.contextmanager
def logged(subject: str) -> Iterator[None]:
    """Log the actor of a change, and whether it was accepted."""
    became = "refused"
    try:
        yield
        became = "accepted"
    finally:
        LOG.info("audit: %s: %s: %s", subject, became, current())


def _line(text: str) -> str:
    """Return the text without characters that begin another line."""
    plain = "".join(each if each.isprintable() else "?" for each in text)
    return plain[:_LONGEST]
