# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows: what they want.

Rows are read again before they are judged: objects that Magnum hands to a
driver are as old as the request. What is written into them: ``outcome``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from magnum import objects
from magnum.common import context
from magnum.common import exception
from magnum.objects import fields

from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups

Status = fields.ClusterStatus
_PROGRESS = "_IN_PROGRESS"
_FAILED = "_FAILED"


def shows(cluster: Any) -> Hashable:
    """What a poll of a complete cluster may find to be different by now.

    Its health is not among it: who polls compares that anyway.
    """
    return (
        cluster.uuid,
        cluster.status,
        cluster.api_address,
        cluster.coe_version,
        cluster.container_version,
    )


def looks(cluster: Any) -> Hashable:
    """What a poll of a cluster in progress may find to be different."""
    return shows(cluster), cluster.status_reason


def fresh(request: Any, cluster: Any) -> Any | None:
    """The cluster's row as it is now, or None when it is gone."""
    return find(request, cluster.uuid)


def find(request: Any, uuid: str) -> Any | None:
    """The row of a cluster, or None when it is gone."""
    try:
        return objects.Cluster.get_by_uuid(request, uuid)
    except exception.ClusterNotFound:
        return None


def read(cluster: Any) -> tuple[requested_groups.Rows, list[Any]]:
    """What the rows want, and the nodegroup rows themselves."""
    nodegroups = all_groups(cluster)
    return wants(cluster, nodegroups), nodegroups


def wants(cluster: Any, nodegroups: Sequence[Any]) -> requested_groups.Rows:
    """What the rows of a cluster that has a ``stack_id`` want."""
    sorted_out: dict[str, list[requested_groups.Group]] = {
        "groups": [],
        "leaving": [],
        "refused": [],
    }
    for each in nodegroups:
        kind = "groups" if counts(each) else "refused"
        if leaving(each):
            kind = "leaving"
        sorted_out[kind].append(group(each, cluster.stack_id))
    return requested_groups.Rows(
        uuid=cluster.uuid,
        release=cluster.stack_id,
        **{key: tuple(found) for key, found in sorted_out.items()},
    )


def all_groups(cluster: Any) -> list[Any]:
    """The rows of all groups, those that an admin's project added too."""
    found = objects.NodeGroup.list(everywhere(), cluster.uuid, sort_key="id")
    return list(found)


def everywhere() -> Any:
    """A context that sees the rows of all projects, as Magnum's polls have."""
    return context.make_admin_context(all_tenants=True)


def leaving(nodegroup: Any) -> bool:
    """Whether a group is being deleted."""
    return bool(nodegroup.status == Status.DELETE_IN_PROGRESS)


def doomed(cluster: Any) -> bool:
    """Whether the whole cluster is being deleted (``wanted.Rows.doomed``)."""
    return any(
        leaving(each) and each.role == "master" for each in all_groups(cluster)
    )


def undecided(nodegroup: Any) -> bool:
    """Whether the driver has not said yet if it takes the group on."""
    return bool(
        nodegroup.status == Status.CREATE_IN_PROGRESS
        and not nodegroup.stack_id
        and not nodegroup.is_default
    )


def counts(nodegroup: Any) -> bool:
    """Whether a group is part of the cluster.

    Not one that is being deleted, and not one that was refused: the driver
    gives a group that it accepts a ``stack_id``.
    """
    status = nodegroup.status or ""
    if leaving(nodegroup):
        return False
    refused = status.startswith("CREATE_") and status != Status.CREATE_COMPLETE
    return nodegroup.is_default or bool(nodegroup.stack_id) or not refused


def group(nodegroup: Any, release: str) -> requested_groups.Group:
    """A row as plain data."""
    # Magnum 2026.1 and older have no labels and taints of nodes.
    node_labels = getattr(nodegroup, "node_labels", None) or {}
    taints = getattr(nodegroup, "node_taints", None) or []
    return requested_groups.Group(
        uuid=nodegroup.uuid,
        name=nodegroup.name,
        chart_name=names.node_group(nodegroup.name, release),
        control_plane=nodegroup.role == "master",
        count=nodegroup.node_count,
        flavor_id=nodegroup.flavor_id,
        image_id=nodegroup.image_id,
        minimum=nodegroup.min_node_count or 0,
        maximum=nodegroup.max_node_count,
        node_labels=tuple(sorted(node_labels.items())),
        node_taints=tuple(map(_taint, taints)),
        made=counts(nodegroup) or bool(nodegroup.stack_id),
    )


def _taint(given: dict[str, Any]) -> tuple[str, str, str]:
    key, value, effect = map(given.get, ("key", "value", "effect"))
    return key or "", value or "", effect or ""


def fresh_group(nodegroup: Any) -> Any | None:
    """A nodegroup's row as it is now, or None when it is gone."""
    try:
        return objects.NodeGroup.get_by_uuid(
            everywhere(), nodegroup.cluster_id, nodegroup.uuid
        )
    except exception.NodeGroupNotFound:
        return None


def action(status: str | None) -> str:
    """CREATE, UPDATE, DELETE or ROLLBACK of a status."""
    return (status or "CREATE").split("_")[0]


def in_progress(status: str | None) -> bool:
    """Whether Magnum asks for the status every few seconds."""
    return (status or "").endswith(_PROGRESS)


def failed(status: str | None) -> bool:
    """Whether only the health poll looks at it any more."""
    return (status or "").endswith(_FAILED)
