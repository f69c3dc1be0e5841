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
        """Requests by verb and kind, and bytes."""
        time.sleep(_SETTLE)
        with places.AUDIT_LOG.open() as stream:
            stream.seek(self._offset)
            by_kind = requests_by_kind(stream)
        return {
            "requests": sum(by_kind.values()),
            "requests_by_kind": by_kind,
            "bytes": _sent() - self._bytes,
        }


def _sent() -> float:
    with crds.session() as http:
        return sent(http.get(f"{places.API}/metrics", timeout=60).text)


def sent(metrics: str) -> float:
    """Bytes of all answers so far, by an API server's metrics."""
    return sum(map(float, _SIZES.findall(metrics)))


def requests_by_kind(lines: Iterable[str]) -> dict[str, int]:
    """Requests by ``verb resource`` in an audit log, probes left out."""
    found: dict[str, int] = {}
    for line in lines:
        event = json.loads(line)
        if event["requestURI"].startswith(_PROBES):
            continue
        what = (event.get("objectRef") or {}).get("resource") or "discovery"
        key = f"{event['verb']} {what}"
        found[key] = found.get(key, 0) + 1
    return dict(sorted(found.items()))
