# SPDX-License-Identifier: Apache-2.0

"""JSON in base64, gzipped or not, as Secrets hold it.

Of a mapping in it another version of the driver may know more keys.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any
import zlib

#: Where a mapping stands -> its keys that this version does not know.
More = dict[str, dict[str, Any]]

#: What reading damaged content, or content of another shape, may raise.
DAMAGED: tuple[type[Exception], ...] = (
    AttributeError,
    EOFError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
    zlib.error,
)


def pack(content: Any) -> str:
    """As compact as it gets: objects of Kubernetes are limited in size."""
    return _encode(gzip.compress(_json(content), mtime=0))


def unpack(text: str | bytes) -> Any:
    """What :func:`pack` packed.

    :raises Exception: one of :data:`DAMAGED`
    """
    return json.loads(gzip.decompress(base64.b64decode(text)))


def plain(content: Any) -> str:
    """Not compressed, for people who look into a Secret."""
    return _encode(_json(content))


def read_plain(text: str) -> Any:
    """What :func:`plain` wrote.

    :raises Exception: one of :data:`DAMAGED`
    """
    return json.loads(base64.b64decode(text))


def known(
    more: More, where: str, found: dict[str, Any], keys: frozenset[str]
) -> dict[str, Any]:
    """What this version knows of a mapping; the rest goes to ``more``."""
    unknown = {key: found[key] for key in found.keys() - keys}
    if unknown:
        more[where] = unknown
    return {key: found[key] for key in found.keys() & keys}


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
