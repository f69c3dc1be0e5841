# SPDX-License-Identifier: Apache-2.0

"""Count the requests that the API server received.

Requests are those of the API server's audit log, bytes those of its metrics:
the same for every driver, whatever its HTTP library.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
import re
import time
from typing import Any

from bench import crds
from bench import places

_PROBES = ("/metrics", "/readyz", "/healthz", "/livez")
_SIZES = re.compile(r"^apiserver_response_sizes_sum\{.*\} (\S+)$", re.M)
#: Seconds after which the API server has written what it was asked.
_SETTLE = 0.3


class Counter:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._bytes = _sent()
        time.sleep(_SETTLE)
        self._offset = places.AUDIT_LOG.stat().st_size

    def read(self) -> dict[str, Any]:
        """Return the number of requests, and bytes."""
        time.sleep(_SETTLE)
        with places.AUDIT_LOG.open() as stream:
            stream.seek(self._offset)
            count = requests(stream)
        return {"requests": count, "bytes": _sent() - self._bytes}


def _sent() -> float:
    with crds.session() as http:
        return sent(http.get(f"{places.API}/metrics", timeout=60).text)


def sent(metrics: str) -> float:
    """Bytes of all answers so far, by an API server's metrics."""
    return sum(map(float, _SIZES.findall(metrics)))


def requests(lines: Iterable[str]) -> int:
    """Return the number of requests in an audit log, without probes."""
    uris = (json.loads(line)["requestURI"] for line in lines)
    return sum(not uri.startswith(_PROBES) for uri in uris)
