# SPDX-License-Identifier: Apache-2.0

"""Versions of the openstack-cluster chart and of the software that it needs.

Every difference between versions of the chart is written down once, as a
:class:`Range`. Sources: ``dependencies.json`` and the templates of each tag of
azimuth-cloud/capi-helm-charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import functools
import re

from magnum_capi_helm.model import encoding

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)\.(\d+)", re.ASCII)
_FUTURE = (2**31, 0, 0)

Number = tuple[int, int, int]


def number(version: str) -> Number | None:
    """Return the three numbers that a version begins with, to compare it.

    A pre-release counts as its release. Charts have semantic versions, such
    as 0.27.0-dev.1.main.5, which PEP 440 does not allow.
    """
    match = _NUMBERS.match(version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def is_older(one: str, other: str) -> bool:
    """Return whether a version is older than another, if both are known."""
    first, second = number(one), number(other)
    return bool(first and second and first < second)


@dataclasses.dataclass(frozen=True)
class Range:
    """Versions from ``since`` to ``until``, both inclusive; empty is open.

    Text that is no version counts as the newest one.
    """

    since: str = ""
    until: str = ""

    def __contains__(self, version: object) -> bool:
        this = number(str(version)) or _FUTURE
        oldest = number(self.since) or (0, 0, 0)
        return oldest <= this and (
            not self.until or this <= (number(self.until) or _FUTURE)
        )

    def __str__(self) -> str:
        if self.since and self.until:
            return f"{self.since} to {self.until}"
        if self.since:
            return f"{self.since} and later"
        return f"up to {self.until}" if self.until else "all"


#: Any version.
ALL = (Range(),)


def applies(ranges: Iterable[Range], version: str) -> bool:
    """Return whether a version is in one of the ranges."""
    return any(version in each for each in ranges)


def describe(ranges: Iterable[Range]) -> str:
    """Return the ranges in words, for messages and the documentation."""
    return ", ".join(map(str, ranges))


#: Defects and peculiarities of some versions of the chart.
TRAPS: Mapping[Range, str] = {
    Range(**entry["charts"]): entry["text"]
    for entry in encoding.package_data("traps.yaml")
}


def traps(version: str) -> tuple[str, ...]:
    """Return the defects and peculiarities of a version of the chart."""
    return tuple(text for charts, text in TRAPS.items() if version in charts)


@dataclasses.dataclass(frozen=True)
class Combination:
    """Versions of components that were tested together.

    :param charts: the versions of the chart
    :param cluster_api: version of Cluster API
    :param provider: version of Cluster API's OpenStack provider (CAPO)
    :param addons: version of the addon provider
    :param janitor: version of cluster-api-janitor-openstack
    :param cert_manager: version of cert-manager
    :param helm: version of helm
    :param kubernetes: first and last minor version of clusters
    :param resources: version of the OpenStack resource controller (ORC);
        empty where it is not needed
    """

    charts: Sequence[str]
    cluster_api: str
    provider: str
    addons: str
    janitor: str
    cert_manager: str
    helm: str
    kubernetes: Sequence[str]
    resources: str = ""

    @property
    def needs(self) -> str:
        """Describe the software that the management cluster needs."""
        parts = [
            f"Cluster API {self.cluster_api}",
            f"CAPO {self.provider}",
            f"addon provider {self.addons}",
            f"ORC {self.resources}" if self.resources else "",
            f"Kubernetes {'-'.join(self.kubernetes)}",
        ]
        return ", ".join(filter(None, parts))


@functools.cache
def tested_releases() -> tuple[Combination, ...]:
    """Return the content of ``versions.yaml``, the oldest release first.

    The documentation, DevStack and the installer of management clusters take
    the versions from this file as well.
    """
    entries = encoding.package_data("versions.yaml")
    return tuple(Combination(**entry) for entry in entries)


def find_tested(chart: str) -> Combination | None:
    """Return the release that a version of the chart belongs to.

    None: the driver does not know that version. It may work, too.
    """
    bare = chart.removeprefix("v")
    return next(
        (each for each in tested_releases() if bare in each.charts), None
    )


def known_charts() -> tuple[str, ...]:
    """Return all versions of the chart that are known, the oldest first."""
    return tuple(chart for each in tested_releases() for chart in each.charts)
