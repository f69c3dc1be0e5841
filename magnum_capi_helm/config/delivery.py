# SPDX-License-Identifier: Apache-2.0

"""Options of ``[capi_helm]`` for the delivery of kubeconfigs, checked.

The files that the options name are read as well: the key that signs, and the
CAs that the receiver's certificate may come from.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import ssl
import stat
from urllib import parse

import magnum.conf
from oslo_config import cfg

from magnum_capi_helm.model import errors

CONF = magnum.conf.CONF

_KEY_OPTION = "[capi_helm] delivery_key_file"
_KEY_PREFIX = b"whsec_"
#: Bytes of a key.
_SHORTEST, _LONGEST = 24, 64
#: Bytes of a key file: two keys and their prefixes are 184.
_KEY_FILE = 1024
#: The new key and the former one.
_MOST_KEYS = 2
#: Modes that a key file must not have: any for others, write for a group.
_TOO_OPEN = stat.S_IRWXO | stat.S_IWGRP


@dataclasses.dataclass(frozen=True)
class Settings:
    """The receiver, and how kubeconfigs are sent to it.

    :param host: host of the URL: the rest of the URL may be secret
    :param keys: the keys that sign, the one in use first
    :param ca_file: empty: the CAs that requests trusts
    :param user: user of the kubeconfig
    :param timeout: seconds for a connection, and for an answer
    :param interval: seconds between two looks for a change
    """

    url: str = dataclasses.field(repr=False)
    host: str
    port: int
    keys: tuple[bytes, ...] = dataclasses.field(repr=False)
    ca_file: str
    user: str
    timeout: float
    interval: float

    @property
    def receiver(self) -> str:
        """Return the part of the URL that may be logged."""
        return f"https://{self.host}:{self.port}"


def enabled() -> bool:
    """Return whether kubeconfigs are delivered. Reads no file."""
    return bool(CONF.capi_helm.delivery_url)


def read() -> Settings:
    """Return the settings; the files are read anew.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    options = CONF.capi_helm
    try:
        host, port = _host(options.delivery_url)
        return Settings(
            url=options.delivery_url,
            host=host,
            port=port,
            keys=read_keys(options.delivery_key_file),
            ca_file=_ca_file(options.delivery_ca_file),
            user=options.delivery_user,
            timeout=options.delivery_timeout,
            interval=float(options.delivery_check_interval),
        )
    except cfg.ConfigFileValueError as error:
        raise errors.NotConfigured(str(error)) from error


def _host(url: str) -> tuple[str, int]:
    """Return host and port of a URL that may be sent to.

    Errors do not quote the URL: its path may be what keeps others out.
    """
    allowed = (
        "give https://host[:port]/path, without user, password and fragment"
    )
    try:
        parts = parse.urlsplit(url)
        port = 443 if parts.port is None else parts.port
    except ValueError:
        parts, port = parse.urlsplit(""), 0
    if parts.scheme != "https":
        scheme = errors.shown(parts.scheme)
        raise errors.NotConfigured(
            f"[capi_helm] delivery_url has the scheme {scheme}: {allowed}"
        )
    if (
        not parts.hostname
        or not port
        or "@" in parts.netloc
        or parts.fragment
        or not (url.isascii() and url.isprintable())
        or " " in url
    ):
        raise errors.NotConfigured(
            f"[capi_helm] delivery_url is not a URL to send to: {allowed}"
        )
    return parts.hostname, port


def _ca_file(path: str) -> str:
    """Return the path if the file has certificates."""
    if not path:
        return ""
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        why = str(error.strerror)
        if isinstance(error, ssl.SSLError):
            # Its text names lines of OpenSSL.
            why = "it has no certificates in PEM"
        raise errors.NotConfigured(
            f"[capi_helm] delivery_ca_file {path} can't be used: {why}"
        ) from None
    return path


def read_keys(path: str) -> tuple[bytes, ...]:
    """Return the keys in a file, the one in use first.

    :raises NotConfigured: the file has none, or others can read it
    """
    if not path:
        raise errors.NotConfigured(
            f"{_KEY_OPTION} is empty: name a file with the key that signs "
            "what is sent to delivery_url"
        )
    try:
        with open(path, "rb", opener=_open) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise _unusable(path, "is no file")
            if mode & _TOO_OPEN:
                raise _unusable(
                    path,
                    f"has mode {stat.S_IMODE(mode):04o}: give one that others "
                    "can't read and a group can't write, 0600 or 0640",
                )
            lines = stream.read(_KEY_FILE).split()
    except OSError as error:
        raise _unusable(path, f"can't be read: {error.strerror}") from None
    if not 1 <= len(lines) <= _MOST_KEYS:
        raise _unusable(
            path,
            f"has {len(lines)} keys: give one, or the new one and the former "
            "one, each in a line of its own",
        )
    return tuple(_key(path, line) for line in lines)


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe waits for a writer.
    return os.open(path, flags | os.O_NONBLOCK)


def _key(path: str, text: bytes) -> bytes:
    try:
        key = base64.b64decode(text.removeprefix(_KEY_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not _SHORTEST <= len(key) <= _LONGEST:
        # Not quoted: it may be a key.
        raise _unusable(
            path,
            f"has no key: give {_SHORTEST} to {_LONGEST} bytes in base64, "
            "such as openssl rand -base64 32 prints",
        )
    return key


def _unusable(path: str, why: str) -> errors.NotConfigured:
    return errors.NotConfigured(f"{_KEY_OPTION} {path} {why}")
