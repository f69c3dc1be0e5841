# SPDX-License-Identifier: Apache-2.0

"""Answers of the Kubernetes API, and the exceptions for its refusals."""

from __future__ import annotations

from collections.abc import Callable
from email import utils
import re
from typing import Any, TypeAlias, TypeVar

import msgspec
import requests

from magnum_capi_helm.model import errors

Object: TypeAlias = dict[str, Any]
T = TypeVar("T")

#: Text of a webhook and of a ValidatingAdmissionPolicy that refused an
#: object.
_DENIED = re.compile(r"denied (the )?request")


class ExpiredError(errors.ManagementUnreachable):
    """The continuation of a list has expired (410)."""


class ForbiddenError(errors.ManagementError):
    """The kubeconfig's user may not do this (403)."""


class UntrustedError(errors.ManagementUnreachable):
    """The server's certificate is not trusted."""


class UnauthorizedError(errors.ManagementError):
    """The API server does not accept the kubeconfig's credential (401)."""


_EXCEPTIONS: dict[int, type[errors.ManagementError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    409: errors.Conflict,
    410: ExpiredError,
    429: errors.ManagementUnreachable,
}


def is_about_the_user(error: errors.ManagementError) -> bool:
    """Return whether the API server refuses the user whatever it sends.

    A webhook that refuses an object may answer 403 as well.
    """
    if isinstance(error, ForbiddenError):
        return not _DENIED.search(str(error))
    return isinstance(error, UnauthorizedError)


def is_unserved(answer: Any) -> bool:
    """Return whether a 404 means that the path, not the object, is unknown.

    For an object that does not exist the API server answers with a Status
    that names it; for a version or kind that it does not serve, with text.
    """
    if answer.status_code != requests.codes.not_found:
        return False
    try:
        status = answer.json()
    except ValueError:
        return True
    return not (isinstance(status, dict) and status.get("details"))


class PageMetadata(msgspec.Struct, rename="camel"):
    """The version of a LIST and the token of its next page."""

    resource_version: str = ""
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    """One page of a LIST, with objects that are not decoded yet."""

    metadata: PageMetadata = msgspec.field(default_factory=PageMetadata)
    items: list[msgspec.Raw] | None = None


decode_page = msgspec.json.Decoder(Page).decode
decode_json = msgspec.json.Decoder().decode


def decoded(decode: Callable[[Any], T], content: bytes | msgspec.Raw) -> T:
    """Return decoded JSON of an answer.

    :raises ManagementUnreachable: it is not JSON, or of another form
    """
    try:
        return decode(content)
    except msgspec.MsgspecError as error:
        # The decoder's message may quote the content.
        raise errors.ManagementUnreachable(
            "the management cluster's answer can't be understood "
            f"({type(error).__name__})"
        ) from None


def date(answer: Any) -> float | None:
    """Return the server's time of an answer, in seconds since 1970."""
    try:
        return utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return None


def body(answer: Any) -> Object:
    """Return the decoded JSON of an answer.

    :raises ManagementUnreachable: the answer is not JSON
    """
    try:
        decoded: Object = answer.json()
    except ValueError as error:
        raise errors.ManagementUnreachable(
            "the management cluster's answer was cut short"
        ) from error
    return decoded


def raise_for(
    answer: Any, request: str, server: str = "the management cluster"
) -> None:
    """Raise the driver's exception for a refusal.

    The server's message names objects but contains no data of them.

    :param request: names the request in the message
    :param server: names the server in the message
    """
    status = answer.status_code
    if status < requests.codes.bad_request:
        return
    try:
        message = answer.json().get("message") or answer.reason
    except (ValueError, AttributeError):
        message = answer.reason
    advice = ""
    if status in (requests.codes.unauthorized, requests.codes.forbidden):
        advice = "; check the kubeconfig's user and its permissions"
    exception = _EXCEPTIONS.get(status, errors.ManagementError)
    if status >= 500:
        exception = errors.ManagementUnreachable
    raise exception(
        f"{server} refused {request} ({status}){advice}. {message}"
    )
