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
from magnum.common import exception
from magnum.objects import fields

from magnum_capi_helm import names
from magnum_capi_helm import wanted
from magnum_capi_helm.status import cluster as cluster_status

Status = fields.ClusterStatus
_PROGRESS = "_IN_PROGRESS"
_COMPLETE = "_COMPLETE"
_FAILED = "_FAILED"


def fresh(context: Any, cluster: Any) -> Any | None:
    """The cluster's row as it is now, or None when it is gone."""
    try:
        return objects.Cluster.get_by_uuid(context, cluster.uuid)
    except exception.ClusterNotFound:
        return None


def read(cluster: Any) -> tuple[wanted.Rows, list[Any]]:
    """What the rows want, and the nodegroup rows themselves."""
    nodegroups = list(cluster.nodegroups)
    return (
        wanted.Rows(
            uuid=cluster.uuid,
            release=cluster.stack_id,
            groups=tuple(
                _group(each, cluster.stack_id)
                for each in nodegroups
                if counts(each)
            ),
        ),
        nodegroups,
    )


def counts(nodegroup: Any) -> bool:
    """Whether a group is part of the cluster.

    Not one that is being deleted, and not one that was refused: the driver
    gives a group that it accepts a ``stack_id``.
    """
    status = nodegroup.status or ""
    if status == Status.DELETE_IN_PROGRESS:
        return False
    refused = status.startswith("CREATE_") and status != Status.CREATE_COMPLETE
    return nodegroup.is_default or bool(nodegroup.stack_id) or not refused


def _group(nodegroup: Any, release: str) -> wanted.Group:
    return wanted.Group(
        uuid=nodegroup.uuid,
        name=nodegroup.name,
        chart_name=names.node_group(nodegroup.name, release),
        control_plane=nodegroup.role == "master",
        count=nodegroup.node_count,
        flavor_id=nodegroup.flavor_id,
        image_id=nodegroup.image_id,
    )


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
        if nodegroup.name not in verdict.groups:
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
        if group is not None and group.done:
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
    for nodegroup in cluster.nodegroups:
        _set(nodegroup, "status", Status.DELETE_IN_PROGRESS)
        _save(nodegroup)
    _set(cluster, "status", Status.DELETE_IN_PROGRESS)
    _set(cluster, "status_reason", reason)
    _save(cluster)


def save_reason(cluster: Any, reason: str | None) -> None:
    """Write the reason alone."""
    _set(cluster, "status_reason", reason)
    _save(cluster)


def copy_outcome(source: Any, target: Any) -> None:
    """Show Magnum, on the object it handed in, what was saved."""
    for name in ("status", "status_reason", "api_address", "coe_version"):
        _set(target, name, getattr(source, name))
    target.obj_reset_changes(
        ["status", "status_reason", "api_address", "coe_version"]
    )


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
