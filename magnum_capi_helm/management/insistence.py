# SPDX-License-Identifier: Apache-2.0

"""Repeat requests to the management cluster that got no proper answer.

This is the only place that repeats them: requests, urllib3 and pykube send
each request once. An API server that restarts, or a load balancer in front of
it, cuts connections and answers 503 for a moment; an overloaded one answers
429 with ``Retry-After``. client-go, too, repeats reads whose connection was
reset and requests that were answered with ``Retry-After``
(``rest/with_retry.go``).

Reads, patches of whole values and deletions have the same effect when they
are done twice. The API server answers 409 to the second creation or
replacement of an object; the caller then has to look whether the object is
its own.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

import requests

from magnum_capi_helm.model import error_text

#: Seconds between tries.
PAUSES = (0.2, 1.0)
#: Longest pause that the API server may ask for, in seconds.
_LONGEST = 5.0
#: No try begins later than this many seconds after the first.
LIMIT = 12.0
_PASSING = frozenset({429, 500, 502, 503, 504})


def insisted(
    ask: Callable[[], Any],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Any:
    """Return the answer to ``ask``, which is called three times at most.

    :param clock: monotonic seconds
    :raises requests.RequestException: as the last try
    """
    end = clock() + LIMIT
    for pause in PAUSES:
        try:
            answer = ask()
        except requests.RequestException as error:
            if _lasting(error) or clock() + pause > end:
                raise
        else:
            if answer.status_code not in _PASSING:
                return answer
            pause = _wanted(answer, pause)
            if clock() + pause > end:
                return answer
        sleep(pause)
    return ask()


def _lasting(error: requests.RequestException) -> bool:
    """Return whether another try would take long or fail the same way."""
    return isinstance(error, requests.Timeout) or bool(
        error_text.untrusted(error)
    )


def _wanted(answer: Any, pause: float) -> float:
    """Return the seconds that the API server asks for, within reason."""
    try:
        asked = float(answer.headers.get("Retry-After", pause))
    except (AttributeError, ValueError):
        return pause
    return min(max(asked, pause), _LONGEST)
