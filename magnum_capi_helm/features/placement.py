# SPDX-License-Identifier: Apache-2.0

"""Availability zones and server groups."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

ZONE = labels.Label(
    name="availability_zone",
    type=types.String(),
    default="",
    allowed="the name of a Nova availability zone",
    help="Availability zone of the machines. The control plane follows it "
    "unless control_plane_availability_zones is given.",
    scope=labels.Scope.NODEGROUP,
    becomes=("nodeGroups[].failureDomain", "controlPlane.failureDomains"),
)
CONTROL_PLANE_ZONES: labels.Label[list[str]] = labels.Label(
    name="control_plane_availability_zones",
    type=types.List(item_type=types.String(max_length=255)),
    default=[],
    allowed="names of Nova availability zones, separated by commas",
    help="Zones over which the machines of the control plane are spread.",
    becomes=(
        "controlPlane.failureDomains",
        "controlPlane.omitFailureDomain",
    ),
)
SERVER_GROUP_POLICY = labels.Label(
    name="server_group_policies",
    type=types.String(
        choices=[
            "",
            "soft-anti-affinity",
            "anti-affinity",
            "soft-affinity",
            "affinity",
        ]
    ),
    default="",
    allowed="soft-anti-affinity, anti-affinity, soft-affinity or affinity",
    help="Policy of the Nova server group that each nodegroup, the control "
    "plane included, gets. Default: no server group.",
    scope=labels.Scope.NODEGROUP,
    becomes=("nodeGroups[].serverGroupId", "controlPlane.serverGroupId"),
)


def control_plane_zones(
    control_plane: cluster_spec.NodeGroup,
) -> tuple[str, ...]:
    """The zones of the control plane; empty: Nova chooses."""
    zones = [
        each for each in control_plane.labels[CONTROL_PLANE_ZONES] if each
    ]
    if not zones and control_plane.labels[ZONE]:
        zones = [control_plane.labels[ZONE]]
    return tuple(dict.fromkeys(zones))


def zones(found: labels.Values) -> tuple[str, ...]:
    """Every zone that the labels of a new cluster name."""
    named = (*found[CONTROL_PLANE_ZONES], found[ZONE])
    return tuple(dict.fromkeys(filter(None, named)))


def server_groups(
    groups: tuple[cluster_spec.NodeGroup, ...],
) -> dict[str, str]:
    """The chart's name of each group that needs a server group -> policy."""
    return {
        group.name: group.labels[SERVER_GROUP_POLICY]
        for group in groups
        if group.labels[SERVER_GROUP_POLICY]
    }


def with_server_groups(
    cluster: cluster_spec.Cluster, ids: Mapping[str, str]
) -> cluster_spec.Cluster:
    """The cluster with its server groups.

    :param ids: the chart's name of a group -> id
    """

    def placed(group: cluster_spec.NodeGroup) -> cluster_spec.NodeGroup:
        known = ids.get(group.name, group.server_group_id)
        return dataclasses.replace(group, server_group_id=known)

    return dataclasses.replace(
        cluster,
        control_plane=placed(cluster.control_plane),
        node_groups=tuple(map(placed, cluster.node_groups)),
    )


def _machine(group: cluster_spec.NodeGroup) -> topic.Values:
    if not group.server_group_id:
        return {}
    return {"serverGroupId": group.server_group_id}


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    control_plane = _machine(cluster.control_plane)
    if zones := control_plane_zones(cluster.control_plane):
        control_plane["omitFailureDomain"] = False
        control_plane["failureDomains"] = list(zones)
    return {"controlPlane": control_plane} if control_plane else {}


def _group(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    values = _machine(group)
    if zone := group.labels[ZONE]:
        values["failureDomain"] = zone
    return values


TOPIC = topic.Topic(
    name="Placement",
    labels=(ZONE, CONTROL_PLANE_ZONES, SERVER_GROUP_POLICY),
    cluster=_values,
    group=_group,
)
