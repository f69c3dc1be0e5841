# SPDX-License-Identifier: Apache-2.0

"""When what a kubeconfig lets its user in with ends.

Read from the kubeconfig alone: nobody is asked, and nothing is verified. What
can't be read has no end that anybody knows.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
import dataclasses
import json
import pathlib
from typing import Any

from cryptography import x509

BEARER = "token"
CERTIFICATE = "client certificate"


@dataclasses.dataclass(frozen=True)
class Ending:
    """One of the things that let a user in.

    :param what: :data:`BEARER` or :data:`CERTIFICATE`
    :param moment: seconds since 1970
    """

    what: str
    moment: float


def of(user: Mapping[str, Any]) -> tuple[Ending, ...]:
    """What of a kubeconfig's user ends.

    :param user: with paths in the place of what was inline
    """
    return tuple(_found(user))


def _found(user: Mapping[str, Any]) -> Iterator[Ending]:
    if path := user.get("client-certificate"):
        moment = _certificate(_read(path))
        if moment is not None:
            yield Ending(CERTIFICATE, moment)
    token = str(user.get("token") or "").encode()
    if path := user.get("tokenFile"):
        token = _read(path)
    moment = _token(token.strip())
    if moment is not None:
        yield Ending(BEARER, moment)


def _read(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def _certificate(pem: bytes) -> float | None:
    try:
        found = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None
    return found.not_valid_after_utc.timestamp()


def _token(token: bytes) -> float | None:
    """The claim ``exp`` of a JSON web token."""
    parts = token.split(b".")
    if len(parts) != 3:
        return None
    try:
        padded = parts[1] + b"=" * (-len(parts[1]) % 4)
        return float(json.loads(base64.urlsafe_b64decode(padded))["exp"])
    except (ValueError, KeyError, TypeError):
        return None
