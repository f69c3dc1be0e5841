# SPDX-License-Identifier: Apache-2.0

"""Write status, reasons, addresses and versions into Magnum's rows.

Only fields that changed are saved, and a row without any is not touched. Three
functions write that an operation goes on:

* ``save_updating``: UPDATE_IN_PROGRESS; a deletion, or an operation that is in
  progress already, keeps its status
* ``save_in_progress``: IN_PROGRESS of the row's own action, after an outcome
* ``save_deleting``: DELETE_IN_PROGRESS, over any status
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from magnum_capi_helm.database import rows
from magnum_capi_helm.model import call
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.status import cluster as cluster_status

Verdict = cluster_status.Verdict

#: Fields of a cluster that a poll shows Magnum.
_SHOWN = (
    "status",
    "status_reason",
    "api_address",
    "coe_version",
    "container_version",
)
#: Of the column ``nodegroup.version``.
_VERSION_WIDTH = 20


@call.without_lease("all polls write what they read")
def save_observed(
    cluster: rows.Cluster, nodegroups: list[rows.NodeGroup], verdict: Verdict
) -> None:
    """Write addresses and versions; unknown ones stay as they were.

    Fields that the caller has set are saved as well. The cluster is saved
    last: who sees a complete cluster sees complete groups.
    """
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name)
        if group is not None:
            version = (group.version or "")[:_VERSION_WIDTH]
            _save(
                nodegroup,
                node_addresses=list(group.addresses),
                version=version or nodegroup.version,
            )
    _save(
        cluster,
        api_address=verdict.api_address or cluster.api_address,
        coe_version=verdict.coe_version or cluster.coe_version,
        container_version=verdict.container_version
        or cluster.container_version,
    )


def save_facts(
    cluster: rows.Cluster, nodegroups: list[rows.NodeGroup], verdict: Verdict
) -> None:
    """Write addresses, versions and the reasons for waiting."""
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name)
        if group is not None and rows.in_progress(nodegroup.status):
            _set(nodegroup, status_reason=group.reason or None)
    if rows.in_progress(cluster.status):
        _set(cluster, status_reason=verdict.reason or None)
    save_observed(cluster, nodegroups, verdict)


def save_complete(
    cluster: rows.Cluster, nodegroups: list[rows.NodeGroup], verdict: Verdict
) -> None:
    """Write that everything is as the rows want it."""
    for nodegroup in nodegroups:
        if nodegroup.name in verdict.groups and not rows.leaving(nodegroup):
            _set_outcome(nodegroup, "COMPLETE", None)
    _set_outcome(cluster, "COMPLETE", None)
    save_observed(cluster, nodegroups, verdict)


def save_count(nodegroup: rows.NodeGroup, count: int) -> None:
    """Write the number of machines that the autoscaler chose."""
    _save(nodegroup, node_count=count)


def save_failed(
    cluster: rows.Cluster,
    nodegroups: list[rows.NodeGroup],
    reason: str,
    verdict: Verdict | None = None,
) -> None:
    """Write that the operation failed, with the reason of each group."""
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name) if verdict else None
        why = group.reason if group else reason
        if rows.leaving(nodegroup):
            # It is still to be deleted, and must never look like a living one.
            _set(nodegroup, status_reason=why)
        elif group is not None and not group.reason:
            _set_outcome(nodegroup, "COMPLETE", None)
        elif rows.in_progress(nodegroup.status):
            _set_outcome(nodegroup, "FAILED", why)
        _save(nodegroup)
    _set_outcome(cluster, "FAILED", reason)
    _save(cluster)


@call.without_lease("nothing was begun")
def fail_groups(cluster: rows.Cluster, reason: str) -> None:
    """Write that the groups of a refused create failed with it."""
    for nodegroup in cluster.nodegroups:
        _set_outcome(nodegroup, "FAILED", reason)
        _save(nodegroup)


@call.without_lease("a deletion waits for no operation")
def save_deleting(cluster: rows.Cluster, reason: str | None = None) -> None:
    """Write DELETE_IN_PROGRESS to the cluster and all its groups."""
    status = rows.Status.DELETE_IN_PROGRESS
    for nodegroup in rows.all_groups(cluster):
        _save(nodegroup, status=status)
    _save(cluster, status=status, status_reason=reason)


@call.without_lease("a deletion waits for no operation")
def save_deletion_failed(cluster: rows.Cluster, reason: str) -> None:
    """Write DELETE_FAILED to the cluster; its groups stay as they are."""
    status = rows.Status.DELETE_FAILED
    _save(cluster, status=status, status_reason=reason)


@call.without_lease("a request, which the next holder finds")
def save_group(nodegroup: rows.NodeGroup, status: str) -> None:
    """Write the status of a group, and fields that Magnum left unsaved."""
    _save(nodegroup, status=status, status_reason=None)


def save_accepted(nodegroup: rows.NodeGroup, release: str) -> None:
    """Write that the driver makes a new group."""
    _set(nodegroup, stack_id=release)
    save_group(nodegroup, rows.Status.CREATE_IN_PROGRESS)


def save_refused(nodegroup: rows.NodeGroup, reason: str) -> None:
    """Write that a group will not be made, or not any more."""
    status = rows.Status.CREATE_FAILED
    _save(nodegroup, stack_id=None, status=status, status_reason=reason)


def save_moves(
    cluster: rows.Cluster,
    nodegroups: Sequence[rows.NodeGroup],
    moves: desired_state.Moves,
) -> None:
    """Write the changes of an accepted upgrade into the rows."""
    updating = rows.Status.UPDATE_IN_PROGRESS
    for each in nodegroups:
        fields = moves.groups.get(each.uuid)
        if fields is not None and not rows.leaving(each):
            status = each.status if rows.in_progress(each.status) else updating
            _save(each, **fields, status=status, status_reason=None)
    # The template last: the groups' former fields are known by the old one.
    deleted = rows.action(cluster.status) == "DELETE"
    _save(
        cluster,
        cluster_template_id=moves.template,
        status=cluster.status if deleted else updating,
        status_reason=None,
    )


@call.without_lease("it asks for polls alone")
def save_updating(cluster: rows.Cluster) -> None:
    """Write UPDATE_IN_PROGRESS, so that polls go on; not over a deletion."""
    if rows.action(cluster.status) != "DELETE" and not rows.in_progress(
        cluster.status
    ):
        _save(cluster, status=rows.Status.UPDATE_IN_PROGRESS)


def save_in_progress(cluster: rows.Cluster) -> None:
    """Write that the operation goes on after all."""
    _set_outcome(cluster, "IN_PROGRESS", cluster.status_reason)
    _save(cluster)


@call.without_lease("it ends nothing")
def save_reason(cluster: rows.Cluster, reason: str | None) -> None:
    """Write the reason alone."""
    _save(cluster, status_reason=reason)


def copy_outcome(source: Any, target: Any) -> None:
    """Show Magnum, on the object it handed in, what was saved."""
    _set(target, **{name: getattr(source, name) for name in _SHOWN})
    target.obj_reset_changes(_SHOWN)


def _set_outcome(row: rows.Row, outcome: str, reason: str | None) -> None:
    """Set the outcome of a row's own action.

    :param outcome: ``COMPLETE`` makes CREATE_IN_PROGRESS CREATE_COMPLETE, and
        UPDATE_IN_PROGRESS UPDATE_COMPLETE
    """
    # A group whose deletion was refused lives on.
    verb = rows.action(row.status).replace("DELETE", "UPDATE")
    _set(row, status=f"{verb}_{outcome}", status_reason=reason)


def _set(row: rows.Row, **values: Any) -> None:
    for name, value in values.items():
        if getattr(row, name) != value:
            setattr(row, name, value)


def _save(row: rows.Row, **values: Any) -> None:
    """Set fields, and save the row if any of its fields has changed."""
    _set(row, **values)
    if row.obj_what_changed():
        rows.save(row)
