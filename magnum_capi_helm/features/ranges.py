# SPDX-License-Identifier: Apache-2.0

"""Address ranges of nodes, pods and services, and how they fit together."""

from __future__ import annotations

from collections.abc import Iterator
import ipaddress
import itertools
from typing import Any

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import network_types

#: kubeadm's limits (``ValidatePodSubnetNodeMask``): a node gets a /24 and a
#: /64, and the whole range has no more than 2^16 of them.
_POD_SIZES = (network_types.Sizes(8, 24), network_types.Sizes(48, 64))
#: kubeadm's limits (``ValidateServiceSubnetSize``): 2^20 addresses and no
#: fewer than ten.
_SERVICE_SIZES = (network_types.Sizes(12, 28), network_types.Sizes(108, 124))
#: The gateway, DHCP servers, load balancer and nodes have to fit in.
_NODE_SIZES = network_types.Sizes(8, 28)

#: Prefix length of what one node takes of the pods' range: Calico's blocks
#: as the chart makes them, and Kubernetes' own for Cilium.
_NODE_BLOCKS = {"calico": 26, "cilium": 24}

FIXED_SUBNET_CIDR = labels.Label(
    name="fixed_subnet_cidr",
    type=network_types.IPv4Network(_NODE_SIZES),
    default="10.0.0.0/24",
    allowed=f"an IPv4 network without host bits ({_NODE_SIZES})",
    details="an example is 10.0.0.0/24",
    help="Network of the nodes when the driver makes it, that is when "
    "neither fixed_network nor fixed_subnet is given.",
    becomes=("clusterNetworking.internalNetwork.nodeCidr",),
)
PODS: labels.Label[tuple[str, ...]] = labels.Label(
    name="pods_cidr",
    type=network_types.ClusterNetworks(*_POD_SIZES),
    default=("172.16.0.0/13",),
    allowed=f"an IPv4 network without host bits ({_POD_SIZES[0]}), for "
    f"dual-stack followed by an IPv6 network ({_POD_SIZES[1]})",
    details="an example is 10.100.0.0/16",
    help="Addresses of the pods. With Calico each node takes a /26 at least, "
    "with Cilium a /24.",
    aliases=("calico_ipv4pool", "cilium_ipv4pool", "flannel_network_cidr"),
    becomes=("kubeNetwork.pods.cidrBlocks",),
)
SERVICES: labels.Label[tuple[str, ...]] = labels.Label(
    name="service_cluster_ip_range",
    type=network_types.ClusterNetworks(*_SERVICE_SIZES),
    default=("172.24.0.0/13",),
    allowed=f"an IPv4 network without host bits ({_SERVICE_SIZES[0]}), for "
    f"dual-stack followed by an IPv6 network ({_SERVICE_SIZES[1]})",
    details="an example is 10.254.0.0/16",
    help="Addresses of the Kubernetes services.",
    becomes=("kubeNetwork.services.cidrBlocks",),
)


def is_made(network: cluster_spec.Network) -> bool:
    """Whether Cluster API's provider makes the network of the nodes."""
    return not (network.fixed_id or network.fixed_subnet_id)


def node_ranges(cluster: cluster_spec.Cluster) -> tuple[str, ...]:
    """Where the nodes' addresses are; empty: nobody looked them up."""
    if is_made(cluster.network):
        return (cluster.labels[FIXED_SUBNET_CIDR],)
    return cluster.network.subnet_cidrs


def _called(cluster: cluster_spec.Cluster, label: labels.Label[Any]) -> str:
    """The label's name, or the alias that the user gave."""
    given = cluster.labels.given(label)
    return given[0] if given else label.name


def _named_ranges(cluster: cluster_spec.Cluster) -> Iterator[tuple[str, str]]:
    """Each range with what the user calls it."""
    for label in (PODS, SERVICES):
        for each in cluster.labels[label]:
            yield _called(cluster, label), each
    network = cluster.network
    if is_made(network):
        name = FIXED_SUBNET_CIDR.name
    else:
        name = "fixed_subnet" if network.fixed_subnet_id else "fixed_network"
    for each in node_ranges(cluster):
        yield name, each


def _check_overlap(cluster: cluster_spec.Cluster) -> None:
    for (one, range_1), (other, range_2) in itertools.combinations(
        _named_ranges(cluster), 2
    ):
        first = ipaddress.ip_network(range_1)
        second = ipaddress.ip_network(range_2)
        if first.version == second.version and first.overlaps(second):
            raise errors.InvalidInput(
                f"{one} and {other} overlap: give ranges that have no address "
                f"in common. They are {range_1} and {range_2}"
            )


def _check_families(cluster: cluster_spec.Cluster) -> None:
    pods, services = cluster.labels[PODS], cluster.labels[SERVICES]
    name, given = _called(cluster, PODS), ", ".join(pods)
    if len(pods) != len(services):
        raise errors.InvalidInput(
            f"{name} and {_called(cluster, SERVICES)} differ in their IP "
            "versions: give both IPv4 alone, or both IPv4 and IPv6. They are "
            f"{given}, and {', '.join(services)}"
        )
    if len(pods) == 1:
        return
    if cluster.cni != "cilium":
        # The chart makes Calico's pools of /26 blocks, too large for IPv6;
        # the addon provider appends to lists, so no value replaces them.
        raise errors.InvalidInput(
            f"{name}: IPv6 works with network_driver=cilium, not with "
            f"{cluster.cni}. It is {given}"
        )
    versions = {
        ipaddress.ip_network(each).version for each in node_ranges(cluster)
    }
    # A group is no reason to look at the network of a living cluster again.
    if versions and 6 not in versions:
        raise errors.InvalidInput(
            f"{name}: nodes need IPv6 addresses, too; give a fixed_network "
            f"with an IPv4 and an IPv6 subnet. It is {given}"
        )


def _check_room(cluster: cluster_spec.Cluster) -> None:
    """Whether each node finds its block in the pods' range."""
    pods = ipaddress.ip_network(cluster.labels[PODS][0])
    block = _NODE_BLOCKS[cluster.cni]
    room = 2 ** (block - pods.prefixlen)
    groups = (cluster.control_plane, *cluster.node_groups)
    # While the control plane is replaced there is one node more.
    wanted = 1 + sum(max(each.count, each.maximum or 0) for each in groups)
    if wanted > room:
        raise errors.InvalidInput(
            f"{_called(cluster, PODS)} has room for {room} nodes of a "
            f"/{block} each, and the cluster can have {wanted} with the one "
            f"that an upgrade adds: give a larger network. It is {pods}"
        )


def check(cluster: cluster_spec.Cluster) -> None:
    """Refuse ranges that no cluster works with.

    :raises InvalidInput: naming the labels or fields and their ranges
    """
    _check_families(cluster)
    _check_overlap(cluster)
    _check_room(cluster)
