# SPDX-License-Identifier: Apache-2.0

"""Networks of the nodes, the CNI, and what pods and services get."""

from __future__ import annotations

import re

from magnum_capi_helm.features import needs
from magnum_capi_helm.features import ranges
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import network_types
from magnum_capi_helm.model import option_types

#: Network plugins that the chart installs.
CNIS = ("calico", "cilium")

#: Where a chart version has the name servers; those in between lost them.
_OLD_NAME_SERVERS = chart_versions.Range(until="0.10.1")
_NAME_SERVERS = chart_versions.Range(since="0.16.0")

_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

#: Versions that write ports as their provider understands them.
_PORTS = (
    chart_versions.Range(until="0.10.1"),
    chart_versions.Range(since="0.14.1"),
)

DOMAIN = labels.Label(
    name="dns_cluster_domain",
    type=network_types.Domain(),
    default="cluster.local",
    allowed="a DNS domain in lower case",
    details="an example is cluster.local",
    help="DNS domain of the services.",
    becomes=("kubeNetwork.serviceDomain",),
)
EXTRA_NETWORKS: labels.Label[tuple[str, ...]] = labels.Label(
    name="extra_network_names",
    type=option_types.Words(),
    default=(),
    allowed="names or UUIDs of networks separated by spaces",
    help="Networks in which each worker gets one more port.",
    scope=labels.Scope.NODEGROUP,
    aliases=("extra_network_name",),
    former=("extra_network_name",),
    becomes=("nodeGroups[].machineNetworking.ports",),
    charts=_PORTS,
)
EXTRA_PORT_SECURITY = labels.Switch(
    name="extra_network_port_security",
    default=True,
    help="Whether the ports in the extra networks have port security, and "
    "with it the security groups of the cluster. Networks that have none "
    "need false.",
    scope=labels.Scope.NODEGROUP,
    becomes=("nodeGroups[].machineNetworking.ports[].disablePortSecurity",),
    charts=_PORTS,
)


def _internal(cluster: cluster_spec.Cluster) -> topic.Values:
    network = cluster.network
    if ranges.is_made(network):
        return {"nodeCidr": cluster.labels[ranges.FIXED_SUBNET_CIDR]}
    internal: topic.Values = {}
    if network.fixed_id:
        internal["networkFilter"] = {"id": network.fixed_id}
    if network.fixed_subnet_id:
        internal["subnetFilter"] = {"id": network.fixed_subnet_id}
    return internal


def _networking(cluster: cluster_spec.Cluster) -> topic.Values:
    network = cluster.network
    internal = _internal(cluster)
    networking: topic.Values = {"internalNetwork": internal}
    if network.external_id:
        networking["externalNetworkId"] = network.external_id
    # Only a subnet that the provider makes takes name servers.
    if network.dns_nameservers and ranges.is_made(network):
        old = cluster.chart.version in _OLD_NAME_SERVERS
        place = networking if old else internal
        place["dnsNameservers"] = list(network.dns_nameservers)
    return networking


def _kube_network(found: labels.Values) -> topic.Values:
    """What differs from the chart's own, which the defaults repeat."""
    values: topic.Values = {}
    for key, label in (("pods", ranges.PODS), ("services", ranges.SERVICES)):
        cidrs = found[label]
        if cidrs != label.default:
            values[key] = {"cidrBlocks": list(cidrs)}
    if found[DOMAIN] != DOMAIN.default:
        values["serviceDomain"] = found[DOMAIN]
    return values


def _cni(cluster: cluster_spec.Cluster) -> topic.Values:
    values: topic.Values = {"type": cluster.cni}
    if len(cluster.labels[ranges.PODS]) > 1:
        values["cilium"] = {"release": {"values": {"ipv6": {"enabled": True}}}}
    return values


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    values: topic.Values = {
        "clusterNetworking": _networking(cluster),
        "addons": {"cni": _cni(cluster)},
    }
    if kube_network := _kube_network(cluster.labels):
        values["kubeNetwork"] = kube_network
    return values


def _reference(ref: str) -> topic.Values:
    return {"id" if _UUID.fullmatch(ref) else "name": ref}


def _group(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    """The group's own list: one in the defaults could not be taken away."""
    extra = group.labels[EXTRA_NETWORKS]
    if not extra:
        return {}
    ports: list[topic.Values] = [{"network": _reference(ref)} for ref in extra]
    if not group.labels[EXTRA_PORT_SECURITY]:
        for port in ports:
            port["disablePortSecurity"] = True
    # The first, empty port is the one in the cluster's own network.
    return {"machineNetworking": {"ports": [{}, *ports]}}


def _check_ports(cluster: cluster_spec.Cluster) -> None:
    for group in (cluster.control_plane, *cluster.node_groups):
        needs.check(
            group.labels,
            (EXTRA_NETWORKS,),
            (EXTRA_PORT_SECURITY,),
            EXTRA_NETWORKS.name,
        )


def _check_name_servers(cluster: cluster_spec.Cluster) -> None:
    network, version = cluster.network, cluster.chart.version
    if not network.dns_nameservers or not ranges.is_made(network):
        return
    applied = (_OLD_NAME_SERVERS, _NAME_SERVERS)
    if not chart_versions.applies(applied, version):
        raise errors.InvalidInput(
            "dns_nameserver: give it with a chart version that applies it. "
            f"It is {','.join(network.dns_nameservers)}; charts "
            f"{chart_versions.describe(applied)} do, and this is {version}"
        )


def _check(cluster: cluster_spec.Cluster) -> None:
    ranges.check(cluster)
    _check_ports(cluster)
    _check_name_servers(cluster)


TOPIC = topic.Topic(
    name="Networks",
    labels=(
        ranges.FIXED_SUBNET_CIDR,
        ranges.PODS,
        ranges.SERVICES,
        DOMAIN,
        EXTRA_NETWORKS,
        EXTRA_PORT_SECURITY,
    ),
    cluster=_values,
    group=_group,
    check=_check,
)
