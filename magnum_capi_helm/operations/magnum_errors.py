# SPDX-License-Identifier: Apache-2.0

"""Translate the driver's exceptions for Magnum, or log them in one line.

Only classes of ``magnum.common.exception`` survive Magnum's RPC; their text
becomes ``status_reason`` or the body of an HTTP error.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any

from magnum.common import exception
from oslo_log import log

from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

_CLASSES: tuple[tuple[type[errors.CapiHelmError], Any], ...] = (
    (errors.InvalidInput, exception.InvalidParameterValue),
    (errors.NotSupported, exception.NotSupported),
    (errors.LeaseHeld, exception.OperationInProgress),
)

#: Errors that end by themselves: :func:`logged` does not warn of them.
QUIET = (errors.Frozen, errors.LeaseHeld, errors.NoTurn, errors.WouldReplace)


def as_magnum(error: errors.CapiHelmError, text: str = "") -> Exception:
    """Return Magnum's exception for an error.

    :param text: instead of the error's own text
    """
    magnum_class = next(
        (theirs for ours, theirs in _CLASSES if isinstance(error, ours)),
        exception.MagnumException,
    )
    # Magnum formats the text once more.
    translated_error: Exception = magnum_class(
        (text or errors.for_users(error)).replace("%", "%%")
    )
    return translated_error


def to_client(action: str, text: str) -> str:
    """Return a text whose first sentence is not cut by Magnum's API.

    The API's error has the whole text as its detail, and the part before the
    first full stop as its title
    (``magnum.api.middleware.parsable_error``). ``openstack coe`` prints the
    title alone. The driver's own texts have no other full stop in their first
    sentence. Texts of webhooks, helm and OpenStack may have one; a sentence of
    the driver then goes before the text, which stays as it is.

    :param action: the request, in words
    """
    rest = text.partition(".")[2]
    if not rest or rest.startswith(" "):
        return text
    return f"the {action} is refused, `openstack --debug` shows why. {text}"


@contextlib.contextmanager
def translated(
    action: str, uuid: str, *, answer: bool = False
) -> Iterator[None]:
    """Raise Magnum's exceptions instead of the driver's; log one line.

    :param action: the request, in words
    :param answer: the text is Magnum's answer to a request, and not the
        reason of a status
    """
    try:
        yield
        return
    except errors.CapiHelmError as error:
        refusal = error
    # Not inside "except": oslo.log would append the exception again.
    problem = errors.explained(refusal)
    LOG.warning("%s of cluster %s refused: %s", action, uuid, problem)
    text = to_client(action, errors.for_users(refusal)) if answer else ""
    raise as_magnum(refusal, text) from None


@contextlib.contextmanager
def logged(
    logger: Any,
    text: str,
    subject: str,
    only: type[errors.CapiHelmError] = errors.CapiHelmError,
) -> Iterator[None]:
    """Log an error of the block as one warning, and go on.

    The polls will try again. Waiting for another operation, for helm or for
    the end of a maintenance is no reason to warn. The template guard warns
    itself, once.

    :param logger: of the module that goes on
    :param text: with places for the subject and for the error
    :param only: the class of errors after which the caller goes on
    """
    problem = ""
    write = logger.warning
    try:
        yield
    except only as error:
        problem = errors.explained(error)
        if isinstance(error, QUIET):
            write = logger.info
    if problem:
        # Not inside "except": oslo.log would append the exception again.
        write(text, subject, problem)
