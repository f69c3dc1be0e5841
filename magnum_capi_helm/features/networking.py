# SPDX-License-Identifier: Apache-2.0

"""Networks and address ranges of nodes, pods and services; the CNI."""

from __future__ import annotations

from collections.abc import Iterator
import ipaddress
import itertools
import re
from typing import Any

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("Networks")

#: Network plugins that the chart installs.
CNIS = ("calico", "cilium")

_CILIUM = "addons.cni.cilium.release.values"

#: Charts that read name servers. The versions in between ignore them.
NAME_SERVERS = (versions.Range(until="0.10.1"), versions.Range(since="0.16.0"))

_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

#: Versions that write ports as their provider understands them.
_PORTS = (versions.Range(until="0.10.1"), versions.Range(since="0.14.1"))


#: kubeadm's limits (``ValidatePodSubnetNodeMask``): a node gets a /24 and a
#: /64, and the whole range has no more than 2^16 of them.
_POD_SIZES = (label_types.Sizes(8, 24), label_types.Sizes(48, 64))
#: kubeadm's limits (``ValidateServiceSubnetSize``): 2^20 addresses and no
#: fewer than ten.
_SERVICE_SIZES = (label_types.Sizes(12, 28), label_types.Sizes(108, 124))
#: The gateway, DHCP servers, load balancer and nodes have to fit in.
_NODE_SIZES = label_types.Sizes(8, 28)

#: Prefix length of a node's part of the pods' range: Calico's blocks
#: as the chart makes them, and Kubernetes' own for Cilium.
_NODE_BLOCKS = {"calico": 26, "cilium": 24}

FIXED_SUBNET_CIDR = TOPIC.label(
    "fixed_subnet_cidr",
    label_types.IPv4Network(_NODE_SIZES),
    "10.0.0.0/24",
    details="an example is 10.0.0.0/24",
    help="Addresses of the nodes' network. The label has an effect only if "
    "neither fixed_network nor fixed_subnet is set, because CAPO then makes "
    "the network.",
    becomes=(paths.NODE_CIDR,),
)
PODS: labels.Label[tuple[str, ...]] = TOPIC.label(
    "pods_cidr",
    label_types.ClusterNetworks(*_POD_SIZES),
    ("172.16.0.0/13",),
    details="an example is 10.100.0.0/16",
    help="Addresses of the pods. Each node takes at least a /26 with Calico, "
    "and a /24 with Cilium.",
    aliases=("calico_ipv4pool", "cilium_ipv4pool", "flannel_network_cidr"),
    becomes=(f"{paths.KUBE_NETWORK}.pods.cidrBlocks",),
)
SERVICES: labels.Label[tuple[str, ...]] = TOPIC.label(
    "service_cluster_ip_range",
    label_types.ClusterNetworks(*_SERVICE_SIZES),
    ("172.24.0.0/13",),
    details="an example is 10.254.0.0/16",
    help="Addresses of the Kubernetes Services.",
    becomes=(f"{paths.KUBE_NETWORK}.services.cidrBlocks",),
)


def is_made(network: cluster_spec.Network) -> bool:
    """Return whether Cluster API's provider makes the nodes' network."""
    return not (network.fixed_id or network.fixed_subnet_id)


def node_ranges(cluster: cluster_spec.Cluster) -> tuple[str, ...]:
    """Return the address ranges of the nodes; () if they are not known."""
    if is_made(cluster.network):
        return (cluster.labels[FIXED_SUBNET_CIDR],)
    return cluster.network.subnet_cidrs


def _named_ranges(cluster: cluster_spec.Cluster) -> Iterator[tuple[str, str]]:
    """Yield each range with the name of its label or field."""
    for label in (PODS, SERVICES):
        for each in cluster.labels[label]:
            yield cluster.labels.called(label), each
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
    name, cidrs = cluster.labels.called(PODS), ", ".join(pods)
    if len(pods) != len(services):
        raise errors.InvalidInput(
            f"{name} and {cluster.labels.called(SERVICES)} differ in their IP "
            "versions: give both IPv4 alone, or both IPv4 and IPv6. They are "
            f"{cidrs}, and {', '.join(services)}"
        )
    if len(pods) == 1:
        return
    versions = {
        ipaddress.ip_network(each).version for each in node_ranges(cluster)
    }
    # The network is unknown when a group is added to a living cluster.
    if versions and 6 not in versions:
        raise errors.InvalidInput(
            f"{name}: nodes need IPv6 addresses, too; give a fixed_network "
            f"with an IPv4 and an IPv6 subnet. It is {cidrs}; "
            f"{label_types.IPV4_ALONE}"
        )


def _check_room(cluster: cluster_spec.Cluster) -> None:
    """Refuse a range of pods that is too small for all nodes."""
    pods = ipaddress.ip_network(cluster.labels[PODS][0])
    block = _NODE_BLOCKS[cluster.cni]
    room = 2 ** (block - pods.prefixlen)
    groups = (cluster.control_plane, *cluster.node_groups)
    # While the control plane is replaced there is one node more.
    wanted = 1 + sum(max(each.count, each.maximum or 0) for each in groups)
    if wanted > room:
        raise errors.InvalidInput(
            f"{cluster.labels.called(PODS)} has room for {room} nodes of a "
            f"/{block} each, and the cluster can have {wanted} with the one "
            f"that an upgrade adds: give a larger network. It is {pods}"
        )


HUBBLE = TOPIC.switch(
    "cilium_hubble_ui_enabled",
    help="Install Hubble's web interface and its relay, which show the "
    "traffic of pods. Connect with kubectl -n kube-system port-forward "
    "service/hubble-ui 12000:80. The label needs network_driver=cilium.",
    becomes=(
        f"{_CILIUM}.hubble.relay.enabled",
        f"{_CILIUM}.hubble.ui.enabled",
    ),
)


def _chart_version(
    cni: str, name: str, form: str, oldest: str, example: str
) -> labels.Label[str]:
    """Declare the label for the version of a network plugin's chart."""
    return TOPIC.label(
        f"{cni}_chart_version",
        label_types.Form("version", form, f"a version of {name}'s chart"),
        "",
        details=f"{oldest} or later, such as {example}",
        help=f"Version of {name}. The label needs network_driver={cni}. "
        "Default: as in the cluster's chart, which is tested with it. An "
        "existing cluster takes newer versions only; without the label, its "
        "next upgrade installs the version of the chart.",
        becomes=(f"addons.cni.{cni}.chart.version",),
    )


#: The oldest is that of the oldest chart, 0.10.1.
CALICO_VERSION = _chart_version(
    "calico",
    "Calico",
    r"(v3\.(2[89]|[3-9]\d)\.\d{1,3})?",
    "v3.28.0",
    "v3.31.5",
)
CILIUM_VERSION = _chart_version(
    "cilium",
    "Cilium",
    r"(1\.(1[6-9]|[2-9]\d)\.\d{1,3})?",
    "1.16.0",
    "1.19.3",
)
#: Labels that concern one network plugin alone.
_OF_CNI: dict[str, tuple[labels.Label[Any], ...]] = {
    "calico": (CALICO_VERSION,),
    "cilium": (CILIUM_VERSION, HUBBLE),
}
DOMAIN = TOPIC.label(
    "dns_cluster_domain",
    label_types.DOMAIN,
    "cluster.local",
    details="an example is cluster.local",
    help="DNS domain of the Kubernetes Services.",
    becomes=(f"{paths.KUBE_NETWORK}.serviceDomain",),
)
_PATH = f"{paths.EACH_GROUP}.{paths.NETWORKING}.ports"
EXTRA_NETWORKS: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "extra_network_names",
    label_types.Words(),
    allowed="names or UUIDs of networks separated by spaces",
    help="Additional networks. Each worker gets a port in each of them.",
    scope=labels.Scope.NODEGROUP,
    aliases=("extra_network_name",),
    former=("extra_network_name",),
    becomes=(_PATH,),
    charts=_PORTS,
)
EXTRA_PORT_SECURITY = TOPIC.switch(
    "extra_network_port_security",
    default=True,
    help="Enable port security, and with it the cluster's security groups, "
    "on the ports in the extra networks. Networks without port security need "
    "false.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{_PATH}[].disablePortSecurity",),
    charts=_PORTS,
)
SECURITY_GROUPS: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "extra_security_groups",
    label_types.Words(),
    allowed="names or UUIDs of security groups separated by spaces",
    help="Additional security groups on the ports of the workers.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{_PATH}[].securityGroups",),
    # The port of 0.10.1 has another field.
    charts=(versions.Range(since="0.11.0"),),
)


#: Network plugin -> what it needs for IPv6, too. The chart has Calico find
#: the IPv4 address of a node in this way.
_DUAL_STACK: dict[str, topic.Leaves] = {
    "calico": {
        "addons.cni.calico.dualStack": True,
        "addons.cni.calico.release.values.installation.calicoNetwork"
        ".nodeAddressAutodetectionV6.kubernetes": "NodeInternalIP",
    },
    "cilium": {f"{_CILIUM}.ipv6.enabled": True},
}


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings, network = cluster.labels, cluster.network
    leaves: dict[str, Any] = {
        paths.EXTERNAL_NETWORK: network.external_id,
        paths.CNI: cluster.cni,
        **topic.changed(settings, PODS, SERVICES, DOMAIN),
    }
    leaves.update(topic.changed(settings, *_OF_CNI[cluster.cni]))
    if len(settings[PODS]) > 1:
        leaves.update(_DUAL_STACK[cluster.cni])
    if not is_made(network):
        leaves[f"{paths.NODE_NETWORK}.id"] = network.fixed_id
        leaves[f"{paths.NODE_SUBNET}.id"] = network.fixed_subnet_id
        return leaves
    leaves[paths.NODE_CIDR] = settings[FIXED_SUBNET_CIDR]
    # Only a subnet that the provider makes takes name servers.
    if versions.applies(NAME_SERVERS, cluster.chart.version):
        leaves[paths.NAME_SERVERS] = network.dns_nameservers
    return leaves


def _reference(ref: str) -> paths.Values:
    return {"id" if _UUID.fullmatch(ref) else "name": ref}


def _security_groups(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> paths.Values:
    """Return the field of a port with security groups beside CAPO's own.

    A port with any gets CAPO's only if it names it (``getSecWorkerGroupName``
    in CAPO's ``securitygroups.go``).
    """
    extra = group.labels[SECURITY_GROUPS]
    if not extra:
        return {}
    own = f"k8s-cluster-{cluster.namespace}-{cluster.release}-secgroup-worker"
    # Unlike networks, the chart takes these in CAPO's form alone.
    references = (
        {"id": each} if _UUID.fullmatch(each) else {"filter": {"name": each}}
        for each in (own, *extra)
    )
    return {"securityGroups": [*references]}


def _group_leaves(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    """Return the ports of a group.

    A list in the chart's defaults could not be removed for one group.
    """
    secured = _security_groups(cluster, group)
    extra_port = (
        secured
        if group.labels[EXTRA_PORT_SECURITY]
        else {"disablePortSecurity": True}
    )
    # The first port is the one in the cluster's own network.
    ports: list[paths.Values] = [
        secured,
        *(
            {"network": _reference(ref), **extra_port}
            for ref in group.labels[EXTRA_NETWORKS]
        ),
    ]
    return {f"{paths.NETWORKING}.ports": ports if ports != [{}] else ()}


def _check_ports(cluster: cluster_spec.Cluster) -> None:
    for group in (cluster.control_plane, *cluster.node_groups):
        topic.check_dependents(
            group.labels, (EXTRA_PORT_SECURITY,), EXTRA_NETWORKS
        )


def _check_name_servers(cluster: cluster_spec.Cluster) -> None:
    network, version = cluster.network, cluster.chart.version
    if not network.dns_nameservers or not is_made(network):
        return
    if not versions.applies(NAME_SERVERS, version):
        raise errors.InvalidInput(
            "dns_nameserver: give it with a chart version that applies it. "
            f"It is {','.join(network.dns_nameservers)}; charts "
            f"{versions.describe(NAME_SERVERS)} do, and this is {version}"
        )


def _check_cni(cluster: cluster_spec.Cluster) -> None:
    """Refuse settings of a network plugin that the cluster does not have."""
    settings = cluster.labels
    for cni, declared in _OF_CNI.items():
        for label in declared:
            asked = settings[label] and topic.is_given(settings, label)
            if asked and cni != cluster.cni:
                raise settings.refused(label, f"it with network_driver={cni}")


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse ranges and settings that no cluster works with.

    :raises InvalidInput: naming the labels or fields and their values
    """
    _check_cni(cluster)
    _check_families(cluster)
    _check_overlap(cluster)
    _check_room(cluster)
    _check_ports(cluster)
    _check_name_servers(cluster)


TOPIC.leaves = _leaves
TOPIC.group_leaves = _group_leaves
TOPIC.check = _check
