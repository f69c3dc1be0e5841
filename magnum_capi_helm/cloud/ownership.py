# SPDX-License-Identifier: Apache-2.0

"""What the controllers inside a cluster made in its project.

cloud-provider-openstack writes the name of its cluster into all that it
makes; the chart gives it the name of the release. Nothing else says whose an
object is, so a match is exact: names of Services, of their namespaces and of
releases have neither spaces nor underscores, and cluster ``a`` never takes
what belongs to ``a-b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Names of load balancers, and their tags: one for each Service.
_SERVICE = "kube_service_"
_ADDRESS = "Floating IP for Kubernetes external service "
_GROUP = "Security Group for "
#: Metadata of volumes and snapshots: the cluster.
_CLUSTER = "cinder.csi.openstack.org/cluster"
#: Metadata by which users keep a volume; cluster-api-janitor-openstack's.
_KEEP = "janitor.capi.azimuth-cloud.com/keep"


def balances(name: str, release: str) -> bool:
    """Whether a load balancer was made for a Service of the cluster.

    The one of the Kubernetes API has another name, and belongs to Cluster
    API's provider.
    """
    return name.startswith(f"{_SERVICE}{release}_")


def shared(tags: Iterable[str], release: str) -> bool:
    """Whether a load balancer also serves another cluster's Services."""
    own = f"{_SERVICE}{release}_"
    return any(
        tag.startswith(_SERVICE) and not tag.startswith(own) for tag in tags
    )


def addresses(description: str, release: str) -> bool:
    """Whether a floating IP was made for a Service of the cluster.

    One that the user made, and named in a Service, has the user's text.
    """
    before, _, cluster = description.rpartition(" from cluster ")
    return cluster == release and before.startswith(_ADDRESS)


def guards(description: str, release: str) -> bool:
    """Whether a security group was made for a Service of the cluster."""
    before, _, cluster = description.rpartition(
        " Service LoadBalancer in cluster "
    )
    return cluster == release and before.startswith(_GROUP)


def stores(metadata: Mapping[str, str], release: str) -> bool:
    """Whether a volume or snapshot was made for a claim of the cluster.

    Without those that the user wants to keep.
    """
    if metadata.get(_KEEP) == "true":
        return False
    return metadata.get(_CLUSTER) == release
