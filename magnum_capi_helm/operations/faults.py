# SPDX-License-Identifier: Apache-2.0

"""The driver's exceptions as Magnum's, or as one line of the log.

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

_CLASSES: tuple[tuple[type[errors.CapiHelmError], Any], ...]
_CLASSES = (
    (errors.InvalidInput, exception.InvalidParameterValue),
    (errors.NotSupported, exception.NotSupported),
    (errors.LeaseHeld, exception.OperationInProgress),
)

#: What :func:`logged` does not warn of.
_QUIET = (errors.Frozen, errors.NoTurn, errors.WouldReplace)


def as_magnum(error: errors.CapiHelmError, text: str = "") -> Exception:
    """The Magnum exception with the same text, or another one."""
    # Magnum formats the text once more.
    text = (text or str(error)).replace("%", "%%")
    theirs = next(
        (theirs for ours, theirs in _CLASSES if isinstance(error, ours)),
        exception.MagnumException,
    )
    found: Exception = theirs(text)
    return found


def to_client(action: str, text: str) -> str:
    """Return the text, with a first sentence that Magnum's API does not cut.

    The API's error has the whole text as its detail, and what is before the
    first full stop as its title
    (``magnum.api.middleware.parsable_error``). ``openstack coe`` prints the
    title alone. The driver's own texts have no other full stop in their first
    sentence. Texts of webhooks, helm and OpenStack may have one; a sentence of
    the driver then goes before the text, which stays as it is.

    :param action: what was asked for, in words
    """
    rest = text.partition(".")[2]
    if not rest or rest.startswith(" "):
        return text
    return f"the {action} is refused, `openstack --debug` shows why. {text}"


@contextlib.contextmanager
def translated(
    what: str, uuid: str, *, answer: bool = False
) -> Iterator[None]:
    """Let no exception of the driver out, and log it as one line.

    :param answer: the text is Magnum's answer to a request, and no reason
        of a status
    """
    try:
        yield
        return
    except errors.CapiHelmError as error:
        refusal = error
    # Not inside "except": oslo.log would append the exception again.
    LOG.warning("%s of cluster %s refused: %s", what, uuid, refusal)
    text = to_client(what, str(refusal)) if answer else ""
    raise as_magnum(refusal, text) from None


@contextlib.contextmanager
def logged(logger: Any, text: str, uuid: str) -> Iterator[None]:
    """Go on after what the polls will try again, with one line of warning.

    To wait for helm, or for the end of a maintenance, is no reason to warn.
    The module that finds that machines would be replaced warns itself, once.

    :param logger: of the module that goes on
    :param text: with places for the cluster's UUID and for what is wrong
    """
    problem = ""
    write = logger.warning
    try:
        yield
    except _QUIET as error:
        problem, write = str(error), logger.info
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        # Not inside "except": oslo.log would append the exception again.
        write(text, uuid, problem)
