# SPDX-License-Identifier: Apache-2.0

"""The releases of the openstack-cluster chart that the driver is made for.

What each release was tested with is in ``versions.yaml``; the traps are in its
templates, of azimuth-cloud/capi-helm-charts, by tag.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import tested_versions


@dataclasses.dataclass(frozen=True)
class Trap:
    """What is wrong with, or peculiar to, some versions of the chart."""

    versions: chart_versions.Range
    text: str


_Range = chart_versions.Range

TRAPS: tuple[Trap, ...] = (
    Trap(
        _Range("0.10.1", "0.10.1"),
        "makes objects of CAPO v1alpha7: needs CAPO below 0.12; with a newer "
        "one, clusters can be upgraded to another chart version and deleted, "
        "and nothing else",
    ),
    Trap(
        _Range("0.11.0"),
        "replaces all machines of a cluster that comes from 0.10.1",
    ),
    Trap(
        _Range("0.11.0", "0.14.0"),
        "passes networks of additional ports on as they are: give them by "
        "filter, for CAPO v1beta1 knows neither name nor ID there",
    ),
    Trap(
        _Range("0.11.0", "0.15.0"),
        "ignores DNS servers (clusterNetworking.dnsNameservers)",
    ),
    Trap(
        _Range("0.11.0", "0.23.0"),
        "does not apply allowed CIDRs of the Kubernetes API: it stays open",
    ),
    Trap(
        _Range("0.10.1", "0.14.1"),
        "gives kube-apiserver an argument that Kubernetes 1.33 refuses",
    ),
    Trap(
        _Range("0.10.1", "0.15.0"),
        "takes authWebhook: none for a webhook: the key has to be left out",
    ),
    Trap(
        _Range("0.15.0"),
        "replaces the control plane of a cluster that comes from 0.14.1 or "
        "older",
    ),
    Trap(
        _Range("0.16.0"),
        "replaces the control plane of a cluster that comes from 0.15.0",
    ),
    Trap(
        _Range("0.16.0"),
        "with CAPO below 0.13, refuses to upgrade clusters with DNS servers "
        "from 0.15.0 and older, which ignored them",
    ),
    Trap(
        _Range("0.10.1", "0.25.1"),
        "refuses autoscaling from zero machines",
    ),
    Trap(_Range("0.20.0"), "has no Kubernetes dashboard and removes it"),
    Trap(
        _Range("0.23.0"),
        "has Traefik as ingress controller where older versions have NGINX",
    ),
    Trap(
        _Range("0.26.0", "0.26.0"),
        "spells workerNodesSecurityGroupRules workerNodeSecurityGroupRules",
    ),
    Trap(
        _Range("0.26.0"),
        "fails with any controlPlaneNodesSecurityGroupRules",
    ),
)


def releases() -> tuple[tested_versions.Release, ...]:
    """What there is of each version of the chart, the oldest first."""
    return tested_versions.load()


def find(version: str) -> tested_versions.Release | None:
    """What a version was tested with; None when the driver doesn't know it.

    It may well work: the newest the driver knows is the last one here.
    """
    bare = version.removeprefix("v")
    return next((each for each in releases() if bare in each.charts), None)


def versions() -> tuple[str, ...]:
    """All versions that the driver knows, the oldest first."""
    return tuple(each for row in releases() for each in row.charts)


def traps(version: str) -> tuple[str, ...]:
    """What to know of a version."""
    return tuple(each.text for each in TRAPS if version in each.versions)
