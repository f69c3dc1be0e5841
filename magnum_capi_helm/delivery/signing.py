# SPDX-License-Identifier: Apache-2.0

"""The key of the receiver, and what it signs.

As Standard Webhooks wants it, so receivers have a library for it already:
headers with the id, the moment and one HMAC-SHA256 for each key.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
import hashlib
import hmac
import os
import stat

from magnum_capi_helm.model import errors

_OPTION = "[capi_helm] delivery_key_file"
_PREFIX = "whsec_"
#: Bytes of a key.
_SHORTEST, _LONGEST = 24, 64
#: Bytes of a file: two keys and their prefixes are 184.
_FILE = 1024
_MOST = 2
#: Who may not be let in: others at all, and a group to write.
_TOO_MUCH = stat.S_IRWXO | stat.S_IWGRP

ID = "webhook-id"
TIMESTAMP = "webhook-timestamp"
SIGNATURE = "webhook-signature"


def keys(path: str) -> tuple[bytes, ...]:
    """The keys in a file, the one in use first.

    :raises NotConfigured: it is no such file, or not for Magnum alone
    """
    if not path:
        raise errors.NotConfigured(
            f"{_OPTION} is empty: name a file with the key that signs what "
            "is sent to delivery_url"
        )
    lines = _content(path).split()
    if not 1 <= len(lines) <= _MOST:
        raise errors.NotConfigured(
            f"{_OPTION} {path} has {len(lines)} keys: give one, or the new "
            "one and the former one, each in a line of its own"
        )
    return tuple(_key(path, each) for each in lines)


def _content(path: str) -> str:
    try:
        # A pipe would be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            mode = os.fstat(handle).st_mode
            _check_mode(path, mode)
            return stream.read(_FILE).decode("ascii")
    except OSError as error:
        raise errors.NotConfigured(
            f"{_OPTION} {path} can't be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise _unreadable(path) from None


def _check_mode(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise errors.NotConfigured(f"{_OPTION} {path} is no file")
    if mode & _TOO_MUCH:
        raise errors.NotConfigured(
            f"{_OPTION} {path} has mode {stat.S_IMODE(mode):04o}: give one "
            "that others can't read and a group can't write, 0600 or 0640"
        )


def _key(path: str, text: str) -> bytes:
    try:
        found = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except ValueError:
        # Not chained, and not quoted: it may be a key.
        raise _unreadable(path) from None
    if not _SHORTEST <= len(found) <= _LONGEST:
        raise _unreadable(path)
    return found


def _unreadable(path: str) -> errors.NotConfigured:
    return errors.NotConfigured(
        f"{_OPTION} {path} has no key: give {_SHORTEST} to {_LONGEST} bytes "
        f"in base64, such as openssl rand -base64 32 prints"
    )


def headers(
    signers: Sequence[bytes], delivery: str, now: float, body: bytes
) -> dict[str, str]:
    """What says who sends a body, which delivery it is, and when.

    :param signers: :func:`keys`
    :param delivery: its id
    :param now: seconds since 1970
    """
    moment = str(int(now))
    signed = f"{delivery}.{moment}.".encode() + body
    signatures = (
        hmac.new(each, signed, hashlib.sha256).digest() for each in signers
    )
    return {
        ID: delivery,
        TIMESTAMP: moment,
        SIGNATURE: " ".join(
            f"v1,{base64.b64encode(each).decode()}" for each in signatures
        ),
    }
