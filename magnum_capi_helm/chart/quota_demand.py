# SPDX-License-Identifier: Apache-2.0

"""The quota that a cluster needs.

This is a lower bound: the machines and the network that Cluster API makes, and
one more machine wherever a rollout adds the new one before it removes the old
one. Resources that Kubernetes makes later for its users do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
from typing import TypeAlias

from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import placement
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


@dataclasses.dataclass(frozen=True)
class Shortage:
    """A resource of which less is free than is needed."""

    resource: str
    needed: int
    quota: Quota

    def __str__(self) -> str:
        free = max(self.quota.limit - self.quota.used, 0)
        return (
            f"{self.resource}: {self.needed} needed, {free} of "
            f"{self.quota.limit} free"
        )


def of_cluster(
    cluster: cluster_spec.Cluster, flavors: Mapping[str, cluster_spec.Flavor]
) -> Demand:
    """Return the demand of a new cluster.

    :param flavors: by name
    """
    groups = (cluster.control_plane, *cluster.node_groups)
    parts = [
        _machines(cluster, group, group.count, flavors[group.flavor])
        for group in groups
    ]
    control_plane = cluster.control_plane
    surge = _machines(
        cluster,
        control_plane,
        _CONTROL_PLANE_SURGE,
        flavors[control_plane.flavor],
    )
    volumes = _etcd_volumes(
        cluster, control_plane.count + _CONTROL_PLANE_SURGE
    )
    parts += [surge, volumes, _network(cluster)]
    return _sum([*parts, _server_groups(groups)])


def of_group(
    cluster: cluster_spec.Cluster,
    group: cluster_spec.NodeGroup,
    flavor: cluster_spec.Flavor,
) -> Demand:
    """Return the demand of one more group of workers."""
    machines = _machines(cluster, group, group.count, flavor)
    return _sum([machines, _server_groups((group,))])


def of_growth(
    cluster: cluster_spec.Cluster,
    group: cluster_spec.NodeGroup,
    flavor: cluster_spec.Flavor,
    by: int,
) -> Demand:
    """Return the demand of more machines in a group.

    :param group: with the new count
    """
    parts = [_machines(cluster, group, by, flavor)]
    if group is cluster.control_plane:
        parts.append(_etcd_volumes(cluster, by))
    # The limit of each server group is for all of its members.
    members = _server_groups((group,)).get("server_group_members", 0)
    return _sum([*parts, {"server_group_members": members}])


def shortages(
    demand: Mapping[str, int], quotas: Mapping[str, Quota]
) -> Iterator[Shortage]:
    """Yield the resources that exceed a known quota."""
    for resource, needed in demand.items():
        quota = quotas.get(resource)
        if not needed or quota is None or quota.limit < 0:
            continue
        if needed > quota.limit - quota.used:
            yield Shortage(resource, needed, quota)


def _machines(
    cluster: cluster_spec.Cluster,
    group: cluster_spec.NodeGroup,
    count: int,
    flavor: cluster_spec.Flavor,
) -> Demand:
    disks = [
        each.size
        for each in (group.boot_disk, group.container_disk)
        if each.size
    ]
    return {
        "instances": count,
        "cores": count * flavor.vcpus,
        "ram": count * flavor.ram,
        "volumes": count * len(disks),
        "gigabytes": count * sum(disks),
        "port": count * (1 + _extra_ports(cluster, group)),
    }


def _extra_ports(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> int:
    """Ports in further networks, which only workers have."""
    if group is cluster.control_plane:
        return 0
    return len(group.labels[networking.EXTRA_NETWORKS])


def _etcd_volumes(cluster: cluster_spec.Cluster, count: int) -> Demand:
    size = cluster.labels[etcd.SIZE]
    if not size or cluster.labels[etcd.KIND].lower() != "volume":
        return {}
    return {"volumes": count, "gigabytes": count * size}


def _network(cluster: cluster_spec.Cluster) -> Demand:
    """Around the machines; a network that is given is there already."""
    balancer = int(cluster.api.load_balancer)
    demand = {
        "floatingip": int(cluster.api.floating_ip),
        "load_balancer": balancer,
        "security_group": _SECURITY_GROUPS,
        # The address of the load balancer.
        "port": balancer,
    }
    if not (cluster.network.fixed_id or cluster.network.fixed_subnet_id):
        made = dict.fromkeys(("network", "subnet", "router"), 1)
        # The router's.
        return {**demand, **made, "port": balancer + 1}
    return demand


def _server_groups(groups: Iterable[cluster_spec.NodeGroup]) -> Demand:
    members = [
        group.count
        for group in groups
        if group.labels[placement.SERVER_GROUP_POLICY]
    ]
    return {
        "server_groups": len(members),
        "server_group_members": max(members, default=0),
    }


def _sum(parts: Iterable[Demand]) -> Demand:
    """Return the parts together.

    ``server_group_members`` is a limit for each group; it is in one part.
    """
    total: Demand = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total
