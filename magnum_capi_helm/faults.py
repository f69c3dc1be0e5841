# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The driver's exceptions as Magnum's, or as one line of the log.

Only classes of ``magnum.common.exception`` survive Magnum's RPC; their text
becomes ``status_reason`` or the body of an HTTP error.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import re
from typing import Any

from magnum.common import exception
from oslo_log import log

from magnum_capi_helm import exceptions

LOG = log.getLogger(__name__)

_CLASSES: tuple[tuple[type[exceptions.CapiHelmError], Any], ...]
_CLASSES = (
    (exceptions.InvalidInput, exception.InvalidParameterValue),
    (exceptions.NotSupported, exception.NotSupported),
    (exceptions.LeaseHeld, exception.OperationInProgress),
)

#: What :func:`logged` does not warn of.
_QUIET = (exceptions.Frozen, exceptions.NoTurn, exceptions.WouldReplace)

#: A full stop inside a word, and what looks like one (ONE DOT LEADER).
_INNER_STOP = re.compile(r"\.(?=\S)")
_LIKE_A_STOP = "\u2024"


def as_magnum(error: exceptions.CapiHelmError, text: str = "") -> Exception:
    """The Magnum exception with the same text, or another one."""
    # Magnum formats the text once more.
    text = (text or str(error)).replace("%", "%%")
    theirs = next(
        (theirs for ours, theirs in _CLASSES if isinstance(error, ours)),
        exception.MagnumException,
    )
    found: Exception = theirs(text)
    return found


def headline(text: str) -> str:
    """The text, after a copy without full stops inside words.

    Magnum's API makes a title of what is before the first full stop, and
    that is all that ``openstack coe`` and Horizon show. Versions and names
    have some: in the title they get a character that looks the same, and
    behind it the text is repeated as it is, for whoever reads the details.
    """
    sentence = _INNER_STOP.sub(_LIKE_A_STOP, text)
    return text if sentence == text else f"{sentence.rstrip('.')}. {text}"


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
    except exceptions.CapiHelmError as error:
        refusal = error
    # Not inside "except": oslo.log would append the exception again.
    LOG.warning("%s of cluster %s refused: %s", what, uuid, refusal)
    text = headline(str(refusal)) if answer else ""
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
    except exceptions.CapiHelmError as error:
        problem = str(error)
    if problem:
        # Not inside "except": oslo.log would append the exception again.
        write(text, uuid, problem)
