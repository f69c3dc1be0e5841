# SPDX-License-Identifier: Apache-2.0

"""Fields that keep their values in an upgrade.

The webhook of Cluster API's OpenStack provider forbids to change most of an
OpenStackCluster (``openstackcluster_webhook.go``: all but identityRef,
bastion, security group rules, allowed CIDRs, the control plane's zones, from
0.13 on DNS servers, and the load balancer's monitor). Ranges of pods and
services and the network plugin of a living cluster can't be changed at all,
nor the parameters of a StorageClass. These keep the values that the cluster
has; where it has none, they are left to the chart.
"""

from __future__ import annotations

from collections.abc import Mapping
import copy
import dataclasses
from typing import Any

from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

#: Paths that keep their values with every version of the chart.
PATHS: tuple[str, ...] = (
    "addons.cni.type",
    "apiServer.associateFloatingIP",
    "apiServer.enableLoadBalancer",
    "apiServer.fixedIP",
    "apiServer.floatingIP",
    "apiServer.loadBalancerProvider",
    "apiServer.port",
    "clusterNetworking.allowAllInClusterTraffic",
    "clusterNetworking.disableExternalNetwork",
    "clusterNetworking.externalNetworkId",
    "clusterNetworking.internalNetwork.networkFilter",
    "clusterNetworking.internalNetwork.nodeCidr",
    "clusterNetworking.internalNetwork.subnetFilter",
    "clusterNetworking.manageSecurityGroups",
    # The port of the load balancer and that of the machines are one.
    "controlPlane.kubeadmConfigSpec.initConfiguration.localAPIEndpoint",
    "controlPlane.kubeadmConfigSpec.joinConfiguration.controlPlane"
    ".localAPIEndpoint",
    "controlPlaneEndpoint",
    "kubeNetwork",
    # Of all machines at once, with the name of the template: those of groups
    # that keep their image would be replaced.
    "machineMetadata",
    "projectPrefix",
)

#: Charts whose provider lets DNS servers change: since CAPO 0.13.
_FREE_NAME_SERVERS = versions.Range(since="0.24.0")

_DEFAULT_CLASS = "addons.openstack.csiCinder.defaultStorageClass"
_MORE_CLASSES = "addons.openstack.csiCinder.additionalStorageClasses"
_CLASSES_ON = "addons.openstack.csiCinder.enabled"


def keep(
    new: topic.Values,
    old: Mapping[str, Any],
    version: str,
    live: Mapping[str, Any] | None,
) -> topic.Values:
    """Return the new values with the immutable fields of the old ones.

    :param version: of the chart that gets the new values
    :param live: the OpenStackCluster; None: there is none
    """
    result = copy.deepcopy(new)
    for path in PATHS:
        topic.put(result, path, topic.value_at(old, path))
    _keep_name_servers(result, version, live)
    _keep_classes(result, old)
    return result


def _keep_name_servers(
    new: topic.Values, version: str, live: Mapping[str, Any] | None
) -> None:
    """Keep the DNS servers that the OpenStackCluster has.

    Old charts ignored the value.
    """
    if version in _FREE_NAME_SERVERS:
        return
    subnets = topic.value_at(live, "spec.managedSubnets") or [{}]
    servers = subnets[0].get("dnsNameservers")
    for charts, path in networking.NAME_SERVERS.items():
        topic.put(new, path, servers if version in charts else None)


def _keep_classes(new: topic.Values, old: Mapping[str, Any]) -> None:
    """Keep the classes of the old values, before those of the new ones."""
    if not topic.value_at(new, "addons.openstack.csiCinder") or any(
        topic.value_at(each, _CLASSES_ON) is False for each in (old, new)
    ):
        return
    default, *more = _classes(old)
    if default is None and not more:
        return
    names = {each.get("name") for each in (default or {}, *more)}
    more += [
        {**each, "isClusterDefault": False}
        for each in _classes(new)
        if each and each.get("name") and each["name"] not in names
    ]
    topic.put(new, _DEFAULT_CLASS, default)
    topic.put(new, _MORE_CLASSES, more)


def _classes(values: Mapping[str, Any]) -> list[Any]:
    """Return the default class, which may be None, and the others."""
    more = topic.value_at(values, _MORE_CLASSES) or []
    return [topic.value_at(values, _DEFAULT_CLASS), *more]


def living(
    cluster: cluster_spec.Cluster, old: Mapping[str, Any]
) -> cluster_spec.Cluster:
    """Return the cluster with the immutable fields of its present values.

    The checks and values of the topics then fit the values that it keeps.
    """
    server = old.get("apiServer") or {}
    cni = topic.value_at(old, "addons.cni.type")
    api = cluster_spec.ApiServer(
        load_balancer=server.get("enableLoadBalancer") is not False,
        floating_ip=server.get("associateFloatingIP") is not False,
        port=server.get("port"),
    )
    lasting = {
        label.name: topic.value_at(old, label.becomes[0]) or label.default
        for label in _LABELS
    }
    for ranges in (networking.PODS, networking.SERVICES):
        blocks = topic.value_at(old, ranges.becomes[0]) or ranges.default
        lasting[ranges.name] = tuple(blocks)
    for optional in (api_server.LB_PROVIDER, networking.FIXED_SUBNET_CIDR):
        if value := topic.value_at(old, optional.becomes[0]):
            lasting[optional.name] = value
    lasting[api_server.FLOATING_IP.name] = api.floating_ip
    return dataclasses.replace(
        cluster,
        cni=cni if cni in networking.CNIS else cluster.cni,
        labels=labels.Values(lasting).over(cluster.labels),
        network=_network(cluster.network, old),
        api=api,
    )


#: Labels whose values are immutable fields; without one it is the default.
_LABELS: tuple[labels.Label[Any], ...] = (
    api_server.FIXED_FLOATING_IP,
    api_server.FIXED_IP,
    networking.DOMAIN,
)


def _network(
    network: cluster_spec.Network, old: Mapping[str, Any]
) -> cluster_spec.Network:
    internal = topic.value_at(old, networking.INTERNAL) or {}
    chosen = internal.get("networkFilter") or {}
    subnet = internal.get("subnetFilter") or {}
    if chosen or subnet:
        return dataclasses.replace(
            network,
            fixed_id=chosen.get("id") or network.fixed_id or str(chosen),
            fixed_subnet_id=subnet.get("id") or network.fixed_subnet_id,
        )
    return dataclasses.replace(
        network, fixed_id=None, fixed_subnet_id=None, subnet_cidrs=()
    )
