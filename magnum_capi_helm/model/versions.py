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
    Range("0.10.1", "0.10.1"): "makes objects of CAPO v1alpha7: needs CAPO "
    "below 0.12; with a newer one, clusters can be upgraded to another chart "
    "version and deleted, and nothing else; gives servers no metadata",
    Range("0.11.0"): "replaces all machines of a cluster that comes from "
    "0.10.1",
    Range("0.11.0", "0.14.0"): "passes networks of additional ports on as "
    "they are: give them by filter, for CAPO v1beta1 knows neither name nor "
    "ID there",
    Range("0.11.0", "0.15.0"): "ignores DNS servers "
    "(clusterNetworking.dnsNameservers)",
    Range("0.11.0", "0.23.0"): "does not apply allowed CIDRs of the "
    "Kubernetes API: the driver sets them itself",
    Range("0.10.1", "0.14.1"): "gives kube-apiserver an argument that "
    "Kubernetes 1.33 refuses",
    Range("0.10.1", "0.15.0"): "takes authWebhook: none for a webhook: the "
    "key has to be left out",
    Range("0.15.0"): "replaces the control plane of a cluster that comes from "
    "0.14.1 or older",
    Range("0.16.0"): "replaces the control plane of a cluster that comes from "
    "0.15.0; with CAPO below 0.13, refuses to upgrade clusters with DNS "
    "servers from 0.15.0 and older, which ignored them",
    Range("0.16.1"): "replaces all machines of a cluster with "
    "keystone_auth_enabled that comes from 0.16.0 or older",
    Range("0.10.1", "0.25.1"): "refuses autoscaling from zero machines",
    Range("0.20.0"): "has no Kubernetes dashboard and removes it",
    Range("0.23.0"): "has Traefik as ingress controller where older versions "
    "have NGINX",
    Range("0.26.0", "0.26.0"): "spells workerNodesSecurityGroupRules "
    "workerNodeSecurityGroupRules: the driver corrects what it renders",
    Range("0.26.0"): "fails with any controlPlaneNodesSecurityGroupRules",
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
