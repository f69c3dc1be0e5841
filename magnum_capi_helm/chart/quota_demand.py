# SPDX-License-Identifier: Apache-2.0

"""The quota that a cluster needs.

This is a lower bound: the machines and the network that Cluster API makes, and
one more machine wherever a rollout adds the new one before it removes the old
one. Resources that Kubernetes makes later for its users do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import dataclasses
from typing import TypeAlias

from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec

#: Resource, as its service calls it -> amount.
Demand: TypeAlias = dict[str, int]

#: The chart's rollout: one more machine of the control plane (maxSurge 1),
#: no more of a worker group (maxSurge 0).
_CONTROL_PLANE_SURGE = 1

#: A security group for the control plane, and one for the workers.
_SECURITY_GROUPS = 2


@dataclasses.dataclass(frozen=True)
class Quota:
    """A limit of a project, and what is used of it.

    :param limit: negative: none
    """

    limit: int
    used: int = 0


def of_cluster(cluster: cluster_spec.Cluster) -> Demand:
    """Return the demand of a new cluster."""
    groups = (cluster.control_plane, *cluster.node_groups)
    parts = []
    for group in groups:
        surge = _CONTROL_PLANE_SURGE if group is cluster.control_plane else 0
        parts.append(_machines(cluster, group, group.count + surge))
    return _sum(*parts, _network(cluster), _server_groups(*groups))


def of_group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> Demand:
    """Return the demand of one more group of workers."""
    machines = _machines(cluster, group, group.count)
    return _sum(machines, _server_groups(group))


def of_growth(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup, by: int
) -> Demand:
    """Return the demand of more machines in a group.

    :param group: with the new count
    """
    # The limit of each server group is for all of its members.
    members = _server_groups(group)["server_group_members"]
    machines = _machines(cluster, group, by)
    return {**machines, "server_group_members": members}


def shortages(
    demand: Mapping[str, int], quotas: Mapping[str, Quota]
) -> Iterator[str]:
    """Yield the resources that exceed a known quota, in words."""
    for resource, needed in demand.items():
        quota = quotas.get(resource)
        if not needed or quota is None or quota.limit < 0:
            continue
        free = max(quota.limit - quota.used, 0)
        if needed > free:
            yield f"{resource}: {needed} needed, {free} of {quota.limit} free"


def _machines(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup, count: int
) -> Demand:
    settings, flavor = cluster.labels, group.machine
    disks = [
        each.size
        for each in (group.boot_disk, group.container_disk)
        if each.size
    ]
    ports = 1
    if group is not cluster.control_plane:
        ports += len(group.labels[networking.EXTRA_NETWORKS])
        extra = nodes.extra_volumes(group.labels).values()
        disks += [each.size for each in extra if each.size]
    elif settings[etcd.SIZE] and settings[etcd.KIND].lower() == "volume":
        disks.append(settings[etcd.SIZE])
    return {
        "instances": count,
        "cores": count * flavor.vcpus if flavor else 0,
        "ram": count * flavor.ram if flavor else 0,
        "volumes": count * len(disks),
        "gigabytes": count * sum(disks),
        "port": count * ports,
    }


def _network(cluster: cluster_spec.Cluster) -> Demand:
    """Return the demand around the machines."""
    balancer = int(cluster.api.load_balancer)
    # The router has a port, and so has the load balancer.
    made = int(networking.is_made(cluster.network))
    return {
        "floatingip": int(cluster.api.floating_ip),
        "load_balancer": balancer,
        "security_group": _SECURITY_GROUPS,
        "port": balancer + made,
        **dict.fromkeys(("network", "subnet", "router"), made),
    }


def _server_groups(*groups: cluster_spec.NodeGroup) -> Demand:
    members = [
        group.count
        for group in groups
        if group.labels[nodes.SERVER_GROUP_POLICY]
    ]
    return {
        "server_groups": len(members),
        "server_group_members": max(members, default=0),
    }


def _sum(*parts: Demand) -> Demand:
    """Return the parts together.

    ``server_group_members`` is a limit for each group; it is in one part.
    """
    total: Demand = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total
