# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Magnum's rows: what they want, and what a verdict writes into them.

Rows are read again before they are judged: objects that Magnum hands to a
driver are as old as the request. Only fields that changed are saved.
"""

from __future__ import annotations

from typing import Any

from magnum import objects
from magnum.common import context
from magnum.common import exception
from magnum.objects import fields

from magnum_capi_helm import names
from magnum_capi_helm import wanted
from magnum_capi_helm.status import cluster as cluster_status

Status = fields.ClusterStatus
_PROGRESS = "_IN_PROGRESS"
_COMPLETE = "_COMPLETE"
_FAILED = "_FAILED"


def fresh(request: Any, cluster: Any) -> Any | None:
    """The cluster's row as it is now, or None when it is gone."""
    try:
        return objects.Cluster.get_by_uuid(request, cluster.uuid)
    except exception.ClusterNotFound:
        return None


def read(cluster: Any) -> tuple[wanted.Rows, list[Any]]:
    """What the rows want, and the nodegroup rows themselves."""
    nodegroups = all_groups(cluster)
    sorted_out: dict[str, list[wanted.Group]] = {
        "groups": [],
        "leaving": [],
        "refused": [],
    }
    for each in nodegroups:
        kind = "groups" if counts(each) else "refused"
        if leaving(each):
            kind = "leaving"
        sorted_out[kind].append(group(each, cluster.stack_id))
    return (
        wanted.Rows(
            uuid=cluster.uuid,
            release=cluster.stack_id,
            **{key: tuple(found) for key, found in sorted_out.items()},
        ),
        nodegroups,
    )


def all_groups(cluster: Any) -> list[Any]:
    """The rows of all groups, those that an admin's project added too."""
    return list(objects.NodeGroup.list(_admin(), cluster.uuid, sort_key="id"))


def _admin() -> Any:
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


def group(nodegroup: Any, release: str) -> wanted.Group:
    """A row as plain data."""
    # Magnum 2026.1 and older have no labels and taints of nodes.
    node_labels = getattr(nodegroup, "node_labels", None) or {}
    taints = getattr(nodegroup, "node_taints", None) or []
    return wanted.Group(
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
            _admin(), nodegroup.cluster_id, nodegroup.uuid
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


def save_facts(
    cluster: Any, nodegroups: list[Any], verdict: cluster_status.Verdict
) -> None:
    """Write what is a fact at any time: addresses, version, reasons."""
    _set(cluster, "api_address", verdict.api_address or cluster.api_address)
    _set(cluster, "coe_version", verdict.coe_version or cluster.coe_version)
    if in_progress(cluster.status):
        _set(cluster, "status_reason", verdict.reason or None)
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name)
        if group is None:
            continue
        _set(nodegroup, "node_addresses", list(group.addresses))
        if in_progress(nodegroup.status):
            _set(nodegroup, "status_reason", group.reason or None)
        _save(nodegroup)
    _save(cluster)


def save_complete(
    cluster: Any, nodegroups: list[Any], verdict: cluster_status.Verdict
) -> None:
    """Write that everything is as it was wanted. Only under the Lease."""
    for nodegroup in nodegroups:
        if nodegroup.name not in verdict.groups or leaving(nodegroup):
            continue
        _finish(nodegroup, _COMPLETE, None)
        _set(
            nodegroup,
            "node_addresses",
            list(verdict.groups[nodegroup.name].addresses),
        )
        _save(nodegroup)
    _set(cluster, "api_address", verdict.api_address or cluster.api_address)
    _set(cluster, "coe_version", verdict.coe_version or cluster.coe_version)
    # The cluster last: whoever sees it complete sees its groups complete.
    _finish(cluster, _COMPLETE, None)
    _save(cluster)


def save_failed(
    cluster: Any,
    nodegroups: list[Any],
    reason: str,
    verdict: cluster_status.Verdict | None = None,
) -> None:
    """Write that the operation failed, with the reason of each group."""
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name) if verdict else None
        if leaving(nodegroup):
            # It is still wanted gone, and must never look like a living one.
            _set(nodegroup, "status_reason", group.reason if group else reason)
        elif group is not None and group.done:
            _finish(nodegroup, _COMPLETE, None)
        elif in_progress(nodegroup.status):
            why = group.reason if group else reason
            _finish(nodegroup, _FAILED, why)
        _save(nodegroup)
    _finish(cluster, _FAILED, reason)
    _save(cluster)


def fail_groups(cluster: Any, reason: str) -> None:
    """Write that the groups of a refused create failed with it."""
    for nodegroup in cluster.nodegroups:
        _finish(nodegroup, _FAILED, reason)
        _save(nodegroup)


def save_deleting(cluster: Any, reason: str | None = None) -> None:
    """Write DELETE_IN_PROGRESS to the cluster and all its groups."""
    for nodegroup in all_groups(cluster):
        _set(nodegroup, "status", Status.DELETE_IN_PROGRESS)
        _save(nodegroup)
    _set(cluster, "status", Status.DELETE_IN_PROGRESS)
    _set(cluster, "status_reason", reason)
    _save(cluster)


def save_group(nodegroup: Any, status: str) -> None:
    """Write the status of a group, and fields that Magnum left unsaved."""
    _set(nodegroup, "status", status)
    _set(nodegroup, "status_reason", None)
    _save(nodegroup)


def save_accepted(nodegroup: Any, release: str) -> None:
    """Write that the driver makes a new group."""
    _set(nodegroup, "stack_id", release)
    save_group(nodegroup, Status.CREATE_IN_PROGRESS)


def save_refused(nodegroup: Any, reason: str) -> None:
    """Write that a group will not be made, or made no more."""
    _set(nodegroup, "stack_id", None)
    _set(nodegroup, "status", Status.CREATE_FAILED)
    _set(nodegroup, "status_reason", reason)
    _save(nodegroup)


def save_updating(cluster: Any) -> None:
    """Write that polls have something to wait for; a deletion goes on."""
    if action(cluster.status) != "DELETE" and not in_progress(cluster.status):
        _set(cluster, "status", Status.UPDATE_IN_PROGRESS)
        _save(cluster)


def save_reason(cluster: Any, reason: str | None) -> None:
    """Write the reason alone."""
    _set(cluster, "status_reason", reason)
    _save(cluster)


def copy_outcome(source: Any, target: Any) -> None:
    """Show Magnum, on the object it handed in, what was saved."""
    copied = ["status", "status_reason", "api_address", "coe_version"]
    for name in copied:
        _set(target, name, getattr(source, name))
    target.obj_reset_changes(copied)


def _finish(row: Any, outcome: str, reason: str | None) -> None:
    # A group whose deletion was refused lives on.
    verb = action(row.status).replace("DELETE", "UPDATE")
    _set(row, "status", verb + outcome)
    _set(row, "status_reason", reason)


def _set(row: Any, name: str, value: Any) -> None:
    if getattr(row, name) != value:
        setattr(row, name, value)


def _save(row: Any) -> None:
    if row.obj_what_changed():
        row.save()
