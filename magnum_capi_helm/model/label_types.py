# SPDX-License-Identifier: Apache-2.0

"""Types of labels and options in addition to those of oslo.config.

Each type parses a string, or accepts a value that is already parsed, and
raises ValueError. Its ``allowed`` says in words which values it accepts,
without a full stop, at which Magnum's API cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import ipaddress
import json
import re
from typing import Any, NamedTuple, TypeAlias, TypeVar

from oslo_config import types

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names

T = TypeVar("T")


class TextType(types.ConfigType):
    """A type whose values are text, or texts with a separator between.

    :param kind: name of the type, for the sample configuration
    :param allowed: the allowed values
    """

    kind = ""
    allowed = ""
    separator = ","

    def __init__(self, kind: str = "", allowed: str = "") -> None:
        super().__init__(type_name=kind or self.kind)
        self.allowed = allowed or self.allowed

    def __repr__(self) -> str:
        # argparse names the type in the error by it.
        return str(self.type_name)

    def _formatter(self, value: Any) -> str:
        if isinstance(value, tuple):
            return self.separator.join(value)
        return str(value)


def split(text: str) -> list[str]:
    """Return the parts between commas or spaces.

    Magnum's client takes a comma for the end of a label.
    """
    return [part for part in re.split(r"[\s,]+", text) if part]


def _parts(value: str | Iterable[str]) -> list[str]:
    """Return the items of a comma separated text, or of parsed items."""
    parts = value.split(",") if isinstance(value, str) else value
    return [part.strip() for part in parts if part.strip()]


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
    """A whole number in ASCII digits.

    ``int`` also accepts ``1_0`` and the digits of other scripts, and
    oslo.config the empty text.

    :param allowed: the allowed numbers, without the bounds
    """

    _FORM = re.compile(r"[+-]?[0-9]+")

    def __init__(
        self,
        min: int | None = None,
        max: int | None = None,
        allowed: str = "a whole number",
    ) -> None:
        super().__init__(min=min, max=max)
        self.allowed = f"{allowed} from {min} to {max}"

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str) and not self._FORM.fullmatch(value.strip()):
            raise ValueError(f"{value!r} is not a whole number")
        return super().__call__(value)


class Share(types.Float):
    """A part of a whole: a number from 0 to 1."""

    allowed = "a number from 0 to 1"

    _FORM = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")

    def __init__(self) -> None:
        super().__init__(min=0, max=1, type_name="share")

    def __call__(self, value: Any) -> Any:
        # oslo.config's comparison with the bounds lets nan pass.
        if not self._FORM.fullmatch(str(value).strip()):
            raise ValueError(f"{value!r} is not a share")
        return super().__call__(value)


class Form(TextType):
    """Text of one form.

    :param form: a regular expression that matches the whole text
    """

    def __init__(self, kind: str, form: str, allowed: str) -> None:
        super().__init__(kind, allowed)
        self._form = re.compile(form, re.ASCII)

    def __call__(self, value: str) -> str:
        if not self._form.fullmatch(value):
            raise ValueError(f"{value!r} is not a {self.type_name}")
        return value


#: A semantic version, or nothing.
VERSION = Form(
    "version",
    r"(v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]{1,99})?)?",
    "a chart version",
)


class Duration(TextType):
    """Whole hours, minutes and seconds in Go's form, such as ``1h30m``.

    :param minimum: the shortest that is allowed, in the same form
    """

    kind = "duration"

    _FORM = re.compile(
        r"(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,7})s)?", re.ASCII
    )

    def __init__(self, minimum: str) -> None:
        super().__init__(
            allowed=f"a duration such as 20m or 1h30m, from {minimum}"
        )
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
    allowed = "a number of machines from 1, or a percentage such as 40%"

    _FORM = re.compile(r"[1-9][0-9]{0,5}|([1-9][0-9]?|100)%")

    def __call__(self, value: str | int) -> str | int:
        text = str(value).strip()
        if not self._FORM.fullmatch(text):
            raise ValueError(f"{value!r} is neither a count nor a percentage")
        return text if text.endswith("%") else int(text)


_LABEL_FORM = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL_FORM)
_ADMISSION_PLUGIN = re.compile(r"[A-Z][A-Za-z0-9]{0,79}")


class Listed(TextType):
    """A comma separated list of one kind of items, each of them once.

    :param kind: kind of the items
    :param fits: returns whether a text is such an item
    """

    def __init__(
        self, kind: str, fits: Callable[[str], object], allowed: str
    ) -> None:
        super().__init__(f"list of {kind}", allowed)
        self._kind = kind
        self._fits = fits

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        items = _parts(value)
        for item in items:
            if not self._fits(item):
                raise ValueError(f"{item!r} is not one of {self._kind}")
        return tuple(dict.fromkeys(items))


def _is_host(text: str) -> bool:
    """Return whether a text is an address or a DNS name, or ``*.`` a name."""
    # ipaddress accepts any text as the zone of an IPv6 address.
    if "%" in text:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        parts = text.removeprefix("*.").split(".")
        return (
            len(text) <= 253
            and all(map(_DNS_LABEL.fullmatch, parts))
            # 192.0.2.300 is neither an address nor a name.
            and not parts[-1].isdigit()
        )
    return True


HOSTS = Listed(
    "DNS names and addresses",
    _is_host,
    "a comma separated list of DNS names and IP addresses",
)
NAMESPACES = Listed(
    "namespaces",
    _DNS_LABEL.fullmatch,
    "a comma separated list of namespaces, each of lower case letters, "
    "digits and -",
)
ADMISSION_PLUGINS = Listed(
    "admission plugins",
    _ADMISSION_PLUGIN.fullmatch,
    "a comma separated list of admission plugins such as "
    "AlwaysPullImages,PodNodeSelector",
)


AnyNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Sizes(NamedTuple):
    """The prefix lengths that are allowed, both inclusive."""

    largest: int
    smallest: int

    def __str__(self) -> str:
        return f"/{self.largest} to /{self.smallest}"


#: Networks that machines and pods can't use: "this network", loopback,
#: link-local with Nova's metadata, and multicast (IANA's special-purpose
#: registries).
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
    if not sizes.largest <= network.prefixlen <= sizes.smallest:
        raise ValueError(f"{network} is not {sizes}")
    for each in _OTHER_USES:
        if each.version == network.version and network.overlaps(each):
            raise labels.Reason(f"machines and pods can't use {each}")


#: ``createSubnet`` in CAPO's ``pkg/cloud/services/networking/network.go``.
IPV4_ALONE = "Cluster API's OpenStack provider makes IPv4 subnets alone"


class IPv4Network(TextType):
    """One IPv4 network of machines in CIDR notation, host bits zero.

    :param sizes: the allowed sizes
    """

    kind = "IPv4 network"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(
            allowed=f"an IPv4 network without host bits ({sizes})"
        )
        self._sizes = sizes

    def __call__(self, value: str) -> str:
        if ":" in value:
            raise labels.Reason(IPV4_ALONE)
        network = ipaddress.IPv4Network(value.strip())
        _check_network(network, self._sizes)
        return str(network)


class IPv4Networks(TextType):
    """A comma separated list of IPv4 networks."""

    kind = "list of IPv4 networks"
    allowed = "IPv4 networks without host bits, separated by commas"

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        return tuple(
            str(ipaddress.IPv4Network(part)) for part in _parts(value)
        )


class ClusterNetworks(TextType):
    """Addresses inside of a cluster: IPv4, or IPv4 and then IPv6.

    Nodes and the Kubernetes API have IPv4 addresses first, and Kubernetes
    wants the first family everywhere to be the same.

    :param sizes: the allowed sizes of the IPv4 and of the IPv6 network
    """

    kind = "networks"

    def __init__(self, *sizes: Sizes) -> None:
        super().__init__(
            allowed=f"an IPv4 network without host bits ({sizes[0]}), for "
            f"dual-stack followed by an IPv6 network ({sizes[1]})"
        )
        self._sizes = sizes

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        if isinstance(value, str):
            # As split(), but an empty part is an error.
            value = re.split(r"[\s,]+", value.strip())
        parts = list(value)
        # ipaddress accepts any text as the zone of an IPv6 address.
        if any("%" in part for part in parts):
            raise ValueError("a network has no zone")
        networks = [ipaddress.ip_network(part) for part in parts]
        families = [each.version for each in networks]
        if families == [6]:
            raise labels.Reason(f"{IPV4_ALONE}, and floating IPs are IPv4")
        if families not in ([4], [4, 6]):
            raise ValueError("not IPv4, or IPv4 and then IPv6")
        for network, sizes in zip(networks, self._sizes, strict=False):
            _check_network(network, sizes)
        return tuple(map(str, networks))


#: A DNS domain, as Kubernetes takes it (RFC 1123, lower case).
DOMAIN = Form(
    "domain",
    rf"(?=.{{1,253}}\Z){_LABEL_FORM}(?:\.{_LABEL_FORM})*",
    "a DNS domain in lower case",
)

# Labels and taints of Kubernetes nodes. The rules are those of Kubernetes
# (pkg/apis/core/validation) and of the kubelet, which may not set every label
# on its own node.

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Taints: TypeAlias = tuple[cluster_spec.Taint, ...]
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

#: Prefixes of the driver's and the chart's labels, which name a node's group.
_RESERVED = ("magnum.openstack.org/", "capi.stackhpc.com/")

_KEY_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_NAME_RULE = "up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at both ends"
_KEY_PREFIX = re.compile(
    r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?"
    r"(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
)

#: Namespaces of Kubernetes, with all below them, and those that a kubelet
#: may use all the same (pkg/apis/node and the kubelet's well-known labels).
_KUBERNETES = ("kubernetes.io", "k8s.io")
_OPEN = ("kubelet.kubernetes.io", "node.kubernetes.io")
_LISTED = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)


def as_node_label_value(text: str) -> str:
    """Replace the characters that a label's value can't contain by ``-``."""
    kept = re.sub("[^A-Za-z0-9_.-]+", "-", text)[: names.LIMIT]
    return kept.strip("-_.")


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and not _KEY_PREFIX.fullmatch(prefix):
        raise labels.Reason(
            f"{errors.shown(prefix)} is no DNS name before the / of "
            f"{errors.shown(key)}"
        )
    if not _KEY_NAME.fullmatch(name):
        raise labels.Reason(f"{errors.shown(key)} is no key: {_NAME_RULE}")


def _check_value(value: str) -> None:
    if value and not _KEY_NAME.fullmatch(value):
        raise labels.Reason(f"{errors.shown(value)} is no value: {_NAME_RULE}")


def _check_allowed(key: str) -> None:
    if key.startswith(_RESERVED):
        raise labels.Reason(f"the driver itself sets {key}")
    space = key.rpartition("/")[0]
    if not _within(space, _KUBERNETES):
        return
    if not _within(space, _OPEN) and key not in _LISTED:
        raise labels.Reason(
            f"{key} is Kubernetes' own: a node may set only "
            f"{', '.join(f'{each}/*' for each in _OPEN)} and a few listed "
            "ones"
        )


def _within(space: str, spaces: tuple[str, ...]) -> bool:
    return any(space == each or space.endswith(f".{each}") for each in spaces)


class NodeLabels(TextType):
    """``key=value`` pairs, separated by commas, that a kubelet may set."""

    kind = "labels of nodes"
    allowed = "key=value pairs that a kubelet may set, separated by commas"

    def __call__(self, value: str | Iterable[tuple[str, str]]) -> Pairs:
        checked: dict[str, str] = {}
        for key, text in _parsed(value, _parse_pair):
            _check_key(key)
            _check_value(text)
            _check_allowed(key)
            if key in checked:
                raise labels.Reason(f"{key} is given twice")
            checked[key] = text
        return tuple(checked.items())

    def _formatter(self, value: Pairs) -> str:
        return ",".join(f"{key}={text}" for key, text in value)


class NodeTaints(TextType):
    """``key=value:effect`` or ``key:effect``, separated by commas."""

    kind = "taints of nodes"
    allowed = (
        "key=value:effect or key:effect, separated by commas, with the "
        f"effects {', '.join(EFFECTS)}"
    )

    def __call__(self, value: str | Iterable[cluster_spec.Taint]) -> Taints:
        checked: dict[tuple[str, str], cluster_spec.Taint] = {}
        for taint in _parsed(value, _parse_taint):
            _check_key(taint.key)
            _check_value(taint.value)
            if taint.effect not in EFFECTS:
                raise labels.Reason(
                    f"{errors.shown(taint.effect)} is no effect; give "
                    f"{errors.one_of(EFFECTS)}"
                )
            name = taint.key, taint.effect
            if name in checked:
                raise labels.Reason(f"{':'.join(name)} is given twice")
            checked[name] = taint
        return tuple(checked.values())

    def _formatter(self, value: Taints) -> str:
        return ",".join(
            f"{each.key}={each.value}:{each.effect}"
            if each.value
            else f"{each.key}:{each.effect}"
            for each in value
        )


def _parsed(value: str | Iterable[T], parse: Callable[[str], T]) -> list[T]:
    """Return the items of a comma separated text, or of parsed items."""
    if not isinstance(value, str):
        return list(value)
    return [parse(part) for part in _parts(value)]


def _parse_pair(part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not equals:
        raise labels.Reason(f"{errors.shown(part)} has no =")
    return key.strip(), value.strip()


def _parse_taint(part: str) -> cluster_spec.Taint:
    head, colon, effect = part.rpartition(":")
    if not colon:
        raise labels.Reason(f"{errors.shown(part)} has no :effect")
    key, _, value = head.partition("=")
    return cluster_spec.Taint(key.strip(), effect.strip(), value.strip())
