# SPDX-License-Identifier: Apache-2.0

"""The files that a session needs before it can ask anybody.

Requests would say so with an error of the operating system, at the first
request and without the option.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from typing import Any

from magnum_capi_helm.model import errors


def check(session: Any, section: str) -> None:
    """Look whether the files are there.

    :param session: of keystoneauth
    :param section: of the configuration that it is made from
    :raises NotConfigured: one is not there, or can't be read
    """
    for option, path in _named(session):
        try:
            # One of CAs may be a directory as well.
            if not os.path.isdir(path):
                open(path, "rb").close()
        except OSError as error:
            raise errors.NotConfigured(
                f"[{section}] {option} {path}: {error.strerror}"
            ) from error


def _named(session: Any) -> Iterator[tuple[str, str]]:
    """Option and path of each."""
    if isinstance(session.verify, str):
        yield "cafile", session.verify
    if isinstance(session.cert, str):
        yield "certfile", session.cert
    elif session.cert:
        yield from zip(("certfile", "keyfile"), session.cert, strict=True)
