# SPDX-License-Identifier: Apache-2.0

"""Certificates in PEM: taken out of a text, one by one.

Not parsed: bundles have some that are no longer good form.
"""

from __future__ import annotations

import base64
import re

_BEGIN = "-----BEGIN CERTIFICATE-----"
_END = "-----END CERTIFICATE-----"
_PEM = re.compile(f"{_BEGIN}(.+?){_END}", re.DOTALL)
#: The first byte of every certificate in DER.
_SEQUENCE = b"\x30"
_WIDTH = 64


def certificates(text: str) -> list[str]:
    """Each certificate of a text in one form, without what is between them.

    :raises ValueError: there is none, or one that can't be decoded
    """
    found = [_decoded(body) for body in _PEM.findall(text)]
    if not found or not all(each.startswith(_SEQUENCE) for each in found):
        raise ValueError("no certificates in PEM")
    return [_encoded(each) for each in found]


def readable(text: str) -> list[str]:
    """As :func:`certificates`, without those that can't be decoded."""
    found = []
    for body in _PEM.findall(text):
        try:
            der = _decoded(body)
        except ValueError:
            continue
        if der.startswith(_SEQUENCE):
            found.append(_encoded(der))
    return found


def joined(first: str, second: list[str]) -> str:
    """A bundle, and those certificates after it that it has not yet."""
    known = set(readable(first))
    more = [each for each in dict.fromkeys(second) if each not in known]
    if not more:
        return first
    return "".join([first if first.endswith("\n") else f"{first}\n", *more])


def _decoded(body: str) -> bytes:
    return base64.b64decode("".join(body.split()), validate=True)


def _encoded(der: bytes) -> str:
    text = base64.b64encode(der).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END, ""])
