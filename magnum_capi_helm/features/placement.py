# SPDX-License-Identifier: Apache-2.0

"""Availability zones and server groups."""

from __future__ import annotations

from collections.abc import Mapping
import copy

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels

ZONE = label_types.text(
    "availability_zone",
    "the name of a Nova availability zone",
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
    becomes=("controlPlane.failureDomains", "controlPlane.omitFailureDomain"),
)
SERVER_GROUP_POLICY = label_types.choice(
    "server_group_policies",
    ("soft-anti-affinity", "anti-affinity", "soft-affinity", "affinity"),
    help="Policy of the Nova server group that each nodegroup, the control "
    "plane included, gets. Default: no server group.",
    scope=labels.Scope.NODEGROUP,
    becomes=("nodeGroups[].serverGroupId", "controlPlane.serverGroupId"),
)


def control_plane_zones(
    control_plane: cluster_spec.NodeGroup,
) -> tuple[str, ...]:
    """Return the zones of the control plane; empty: Nova chooses."""
    zones = [
        each for each in control_plane.labels[CONTROL_PLANE_ZONES] if each
    ]
    if not zones and control_plane.labels[ZONE]:
        zones = [control_plane.labels[ZONE]]
    return tuple(dict.fromkeys(zones))


def zones(settings: labels.Values) -> tuple[str, ...]:
    """Return every zone that the labels of a new cluster name."""
    named = (*settings[CONTROL_PLANE_ZONES], settings[ZONE])
    return tuple(dict.fromkeys(filter(None, named)))


def server_groups(
    groups: tuple[cluster_spec.NodeGroup, ...],
) -> dict[str, str]:
    """Return the policies of server groups, by the chart's group name."""
    return {
        group.name: group.labels[SERVER_GROUP_POLICY]
        for group in groups
        if group.labels[SERVER_GROUP_POLICY]
    }


def with_server_group_ids(
    values: topic.Values, cluster: cluster_spec.Cluster, ids: Mapping[str, str]
) -> topic.Values:
    """Return the values of a cluster with its new server groups.

    An overlay may have given the control plane another one.

    :param values: made of the cluster, before it had server groups
    :param ids: the chart's name of a group -> ID
    """
    if not ids:
        return values
    result = copy.deepcopy(values)
    if own := ids.get(cluster.control_plane.name):
        result["controlPlane"].setdefault("serverGroupId", own)
    for item in result["nodeGroups"]:
        if item["name"] in ids:
            item["serverGroupId"] = ids[item["name"]]
    return result


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    zones = control_plane_zones(cluster.control_plane)
    return {
        "controlPlane.serverGroupId": cluster.control_plane.server_group_id,
        "controlPlane.failureDomains": zones,
        "controlPlane.omitFailureDomain": False if zones else None,
    }


def _group_leaves(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    return {
        "serverGroupId": group.server_group_id,
        "failureDomain": group.labels[ZONE],
    }


TOPIC = topic.Topic(
    name="Placement",
    labels=(ZONE, CONTROL_PLANE_ZONES, SERVER_GROUP_POLICY),
    leaves=_leaves,
    group_leaves=_group_leaves,
)
