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
from magnum_capi_helm.features import load_balancing
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

Path = tuple[str, ...]

#: Paths that keep their values with every version of the chart.
PATHS: tuple[Path, ...] = (
    ("addons", "cni", "type"),
    ("apiServer", "associateFloatingIP"),
    ("apiServer", "enableLoadBalancer"),
    ("apiServer", "fixedIP"),
    ("apiServer", "floatingIP"),
    ("apiServer", "loadBalancerProvider"),
    ("apiServer", "port"),
    ("clusterNetworking", "allowAllInClusterTraffic"),
    ("clusterNetworking", "disableExternalNetwork"),
    ("clusterNetworking", "externalNetworkId"),
    ("clusterNetworking", "internalNetwork", "networkFilter"),
    ("clusterNetworking", "internalNetwork", "nodeCidr"),
    ("clusterNetworking", "internalNetwork", "subnetFilter"),
    ("clusterNetworking", "manageSecurityGroups"),
    # The port of the load balancer and that of the machines are one.
    (
        "controlPlane",
        "kubeadmConfigSpec",
        "initConfiguration",
        "localAPIEndpoint",
    ),
    (
        "controlPlane",
        "kubeadmConfigSpec",
        "joinConfiguration",
        "controlPlane",
        "localAPIEndpoint",
    ),
    ("controlPlaneEndpoint",),
    ("kubeNetwork",),
    # Of all machines at once, with the name of the template: those of groups
    # that keep their image would be replaced.
    ("machineMetadata",),
    ("projectPrefix",),
)

#: Charts whose provider lets DNS servers change: since CAPO 0.13.
_FREE_NAME_SERVERS = versions.Range(since="0.24.0")
#: Where charts read DNS servers; those in between read them nowhere.
_NAME_SERVERS: dict[versions.Range, Path] = {
    versions.Range(until="0.10.1"): (
        "clusterNetworking",
        "dnsNameservers",
    ),
    versions.Range(since="0.16.0"): (
        "clusterNetworking",
        "internalNetwork",
        "dnsNameservers",
    ),
}

_CSI: Path = ("addons", "openstack", "csiCinder")
_DEFAULT_CLASS = "defaultStorageClass"
_MORE_CLASSES = "additionalStorageClasses"


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
        _put(result, path, _at(old, path))
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
    subnets = ((live or {}).get("spec") or {}).get("managedSubnets") or [{}]
    for charts, path in _NAME_SERVERS.items():
        servers = subnets[0].get("dnsNameservers")
        _put(new, path, servers if version in charts else None)


def _keep_classes(new: topic.Values, old: Mapping[str, Any]) -> None:
    """Classes that are there stay; others come after them."""
    before, after = _at(old, _CSI) or {}, _at(new, _CSI)
    if not after or not _is_on(before) or not _is_on(after):
        return
    default = before.get(_DEFAULT_CLASS)
    more = list(before.get(_MORE_CLASSES) or [])
    if default is None and not more:
        return
    names = {each.get("name") for each in (default or {}, *more)}
    offered = (
        after.get(_DEFAULT_CLASS) or {},
        *(after.get(_MORE_CLASSES) or []),
    )
    more += [
        {**each, "isClusterDefault": False}
        for each in offered
        if each.get("name") and each["name"] not in names
    ]
    _put(new, (*_CSI, _DEFAULT_CLASS), default)
    _put(new, (*_CSI, _MORE_CLASSES), more)


def _is_on(csi: Mapping[str, Any]) -> bool:
    return csi.get("enabled") is not False


def living(
    cluster: cluster_spec.Cluster, old: Mapping[str, Any]
) -> cluster_spec.Cluster:
    """Return the cluster with the immutable fields of its present values.

    The checks and values of the topics then fit the values that it keeps.
    """
    server = old.get("apiServer") or {}
    cni = _at(old, ("addons", "cni", "type"))
    return dataclasses.replace(
        cluster,
        cni=cni if cni in networking.CNIS else cluster.cni,
        labels=_labels(old).over(cluster.labels),
        network=_network(cluster.network, old),
        api=cluster_spec.ApiServer(
            load_balancer=server.get("enableLoadBalancer") is not False,
            floating_ip=server.get("associateFloatingIP") is not False,
            port=server.get("port"),
        ),
    )


def _labels(old: Mapping[str, Any]) -> labels.Values:
    """Return the labels whose values are immutable fields."""
    server = old.get("apiServer") or {}
    values: dict[str, Any] = {
        api_server.FLOATING_IP.name: (
            server.get("associateFloatingIP") is not False
        ),
        api_server.FIXED_FLOATING_IP.name: server.get("floatingIP"),
        api_server.FIXED_IP.name: server.get("fixedIP"),
        networking.PODS.name: _cidrs(old, "pods") or networking.PODS.default,
        networking.SERVICES.name: (
            _cidrs(old, "services") or networking.SERVICES.default
        ),
        networking.DOMAIN.name: (
            _at(old, ("kubeNetwork", "serviceDomain"))
            or networking.DOMAIN.default
        ),
    }
    if provider := server.get("loadBalancerProvider"):
        values[load_balancing.PROVIDER.name] = provider
    if cidr := _at(old, (*_INTERNAL, "nodeCidr")):
        values[networking.FIXED_SUBNET_CIDR.name] = cidr
    return labels.Values(values)


_INTERNAL: Path = ("clusterNetworking", "internalNetwork")


def _cidrs(old: Mapping[str, Any], which: str) -> tuple[str, ...]:
    return tuple(_at(old, ("kubeNetwork", which, "cidrBlocks")) or ())


def _network(
    network: cluster_spec.Network, old: Mapping[str, Any]
) -> cluster_spec.Network:
    chosen = _at(old, (*_INTERNAL, "networkFilter")) or {}
    subnet = _at(old, (*_INTERNAL, "subnetFilter")) or {}
    if chosen or subnet:
        return dataclasses.replace(
            network,
            fixed_id=chosen.get("id") or network.fixed_id or str(chosen),
            fixed_subnet_id=subnet.get("id") or network.fixed_subnet_id,
        )
    return dataclasses.replace(
        network, fixed_id=None, fixed_subnet_id=None, subnet_cidrs=()
    )


def _at(values: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(values, Mapping):
            return None
        values = values.get(key)
    return values


def _put(values: topic.Values, path: Path, value: Any) -> None:
    """Set a value in place; None takes it away, with what is empty then."""
    key, below = path[0], path[1:]
    if not below:
        if value is None:
            values.pop(key, None)
        else:
            values[key] = copy.deepcopy(value)
        return
    if not isinstance(values.get(key), dict):
        if value is None:
            return
        values[key] = {}
    _put(values[key], below, value)
    if not values[key]:
        del values[key]
