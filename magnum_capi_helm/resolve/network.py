# SPDX-License-Identifier: Apache-2.0

"""The networks of a cluster, by UUID."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import dataclasses
import ipaddress
from typing import Any

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import networking
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels


def network(cluster: Any, cloud: catalogue.Cloud) -> cluster_spec.Network:
    """Return the networks that template and cluster name.

    :raises InvalidInput: one is not there, or they do not fit together
    """
    template = cluster.cluster_template
    external = template.external_network_id
    fixed = cluster.fixed_network or template.fixed_network
    subnet = cluster.fixed_subnet or template.fixed_subnet
    with errors.in_field("fixed_network"):
        fixed_id = cloud.network(fixed) if fixed else None
    with errors.in_field("fixed_subnet"):
        chosen = cloud.subnet(subnet) if subnet else None
    if chosen is not None:
        if fixed_id not in (None, chosen.network_id):
            raise errors.InvalidInput(
                "fixed_subnet: the subnet is not in fixed_network. It is "
                f"{errors.shown(subnet)} and belongs to network "
                f"{chosen.network_id}; fixed_network is "
                f"{errors.shown(fixed)}"
            )
        used: tuple[catalogue.Subnet, ...] = (chosen,)
    else:
        used = cloud.subnets_of(fixed_id) if fixed_id else ()
    if used or fixed_id:
        field = "fixed_subnet" if subnet else "fixed_network"
        _check_families(field, errors.shown(subnet or fixed), used)
    with errors.in_field("external_network_id"):
        external_id = cloud.external_network(external) if external else None
    return cluster_spec.Network(
        external_id=external_id,
        fixed_id=fixed_id,
        fixed_subnet_id=chosen.id if chosen else None,
        dns_nameservers=split(template.dns_nameserver),
        subnet_cidrs=tuple(sorted(each.cidr for each in used)),
    )


def with_balancers_network(
    cluster: cluster_spec.Cluster, cloud: catalogue.Cloud
) -> cluster_spec.Cluster:
    """Return the cluster with the UUID of the load balancer's network.

    :raises InvalidInput: not there, several have that name, or the nodes have
        no addresses of its IP version
    """
    label = api_server.LB_NETWORK
    if not (ref := cluster.labels[label]):
        return cluster
    with errors.in_field(f"label {label.name}"):
        network_id = cloud.network(ref)
        nodes = _families(cluster.network.subnet_cidrs) or {4}
        # Users see no subnets of a network that is external.
        subnets = _families(each.cidr for each in cloud.subnets_of(network_id))
        if subnets and not subnets & nodes:
            raise errors.InvalidInput(
                "the network has no IPv4 subnet, and nodes have IPv4 "
                f"addresses; choose another. It is {errors.shown(ref)}"
            )
    values = {**cluster.labels.values, label.name: network_id}
    return dataclasses.replace(
        cluster, labels=dataclasses.replace(cluster.labels, values=values)
    )


def check_extra(group: labels.Values, cloud: catalogue.Cloud) -> None:
    """Refuse a nodegroup whose extra networks or groups are not there.

    :raises InvalidInput: not there, or several have that name
    """
    for label, find in (
        (networking.SECURITY_GROUPS, cloud.security_group),
        (networking.EXTRA_NETWORKS, cloud.network),
    ):
        field = f"label {group.called(label)} (spaces separate names)"
        with errors.in_field(field):
            for ref in group[label]:
                find(ref)


def _check_families(
    field: str, name: str, subnets: Sequence[catalogue.Subnet]
) -> None:
    """Refuse subnets other than one of IPv4 and at most one of IPv6.

    Cluster API's provider takes no others.
    """
    versions = [ipaddress.ip_network(each.cidr).version for each in subnets]
    if 4 not in versions:
        raise errors.InvalidInput(
            f"{field}: it has no IPv4 addresses for the nodes; choose "
            f"another. It is {name}"
        )
    for version in (4, 6):
        if versions.count(version) > 1:
            raise errors.InvalidInput(
                f"{field}: it has {versions.count(version)} IPv{version} "
                f"subnets; choose one with fixed_subnet. It is {name}"
            )


def _families(cidrs: Iterable[str]) -> set[int]:
    """Return the IP versions of networks."""
    return {ipaddress.ip_network(each).version for each in cidrs}


def split(text: str | None) -> tuple[str, ...]:
    """Return the words of a field of a template, between commas."""
    words = (each.strip() for each in (text or "").split(","))
    return tuple(filter(None, words))
