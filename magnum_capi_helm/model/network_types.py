# SPDX-License-Identifier: Apache-2.0

"""Types of labels and options that hold networks.

Like :mod:`magnum_capi_helm.model.option_types`: each is a parser that
takes a string or a value that is already parsed, and raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import ipaddress
import re
from typing import TypeAlias

from oslo_config import types

from magnum_capi_helm.model import labels

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The prefix lengths that are allowed, both inclusive."""

    largest: int
    smallest: int

    def __contains__(self, network: Network) -> bool:
        return self.largest <= network.prefixlen <= self.smallest

    def __str__(self) -> str:
        return f"/{self.largest} to /{self.smallest}"


_ANY_IPV4 = Sizes(0, 32)

#: What no machine or pod can have: "this network", loopback, link-local
#: (Nova's metadata, too) and multicast (IANA's special-purpose registries).
_OTHER_USES: tuple[Network, ...] = tuple(
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


def _check_use(network: Network) -> None:
    """Refuse addresses that are not for machines or pods.

    :raises labels.Reason: naming what the network overlaps
    """
    for each in _OTHER_USES:
        if each.version == network.version and network.overlaps(each):
            raise labels.Reason(f"{each} is for no machine and no pod")


class IPv4Network(types.ConfigType):
    """One IPv4 network of machines in CIDR notation, host bits zero.

    :param sizes: how large it may be
    """

    def __init__(self, sizes: Sizes = _ANY_IPV4) -> None:
        super().__init__(type_name="IPv4 network")
        self._sizes = sizes

    def __call__(self, value: str) -> str:
        network = ipaddress.IPv4Network(value.strip())
        if network not in self._sizes:
            raise ValueError(f"{network} is not {self._sizes}")
        _check_use(network)
        return str(network)

    def __repr__(self) -> str:
        return "IPv4Network"

    def _formatter(self, value: str) -> str:
        return value


class IPv4Networks(types.ConfigType):
    """A comma separated list of IPv4 networks."""

    def __init__(self) -> None:
        super().__init__(type_name="list of IPv4 networks")

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(
            str(ipaddress.IPv4Network(part.strip()))
            for part in parts
            if part.strip()
        )

    def __repr__(self) -> str:
        return "IPv4Networks"

    def _formatter(self, value: Iterable[str]) -> str:
        return ",".join(value)


class ClusterNetworks(types.ConfigType):
    """Addresses inside of a cluster: IPv4, or IPv4 and then IPv6.

    Nodes and the Kubernetes API have IPv4 addresses first, and Kubernetes
    wants the first family everywhere to be the same.

    :param ipv4: how large the IPv4 network may be
    :param ipv6: how large the IPv6 network may be
    """

    def __init__(self, ipv4: Sizes, ipv6: Sizes) -> None:
        super().__init__(type_name="networks")
        self._ipv4 = ipv4
        self._ipv6 = ipv6

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        # Magnum's client takes a comma for the end of a label: spaces too.
        parts = (
            re.split(r"[\s,]+", value.strip())
            if isinstance(value, str)
            else list(value)
        )
        # Python takes any text after it: the zone of an IPv6 address.
        if any("%" in part for part in parts):
            raise ValueError("a network has no zone")
        networks = [ipaddress.ip_network(part) for part in parts]
        if [each.version for each in networks] not in ([4], [4, 6]):
            raise ValueError("not IPv4, or IPv4 and then IPv6")
        for each, sizes in zip(
            networks, (self._ipv4, self._ipv6), strict=False
        ):
            if each not in sizes:
                raise ValueError(f"{each} is not {sizes}")
            _check_use(each)
        return tuple(map(str, networks))

    def __repr__(self) -> str:
        return "ClusterNetworks"

    def _formatter(self, value: Iterable[str]) -> str:
        return ",".join(value)


class Domain(types.ConfigType):
    """A DNS domain, as Kubernetes takes it (RFC 1123, lower case)."""

    _LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    _FORM = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
    _LONGEST = 253

    def __init__(self) -> None:
        super().__init__(type_name="domain")

    def __call__(self, value: str) -> str:
        if len(value) > self._LONGEST or not self._FORM.fullmatch(value):
            raise ValueError(f"{value!r} is not a domain")
        return value

    def __repr__(self) -> str:
        return "Domain"

    def _formatter(self, value: str) -> str:
        return value
