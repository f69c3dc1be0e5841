# SPDX-License-Identifier: Apache-2.0

"""Types of labels that end up in the arguments of Kubernetes' components.

Each is a parser like those of
:mod:`magnum_capi_helm.model.option_types`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import ipaddress
import re

from oslo_config import types

#: One argument: its name without dashes, and its value.
Argument = tuple[str, str]

#: No component has a longer name of an argument.
_ARGUMENT = re.compile(r"(?:--)?(?P<name>[a-z][a-z0-9-]{0,79})=(?P<value>\S+)")

#: What a value may be made of. Values go through YAML, the templates of
#: cloud-init, an environment file of systemd, envsubst (flatcar) and the
#: ``$(NAME)`` of Kubernetes: none of them reads anything into these.
HARMLESS_FORM = r"[A-Za-z0-9_.,:=/+@%*<\[\]-]"
_HARMLESS = re.compile(f"{HARMLESS_FORM}+")
#: The same in words.
HARMLESS = "letters, digits, full stops and _ , : = / + @ % * < [ ] -"

#: Go's cipher suites for TLS up to 1.2 without known weakness, and the three
#: of TLS 1.3 (crypto/tls, CipherSuites); kube-apiserver and kubelet refuse to
#: start with any other name but those of weak ones.
_CIPHER_SUITES = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    }
)
#: HTTP/2 demands one of them (RFC 9113, 9.2.2): without it Go's server does
#: not start.
_HTTP2 = frozenset(
    {
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    }
)

_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PLUGIN = re.compile(r"[A-Z][A-Za-z0-9]{0,79}")


def harmless(value: str) -> bool:
    """Whether a value reaches its component as it was given."""
    return _HARMLESS.fullmatch(value) is not None


class Arguments(types.ConfigType):
    """``--name=value`` of a component, separated by spaces, as in Heat.

    The two dashes may be missing. Each name is there once.
    """

    def __init__(self) -> None:
        super().__init__(type_name="arguments")

    def __call__(
        self, value: str | Iterable[Argument]
    ) -> tuple[Argument, ...]:
        text = value if isinstance(value, str) else self._formatter(value)
        found: dict[str, str] = {}
        for word in text.split():
            argument = _ARGUMENT.fullmatch(word)
            if argument is None:
                raise ValueError(f"{word!r} is not --name=value")
            if argument["name"] in found:
                raise ValueError(f"{argument['name']} is there twice")
            found[argument["name"]] = argument["value"]
        return tuple(found.items())

    def __repr__(self) -> str:
        return "Arguments"

    def _formatter(self, value: Iterable[Argument]) -> str:
        return " ".join(f"--{name}={text}" for name, text in value)


class Listed(types.ConfigType):
    """A comma separated list of one kind of items, each of them once.

    :param kind: what an item is
    :param fits: whether a text is such an item
    """

    def __init__(self, kind: str, fits: Callable[[str], object]) -> None:
        super().__init__(type_name=f"list of {kind}")
        self._kind = kind
        self._fits = fits

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        items = [part.strip() for part in parts if part.strip()]
        for item in items:
            if not self._fits(item):
                raise ValueError(f"{item!r} is not one of {self._kind}")
        return tuple(dict.fromkeys(items))

    def __repr__(self) -> str:
        return f"Listed({self._kind})"

    def _formatter(self, value: Iterable[str]) -> str:
        return ",".join(value)


class CipherSuites(Listed):
    """Cipher suites by Go's names, one that HTTP/2 demands among them."""

    def __init__(self) -> None:
        super().__init__("cipher suites", _CIPHER_SUITES.__contains__)

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        suites = super().__call__(value)
        if suites and not _HTTP2.intersection(suites):
            raise ValueError(f"HTTP/2 needs one of {sorted(_HTTP2)}")
        return suites

    def __repr__(self) -> str:
        return "CipherSuites"


def _is_host(text: str) -> bool:
    """An address, or a DNS name that may begin with ``*.``."""
    # Python takes any text after it: the zone of an IPv6 address.
    if "%" in text:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        parts = text.removeprefix("*.").split(".")
        return (
            len(text) <= 253
            and all(map(_DNS_LABEL.fullmatch, parts))
            # An address that is none, such as 192.0.2.300, is no name.
            and not parts[-1].isdigit()
        )
    return True


#: What a certificate is valid for.
HOSTS = Listed("DNS names and addresses", _is_host)
NAMESPACES = Listed("namespaces", _DNS_LABEL.fullmatch)
ADMISSION_PLUGINS = Listed("admission plugins", _PLUGIN.fullmatch)
