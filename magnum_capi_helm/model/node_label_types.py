# SPDX-License-Identifier: Apache-2.0

"""Labels and taints of Kubernetes nodes.

The rules are those of Kubernetes (pkg/apis/core/validation) and of the
kubelet, which may not set every label on its own node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import re
from typing import TypeAlias, TypeVar

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Taints: TypeAlias = tuple[cluster_spec.Taint, ...]
T = TypeVar("T")

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

#: Prefixes of the driver's and the chart's labels, which name a node's group.
_RESERVED = ("magnum.openstack.org/", "capi.stackhpc.com/")

_KEY_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
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
        raise labels.Reason(
            f"{errors.shown(key)} is no key: up to 63 of A-Z a-z 0-9 - "
            "_ . , a letter or digit at both ends"
        )


def _check_value(value: str) -> None:
    if value and not _KEY_NAME.fullmatch(value):
        raise labels.Reason(
            f"{errors.shown(value)} is no value: up to 63 of A-Z a-z 0-9 "
            "- _ . , a letter or digit at both ends"
        )


def _check_allowed(key: str) -> None:
    if key.startswith(_RESERVED):
        raise labels.Reason(f"{key} is set by the driver")
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


class NodeLabels(label_types.TextType):
    """``key=value`` pairs, separated by commas, that a kubelet may set."""

    kind = "labels of nodes"

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


class NodeTaints(label_types.TextType):
    """``key=value:effect`` or ``key:effect``, separated by commas."""

    kind = "taints of nodes"

    def __call__(self, value: str | Iterable[cluster_spec.Taint]) -> Taints:
        checked: dict[tuple[str, str], cluster_spec.Taint] = {}
        for taint in _parsed(value, _parse_taint):
            _check_key(taint.key)
            _check_value(taint.value)
            if taint.effect not in EFFECTS:
                raise labels.Reason(
                    f"{errors.shown(taint.effect)} is no effect: one of "
                    f"{', '.join(EFFECTS)}"
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
    return [parse(part.strip()) for part in value.split(",") if part.strip()]


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
