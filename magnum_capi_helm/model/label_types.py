# SPDX-License-Identifier: Apache-2.0

"""Types of labels and options in addition to those of oslo.config.

Each type parses a string, or accepts a value that is already parsed, and
raises ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import dataclasses
import ipaddress
import json
import re
from typing import Any, TypeAlias

from oslo_config import types

from magnum_capi_helm.model import labels


class TextType(types.ConfigType):
    """A type whose values are text, or texts with a separator between."""

    kind = ""
    separator = ","

    def __init__(self, kind: str = "") -> None:
        super().__init__(type_name=kind or self.kind)

    def __repr__(self) -> str:
        # argparse names the type in the error by it.
        return str(self.type_name)

    def _formatter(self, value: Any) -> str:
        if isinstance(value, tuple):
            return self.separator.join(value)
        return str(value)


class Words(TextType):
    """Names separated by spaces."""

    kind = "list of names"
    separator = " "

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        return tuple(value.split() if isinstance(value, str) else value)


class ApiResources(TextType):
    """A JSON object: kind -> {"api_version": ..., "plural_name": ...}."""

    kind = "JSON object"

    def __call__(self, value: Any) -> dict[str, dict[str, str]]:
        parsed = json.loads(value or "{}") if isinstance(value, str) else value
        if not isinstance(parsed, dict) or not all(
            isinstance(each, dict) for each in parsed.values()
        ):
            raise ValueError(
                'must be a JSON object such as {"Cluster": '
                '{"api_version": "cluster.x-k8s.io/v1beta2"}}'
            )
        return parsed

    def _formatter(self, value: Any) -> str:
        return json.dumps(value)


class Integer(types.Integer):
    """A whole number in ASCII digits, which every reader of it takes.

    Python's own type also takes ``1_0`` and the digits of other scripts, and
    oslo.config nothing at all.
    """

    _FORM = re.compile(r"[+-]?[0-9]+")

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str) and not self._FORM.fullmatch(value.strip()):
            raise ValueError(f"{value!r} is not a whole number")
        return super().__call__(value)


class Share(types.Float):
    """A part of a whole: a number from 0 to 1."""

    _FORM = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")

    def __init__(self) -> None:
        super().__init__(min=0, max=1, type_name="share")

    def __call__(self, value: Any) -> Any:
        # Not a number is neither below 0 nor above 1.
        if not self._FORM.fullmatch(str(value).strip()):
            raise ValueError(f"{value!r} is not a share")
        return super().__call__(value)


class Form(TextType):
    """Text of one form.

    :param kind: name of the form, for the sample configuration
    :param form: a regular expression that matches the whole text
    """

    def __init__(self, kind: str, form: str) -> None:
        super().__init__(kind)
        self._form = re.compile(form, re.ASCII)

    def __call__(self, value: str) -> str:
        if not self._form.fullmatch(value):
            raise ValueError(f"{value!r} is not a {self.type_name}")
        return value


#: A semantic version, or nothing.
VERSION = Form("version", r"(v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]{1,99})?)?")


class Duration(TextType):
    """Whole hours, minutes and seconds in Go's form, such as ``1h30m``.

    :param minimum: the shortest that is allowed, in the same form
    """

    kind = "duration"

    _FORM = re.compile(
        r"(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,7})s)?", re.ASCII
    )

    def __init__(self, minimum: str = "1s") -> None:
        super().__init__()
        self._minimum = minimum

    def __call__(self, value: str) -> str:
        if self._seconds(value) < self._seconds(self._minimum):
            raise ValueError(f"{value!r} is shorter than {self._minimum}")
        return value

    def _seconds(self, value: str) -> int:
        match = self._FORM.fullmatch(value)
        if not value or not match:
            raise ValueError(f"{value!r} is not a duration")
        hours, minutes, seconds = (int(each or 0) for each in match.groups())
        return (hours * 60 + minutes) * 60 + seconds


class CountOrPercentage(TextType):
    """A count from 1, or a percentage from 1% to 100%."""

    kind = "count or percentage"

    _FORM = re.compile(r"[1-9][0-9]{0,5}|([1-9][0-9]?|100)%")

    def __call__(self, value: str | int) -> str | int:
        text = str(value).strip()
        if not self._FORM.fullmatch(text):
            raise ValueError(f"{value!r} is neither a count nor a percentage")
        return text if text.endswith("%") else int(text)


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

_LABEL_FORM = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL_FORM)
_ADMISSION_PLUGIN = re.compile(r"[A-Z][A-Za-z0-9]{0,79}")


def harmless(value: str) -> bool:
    """Return whether a value reaches its component unchanged."""
    return _HARMLESS.fullmatch(value) is not None


class Arguments(TextType):
    """``--name=value`` of a component, separated by spaces, as in Heat.

    The two dashes may be missing. Each name is there once.
    """

    kind = "arguments"

    def __call__(
        self, value: str | Iterable[Argument]
    ) -> tuple[Argument, ...]:
        text = value if isinstance(value, str) else self._formatter(value)
        arguments: dict[str, str] = {}
        for word in text.split():
            argument = _ARGUMENT.fullmatch(word)
            if argument is None:
                raise ValueError(f"{word!r} is not --name=value")
            if argument["name"] in arguments:
                raise ValueError(f"{argument['name']} is there twice")
            arguments[argument["name"]] = argument["value"]
        return tuple(arguments.items())

    def _formatter(self, value: Iterable[Argument]) -> str:
        return " ".join(f"--{name}={text}" for name, text in value)


class Listed(TextType):
    """A comma separated list of one kind of items, each of them once.

    :param kind: what an item is
    :param fits: returns whether a text is such an item
    """

    def __init__(self, kind: str, fits: Callable[[str], object]) -> None:
        super().__init__(f"list of {kind}")
        self._kind = kind
        self._fits = fits

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        items = [part.strip() for part in parts if part.strip()]
        for item in items:
            if not self._fits(item):
                raise ValueError(f"{item!r} is not one of {self._kind}")
        return tuple(dict.fromkeys(items))


class CipherSuites(Listed):
    """Cipher suites by Go's names, one that HTTP/2 demands among them."""

    def __init__(self) -> None:
        super().__init__("cipher suites", _CIPHER_SUITES.__contains__)

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        suites = super().__call__(value)
        if suites and not _HTTP2.intersection(suites):
            raise ValueError(f"HTTP/2 needs one of {sorted(_HTTP2)}")
        return suites


def _is_host(text: str) -> bool:
    """Return whether a text is an address or a DNS name, or ``*.`` a name."""
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
ADMISSION_PLUGINS = Listed("admission plugins", _ADMISSION_PLUGIN.fullmatch)


AnyNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The prefix lengths that are allowed, both inclusive."""

    largest: int
    smallest: int

    def __contains__(self, network: AnyNetwork) -> bool:
        return self.largest <= network.prefixlen <= self.smallest

    def __str__(self) -> str:
        return f"/{self.largest} to /{self.smallest}"


#: What no machine or pod can have: "this network", loopback, link-local
#: (Nova's metadata, too) and multicast (IANA's special-purpose registries).
_OTHER_USES: tuple[AnyNetwork, ...] = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "224.0.0.0/4",
            "::/127",
            "fe80::/10",
            "ff00::/8",
        ),
    )
)


def _check_network(network: AnyNetwork, sizes: Sizes) -> None:
    """Refuse networks of another size, or not for machines or pods.

    :raises labels.Reason: naming what the network overlaps
    """
    if network not in sizes:
        raise ValueError(f"{network} is not {sizes}")
    for each in _OTHER_USES:
        if each.version == network.version and network.overlaps(each):
            raise labels.Reason(f"{each} is for no machine and no pod")


class IPv4Network(TextType):
    """One IPv4 network of machines in CIDR notation, host bits zero.

    :param sizes: how large it may be
    """

    kind = "IPv4 network"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self._sizes = sizes

    def __call__(self, value: str) -> str:
        network = ipaddress.IPv4Network(value.strip())
        _check_network(network, self._sizes)
        return str(network)


class IPv4Networks(TextType):
    """A comma separated list of IPv4 networks."""

    kind = "list of IPv4 networks"

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(
            str(ipaddress.IPv4Network(part.strip()))
            for part in parts
            if part.strip()
        )


class ClusterNetworks(TextType):
    """Addresses inside of a cluster: IPv4, or IPv4 and then IPv6.

    Nodes and the Kubernetes API have IPv4 addresses first, and Kubernetes
    wants the first family everywhere to be the same.

    :param sizes: how large the IPv4 and the IPv6 network may be
    """

    kind = "networks"

    def __init__(self, *sizes: Sizes) -> None:
        super().__init__()
        self._sizes = sizes

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        if isinstance(value, str):
            # Magnum's client takes a comma for the end of a label: spaces too.
            value = re.split(r"[\s,]+", value.strip())
        parts = list(value)
        # Python takes any text after it: the zone of an IPv6 address.
        if any("%" in part for part in parts):
            raise ValueError("a network has no zone")
        networks = [ipaddress.ip_network(part) for part in parts]
        if [each.version for each in networks] not in ([4], [4, 6]):
            raise ValueError("not IPv4, or IPv4 and then IPv6")
        for network, sizes in zip(networks, self._sizes, strict=False):
            _check_network(network, sizes)
        return tuple(map(str, networks))


#: A DNS domain, as Kubernetes takes it (RFC 1123, lower case).
DOMAIN = Form("domain", rf"(?=.{{1,253}}\Z){_LABEL_FORM}(?:\.{_LABEL_FORM})*")


def choice(
    name: str,
    choices: tuple[str, ...],
    *,
    default: str = "",
    ignore_case: bool = False,
    **more: Any,
) -> labels.Label[str]:
    """Declare a label whose value is one of several words.

    :param default: if it is empty, the user may give an empty text as well
    """
    *first, last = choices
    allowed = f"{', '.join(first)} or {last}"
    words = list(choices) if default else ["", *choices]
    return labels.Label(
        name=name,
        type=types.String(choices=words, ignore_case=ignore_case),
        default=default,
        allowed=allowed,
        **more,
    )


def text(
    name: str, allowed: str, *, regex: str | None = None, **more: Any
) -> labels.Label[str]:
    """Declare a label whose value is text; empty: not given.

    :param regex: matches the empty text, too; None: any text
    """
    return labels.Label(
        name=name,
        type=types.String(regex=regex),
        default="",
        allowed=allowed,
        **more,
    )
