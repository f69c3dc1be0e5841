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

"""Requests that are made once more when they did not get through.

An API server that restarts, or a balancer before it, cuts connections and
answers 503 for a moment; one with too much to do answers 429 and says when to
come again. Who gives up at that refuses a user for nothing. client-go, and so
every other client of Kubernetes, asks again, too.

Reads, patches of whole values and deletions are the same when done twice. An
object that is made or replaced twice is a conflict, and whoever makes one has
to see whether it is its own.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

import requests

#: Seconds between tries.
PAUSES = (0.2, 1.0)
#: Longest wait that the server may ask for.
_LONGEST = 5.0
_PASSING = frozenset({429, 500, 502, 503, 504})


def insisted(
    ask: Callable[[], Any], sleep: Callable[[float], None] = time.sleep
) -> Any:
    """The answer to ``ask``, the last one of three tries.

    :raises requests.RequestException: as the last try
    """
    for pause in PAUSES:
        try:
            answer = ask()
        except requests.Timeout:
            # Who waited that long has waited enough.
            raise
        except requests.RequestException:
            sleep(pause)
            continue
        if answer.status_code not in _PASSING:
            return answer
        sleep(_wanted(answer, pause))
    return ask()


def _wanted(answer: Any, pause: float) -> float:
    """Seconds: as the server says, within reason."""
    try:
        asked = float(answer.headers.get("Retry-After", pause))
    except (AttributeError, ValueError):
        return pause
    return min(max(asked, pause), _LONGEST)
