# SPDX-License-Identifier: Apache-2.0

"""Encodings of Secrets and files: JSON in base64, and PEM certificates.

A newer version of the driver may add keys to a stored mapping. They are kept.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
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
    """Encode content compactly: the size of Kubernetes objects is limited."""
    return _encode(gzip.compress(_json(content), mtime=0))


def unpack(text: str | bytes) -> Any:
    """Decode the output of :func:`pack`.

    :raises Exception: one of :data:`DAMAGED`
    """
    return json.loads(gzip.decompress(base64.b64decode(text)))


def plain(content: Any) -> str:
    """Encode content without compression, so that people can read it."""
    return _encode(_json(content))


def read_plain(text: str) -> Any:
    """Decode the output of :func:`plain`.

    :raises Exception: one of :data:`DAMAGED`
    """
    return json.loads(base64.b64decode(text))


def known(
    more: More, where: str, content: dict[str, Any], keys: frozenset[str]
) -> dict[str, Any]:
    """Return the known keys of a mapping; put the others into ``more``."""
    unknown = {key: content[key] for key in content.keys() - keys}
    if unknown:
        more[where] = unknown
    return {key: content[key] for key in content.keys() & keys}


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


_BEGIN = "-----BEGIN CERTIFICATE-----"
_END = "-----END CERTIFICATE-----"
_PEM = re.compile(f"{_BEGIN}(.+?){_END}", re.DOTALL)
#: The first byte of every certificate in DER.
_SEQUENCE = b"\x30"
_WIDTH = 64


def pem_certificates(text: str) -> list[str]:
    """Return the certificates of a text in normal form.

    They are not parsed, because bundles contain obsolete forms.

    :raises ValueError: there is none, or one that can't be decoded
    """
    certificates = [_decode_pem(body) for body in _PEM.findall(text)]
    if not certificates or not all(
        each.startswith(_SEQUENCE) for each in certificates
    ):
        raise ValueError("no certificates in PEM")
    return [_encode_pem(each) for each in certificates]


def readable_pem_certificates(text: str) -> list[str]:
    """Return the certificates of a text that can be decoded."""
    certificates = []
    for body in _PEM.findall(text):
        try:
            der = _decode_pem(body)
        except ValueError:
            continue
        if der.startswith(_SEQUENCE):
            certificates.append(_encode_pem(der))
    return certificates


def join_pem_bundles(first: str, second: list[str]) -> str:
    """Append the certificates that a bundle does not have yet."""
    present = set(readable_pem_certificates(first))
    more = [each for each in dict.fromkeys(second) if each not in present]
    if not more:
        return first
    return "".join([first if first.endswith("\n") else f"{first}\n", *more])


def _decode_pem(body: str) -> bytes:
    return base64.b64decode("".join(body.split()), validate=True)


def _encode_pem(der: bytes) -> str:
    text = base64.b64encode(der).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END, ""])
