# SPDX-License-Identifier: Apache-2.0

"""The options of delivery, checked: they and the files that they name."""

from __future__ import annotations

import dataclasses
import ssl
from urllib import parse

from oslo_config import cfg

from magnum_capi_helm.config import conf
from magnum_capi_helm.delivery import change
from magnum_capi_helm.delivery import signing
from magnum_capi_helm.model import errors

_DAY = 86400.0
#: What Kubernetes keeps for itself; system:masters may do everything.
_RESERVED = "system:"
#: Characters of a common name or an organization (X.520).
_LONGEST = 64


@dataclasses.dataclass(frozen=True)
class User:
    """Whose kubeconfig is delivered.

    :param kind: :data:`~magnum_capi_helm.delivery.change.LIMITED` or ``ADMIN``
    :param name: of a limited user
    :param groups: likewise
    :param seconds: for which a certificate of it is good
    """

    kind: str
    name: str
    groups: tuple[str, ...]
    seconds: float


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where and how kubeconfigs are delivered.

    :param host: of the URL: the rest of it may be secret
    :param ca_file: empty: what requests trusts
    :param timeout: seconds for a connection, and for an answer
    """

    url: str = dataclasses.field(repr=False)
    host: str
    port: int
    keys: tuple[bytes, ...] = dataclasses.field(repr=False)
    ca_file: str
    user: User
    timeout: float
    interval: float

    @property
    def receiver(self) -> str:
        """What of the URL may be told."""
        return f"https://{self.host}:{self.port}"


def enabled() -> bool:
    """Whether anything is delivered at all. Reads no file."""
    return bool(conf.CONF.capi_helm.delivery_url)


def read() -> Settings:
    """The settings; the files are read anew.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    options = conf.CONF.capi_helm
    try:
        host, port = _host(options.delivery_url)
        return Settings(
            url=options.delivery_url,
            host=host,
            port=port,
            keys=signing.keys(options.delivery_key_file),
            ca_file=_ca_file(options.delivery_ca_file),
            user=_user(options),
            timeout=options.delivery_timeout,
            interval=float(options.delivery_check_interval),
        )
    except cfg.ConfigFileValueError as error:
        raise errors.NotConfigured(str(error)) from error


def _host(url: str) -> tuple[str, int]:
    """Host and port of a URL that may be sent to.

    The URL itself is not told: its path may be what keeps others out.
    """
    allowed = (
        "give https://host[:port]/path, without user, password and fragment"
    )
    try:
        found = parse.urlsplit(url)
        host, port = found.hostname, found.port
        if port is None:
            port = 443
    except ValueError:
        host, port, found = None, 0, parse.urlsplit("")
    if found.scheme != "https":
        scheme = errors.shown(found.scheme)
        raise errors.NotConfigured(
            f"[capi_helm] delivery_url has the scheme {scheme}: {allowed}"
        )
    if (
        not host
        or not port
        or "@" in found.netloc
        or found.fragment
        or not (url.isascii() and url.isprintable())
        or " " in url
    ):
        raise errors.NotConfigured(
            f"[capi_helm] delivery_url is not a URL to send to: {allowed}"
        )
    return host, port


def _ca_file(path: str) -> str:
    if not path:
        return ""
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        # No PEM is an SSLError, whose text names lines of OpenSSL.
        why = "it has no certificates in PEM"
        if not isinstance(error, ssl.SSLError):
            why = str(error.strerror)
        raise errors.NotConfigured(
            f"[capi_helm] delivery_ca_file {path} can't be used: {why}"
        ) from None
    return path


def _user(options: cfg.ConfigOpts.GroupAttr) -> User:
    groups = tuple(options.delivery_user_groups)
    if options.delivery_user == change.LIMITED:
        _check_name("delivery_user_name", options.delivery_user_name)
        for each in groups:
            _check_name("delivery_user_groups", each)
    return User(
        kind=options.delivery_user,
        name=options.delivery_user_name,
        groups=groups,
        seconds=options.delivery_certificate_days * _DAY,
    )


def _check_name(option: str, name: str) -> None:
    if (
        1 <= len(name) <= _LONGEST
        and name.isprintable()
        and not name.startswith(_RESERVED)
    ):
        return
    raise errors.NotConfigured(
        f"[capi_helm] {option} has {errors.shown(name)}: give 1 to "
        f"{_LONGEST} printable characters that do not begin with "
        f"{_RESERVED}, which is Kubernetes' own"
    )
