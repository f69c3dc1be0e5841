# SPDX-License-Identifier: Apache-2.0

"""How many minor versions the parts of a cluster are apart.

Kubernetes has the limits: https://kubernetes.io/releases/version-skew-policy/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from magnum_capi_helm.model import versions


class Skew(NamedTuple):
    """Numbers of minor versions.

    :ivar servers: from the oldest API server to the newest one
    :ivar behind: from the oldest kubelet to the newest API server
    :ivar ahead: from the oldest API server to the newest kubelet; negative:
        the kubelet is older
    """

    servers: int
    behind: int
    ahead: int


def minor(version: str) -> int:
    """Return the minor version.

    :raises ValueError: it is no version
    """
    number = versions.number(version)
    if number is None:
        raise ValueError(f"no version: {version!r}")
    return number[1]


def measure(servers: Collection[str], kubelets: Collection[str]) -> Skew:
    """Return the skew of a cluster at one moment.

    :param servers: versions of API servers; at least one
    :param kubelets: versions of workers' kubelets; at least one. Those of the
        control plane ask the API server of their own machine.
    """
    served, known = set(map(minor, servers)), set(map(minor, kubelets))
    oldest, newest = min(served), max(served)
    return Skew(newest - oldest, newest - min(known), max(known) - oldest)


def widest(skews: Iterable[Skew]) -> Skew:
    """Return the highest of each number; there is at least one skew."""
    return Skew(*map(max, zip(*skews, strict=True)))
