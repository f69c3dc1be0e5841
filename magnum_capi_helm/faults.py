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

"""The driver's exceptions as Magnum's, in one place.

Only classes of ``magnum.common.exception`` survive Magnum's RPC; their text
becomes ``status_reason`` or the body of an HTTP error.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
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


def as_magnum(error: exceptions.CapiHelmError) -> Exception:
    """The Magnum exception with the same text."""
    # Magnum formats the text once more.
    text = str(error).replace("%", "%%")
    theirs = next(
        (theirs for ours, theirs in _CLASSES if isinstance(error, ours)),
        exception.MagnumException,
    )
    found: Exception = theirs(text)
    return found


@contextlib.contextmanager
def translated(what: str, uuid: str) -> Iterator[None]:
    """Let no exception of the driver out, and log it as one line."""
    try:
        yield
        return
    except exceptions.CapiHelmError as error:
        refusal = error
    # Not inside "except": oslo.log would append the exception again.
    LOG.warning("%s of cluster %s refused: %s", what, uuid, refusal)
    raise as_magnum(refusal) from None
