# SPDX-License-Identifier: Apache-2.0

"""What the Kubernetes API answered, and what a refusal means."""

from __future__ import annotations

from email import utils
import re
from typing import Any, TypeAlias

import requests

from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors

Object: TypeAlias = dict[str, Any]


#: Of a webhook, and of a ValidatingAdmissionPolicy: they looked at the object.
_DENIED = re.compile(r"denied (the )?request")


class ExpiredError(errors.ManagementUnreachable):
    """The continuation of a list has expired (410)."""


class ForbiddenError(errors.ManagementError):
    """The kubeconfig's user may not do this (403)."""


class UntrustedError(errors.ManagementUnreachable):
    """What answers is not, or does not show that it is, the right one."""


class UnauthorizedError(errors.ManagementError):
    """The kubeconfig's user is not let in (401)."""


def is_about_the_user(error: errors.ManagementError) -> bool:
    """Whether the kubeconfig's user is refused, whatever it sends.

    Webhooks may refuse what is sent with a 403 as well.
    """
    if isinstance(error, ForbiddenError):
        return not _DENIED.search(str(error))
    return isinstance(error, UnauthorizedError)


def is_unserved(answer: Any) -> bool:
    """Whether a 404 means the path, and not an object, is unknown.

    For an object that is not there the API server answers with a Status
    that names it; for a version or kind that it does not serve, with text.
    """
    if answer.status_code != requests.codes.not_found:
        return False
    try:
        status = answer.json()
    except ValueError:
        return True
    return not (isinstance(status, dict) and status.get("details"))


def items(page: Object, kind: kinds.Kind) -> list[Object]:
    """Items of a list lack their kind and version: give them those."""
    version = page.get("apiVersion", "")
    return [
        {"apiVersion": version, "kind": kind.name, **item}
        for item in page.get("items") or []
    ]


def date(answer: Any) -> float | None:
    """When it was given by the server's clock, seconds since 1970."""
    try:
        found = utils.parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, ValueError):
        return None
    return found.timestamp()


def body(answer: Any) -> Object:
    try:
        found: Object = answer.json()
    except ValueError as error:
        raise errors.ManagementUnreachable(
            "the management cluster's answer was cut short"
        ) from error
    return found


def raise_for(
    answer: Any, what: str, who: str = "the management cluster"
) -> None:
    """Translate a refusal. The server's message names objects, no data."""
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
    text = f"{who} refused {what} ({status}){advice}. {message}"
    if status == requests.codes.gone:
        raise ExpiredError(text)
    if status == requests.codes.conflict:
        raise errors.Conflict(text)
    if (
        status >= requests.codes.internal_server_error
        or status == requests.codes.too_many_requests
    ):
        raise errors.ManagementUnreachable(text)
    if status == requests.codes.forbidden:
        raise ForbiddenError(text)
    if status == requests.codes.unauthorized:
        raise UnauthorizedError(text)
    raise errors.ManagementError(text)
