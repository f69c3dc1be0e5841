# SPDX-License-Identifier: Apache-2.0

"""What can happen to a request on its way to an API, and to its answer."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import json
import time


@dataclasses.dataclass(frozen=True)
class Request:
    """What a client asked.

    :param path: with the query
    :param port: the client's end of the connection
    """

    method: str
    path: str
    body: bytes
    port: int


@dataclasses.dataclass(frozen=True)
class Answer:
    """What it is told.

    :param sent: bytes of the body that get through before the connection is
        cut; None: all
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    sent: int | None = None


class Cut(Exception):
    """The connection is cut before the answer."""


Forward = Callable[[], Answer]
Fault = Callable[[Request, Forward], Answer]


def delayed(seconds: float) -> Fault:
    """The request arrives late."""

    def fault(_: Request, forward: Forward) -> Answer:
        time.sleep(seconds)
        return forward()

    return fault


def lost(_: Request, forward: Forward) -> Answer:
    """The request never arrives."""
    raise Cut


def unanswered(_: Request, forward: Forward) -> Answer:
    """The request is served, and nobody is told."""
    forward()
    raise Cut


def truncated(_: Request, forward: Forward) -> Answer:
    """The request is served, and half of the answer arrives."""
    answer = forward()
    return dataclasses.replace(answer, sent=len(answer.body) // 2)


#: As Kubernetes words them.
_REFUSALS = {
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "a fault forbids it"),
    409: ("Conflict", "the object has been modified; please try again"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try "
        "again later",
    ),
    500: ("InternalError", "Internal error occurred: a fault"),
    503: (
        "ServiceUnavailable",
        "the server is currently unable to handle the request",
    ),
}


def answered(status: int) -> Fault:
    """Somebody on the way answers instead of the API."""
    reason, message = _REFUSALS[status]
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": status,
    }

    def fault(_: Request, forward: Forward) -> Answer:
        kind = (("Content-Type", "application/json"),)
        return Answer(status, kind, json.dumps(body).encode())

    return fault


def before(action: Callable[[Request], None]) -> Fault:
    """Something happens to who asks, before it is served; it is not."""

    def fault(request: Request, forward: Forward) -> Answer:
        action(request)
        raise Cut

    return fault


def after(action: Callable[[Request], None]) -> Fault:
    """Something happens to who asks, once it is served."""

    def fault(request: Request, forward: Forward) -> Answer:
        answer = forward()
        action(request)
        return answer

    return fault
