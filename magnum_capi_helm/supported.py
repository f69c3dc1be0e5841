# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The releases of the openstack-cluster chart that the driver is made for.

What each release was tested with is its own ``dependencies.json``; the traps
are in its templates. Both of azimuth-cloud/capi-helm-charts, by tag.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm import chart_versions


@dataclasses.dataclass(frozen=True)
class Release:
    """What some versions of the chart were tested with, all of it together.

    :param cluster_api: version of Cluster API
    :param provider: version of Cluster API's OpenStack provider (CAPO)
    :param addons: version of the addon provider
    :param resources: version of the OpenStack resource controller (ORC);
        empty where it is not needed
    :param helm: version of helm
    :param kubernetes: first and last minor version
    """

    versions: tuple[str, ...]
    cluster_api: str
    provider: str
    addons: str
    resources: str
    helm: str
    kubernetes: tuple[str, str]

    @property
    def needs(self) -> str:
        """What the management cluster has to have, in words."""
        parts = [
            f"Cluster API {self.cluster_api}",
            f"CAPO {self.provider}",
            f"addon provider {self.addons}",
            f"ORC {self.resources}" if self.resources else "",
            f"Kubernetes {'-'.join(self.kubernetes)}",
        ]
        return ", ".join(filter(None, parts))


@dataclasses.dataclass(frozen=True)
class Trap:
    """What is wrong with, or peculiar to, some versions of the chart."""

    versions: chart_versions.Range
    text: str


_K29 = ("1.29", "1.31")
_K32 = ("1.32", "1.34")
_K33 = ("1.33", "1.35")

#: The oldest first.
RELEASES: tuple[Release, ...] = (
    Release(("0.10.1",), "1.8.1", "0.10.4", "0.6.1", "", "3.15.4", _K29),
    Release(("0.11.0",), "1.8.4", "0.10.5", "0.7.0", "", "3.16.2", _K29),
    Release(
        ("0.11.1", "0.11.2"), "1.8.4", "0.10.5", "0.7.1", "", "3.16.2", _K29
    ),
    Release(
        ("0.12.0", "0.12.1", "0.12.2", "0.13.0"),
        "1.8.5",
        "0.11.3",
        "0.7.2",
        "",
        "3.16.3",
        _K29,
    ),
    Release(("0.14.0",), "1.8.5", "0.11.3", "0.7.2", "", "3.17.0", _K29),
    Release(("0.14.1",), "1.9.6", "0.11.3", "0.7.2", "", "3.17.0", _K29),
    Release(
        ("0.15.0",), "1.9.6", "0.11.3", "0.8.1", "", "3.17.3", ("1.29", "1.32")
    ),
    Release(
        ("0.16.0", "0.16.1"),
        "1.9.6",
        "0.11.3",
        "0.8.1",
        "",
        "3.17.3",
        ("1.30", "1.33"),
    ),
    Release(
        ("0.17.0", "0.18.0", "0.19.0"),
        "1.10.4",
        "0.11.3",
        "0.10.1",
        "",
        "3.17.3",
        _K32,
    ),
    Release(
        ("0.19.1", "0.19.2"), "1.10.4", "0.11.3", "0.10.3", "", "3.17.3", _K32
    ),
    Release(
        ("0.20.0", "0.21.0", "0.22.0"),
        "1.10.4",
        "0.11.3",
        "0.10.4",
        "",
        "3.17.3",
        _K32,
    ),
    Release(("0.23.0",), "1.10.4", "0.11.3", "0.11.0", "", "3.17.3", _K32),
    Release(
        ("0.24.0", "0.24.1"),
        "1.13.1",
        "0.14.4",
        "0.11.0",
        "2.4.0",
        "3.17.3",
        ("1.33", "1.34"),
    ),
    Release(
        ("0.25.0",), "1.13.1", "0.14.4", "0.12.0", "2.5.0", "3.17.3", _K33
    ),
    Release(
        ("0.25.1", "0.26.0", "0.26.1"),
        "1.13.2",
        "0.14.4",
        "0.12.0",
        "2.5.0",
        "3.17.3",
        _K33,
    ),
    Release(
        ("0.27.0",),
        "1.13.3",
        "0.14.6",
        "0.12.1",
        "2.6.0",
        "3.17.3",
        ("1.33", "1.36"),
    ),
)

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


def find(version: str) -> Release | None:
    """What a version was tested with; None when the driver doesn't know it.

    It may well work: the newest the driver knows is the last one here.
    """
    bare = version.removeprefix("v")
    return next((each for each in RELEASES if bare in each.versions), None)


def versions() -> tuple[str, ...]:
    """All versions that the driver knows, the oldest first."""
    return tuple(each for row in RELEASES for each in row.versions)


def traps(version: str) -> tuple[str, ...]:
    """What to know of a version."""
    return tuple(each.text for each in TRAPS if version in each.versions)
