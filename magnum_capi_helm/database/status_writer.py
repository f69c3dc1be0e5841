# SPDX-License-Identifier: Apache-2.0

"""Write status, reasons, addresses and versions into Magnum's rows.

Only fields that changed are saved, and a row without any is not touched.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.database import rows
from magnum_capi_helm.model import lease_guard
from magnum_capi_helm.status import cluster as cluster_status

_COMPLETE = "_COMPLETE"
_FAILED = "_FAILED"
_IN_PROGRESS = "_IN_PROGRESS"
#: Of the column ``nodegroup.version``.
_VERSION_WIDTH = 20


def save_observed(
    cluster: Any, nodegroups: list[Any], verdict: cluster_status.Verdict
) -> None:
    """Write addresses and versions."""
    _observe(cluster, nodegroups, verdict)
    for row in (*nodegroups, cluster):
        _save(row)


def save_facts(
    cluster: Any, nodegroups: list[Any], verdict: cluster_status.Verdict
) -> None:
    """Write addresses, versions and the reasons for waiting."""
    _observe(cluster, nodegroups, verdict)
    if rows.in_progress(cluster.status):
        _set(cluster, "status_reason", verdict.reason or None)
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name)
        if group is not None and rows.in_progress(nodegroup.status):
            _set(nodegroup, "status_reason", group.reason or None)
        _save(nodegroup)
    _save(cluster)


def save_complete(
    cluster: Any, nodegroups: list[Any], verdict: cluster_status.Verdict
) -> None:
    """Write that everything is as the rows want it. Only under the Lease."""
    _observe(cluster, nodegroups, verdict)
    for nodegroup in nodegroups:
        if nodegroup.name not in verdict.groups or rows.leaving(nodegroup):
            continue
        _finish(nodegroup, _COMPLETE, None)
        _save(nodegroup)
    # The cluster last: a reader that sees it complete sees its groups so.
    _finish(cluster, _COMPLETE, None)
    _save(cluster)


def save_count(nodegroup: Any, count: int) -> None:
    """Write the number of machines that the autoscaler chose."""
    _set(nodegroup, "node_count", count)
    _save(nodegroup)


def save_failed(
    cluster: Any,
    nodegroups: list[Any],
    reason: str,
    verdict: cluster_status.Verdict | None = None,
) -> None:
    """Write that the operation failed, with the reason of each group."""
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name) if verdict else None
        if rows.leaving(nodegroup):
            # It is still to be deleted, and must never look like a living one.
            _set(nodegroup, "status_reason", group.reason if group else reason)
        elif group is not None and group.done:
            _finish(nodegroup, _COMPLETE, None)
        elif rows.in_progress(nodegroup.status):
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
    for nodegroup in rows.all_groups(cluster):
        _set(nodegroup, "status", rows.Status.DELETE_IN_PROGRESS)
        _save(nodegroup)
    _set(cluster, "status", rows.Status.DELETE_IN_PROGRESS)
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
    save_group(nodegroup, rows.Status.CREATE_IN_PROGRESS)


def save_refused(nodegroup: Any, reason: str) -> None:
    """Write that a group will not be made, or not any more."""
    _set(nodegroup, "stack_id", None)
    _set(nodegroup, "status", rows.Status.CREATE_FAILED)
    _set(nodegroup, "status_reason", reason)
    _save(nodegroup)


def save_updating(cluster: Any) -> None:
    """Write UPDATE_IN_PROGRESS, so that polls go on; not over a deletion."""
    if rows.action(cluster.status) != "DELETE" and not rows.in_progress(
        cluster.status
    ):
        _set(cluster, "status", rows.Status.UPDATE_IN_PROGRESS)
        _save(cluster)


def save_unfinished(cluster: Any) -> None:
    """Write that the operation goes on after all."""
    _finish(cluster, _IN_PROGRESS, cluster.status_reason)
    _save(cluster)


def await_polls(context: Any, cluster: Any) -> None:
    """Let the polls look at the cluster, after a group's row was saved.

    A poll that read the rows before may have written COMPLETE since Magnum's
    handler wrote UPDATE_IN_PROGRESS.
    """
    row = rows.fresh(context, cluster)
    if row is not None:
        save_updating(row)


def save_reason(cluster: Any, reason: str | None) -> None:
    """Write the reason alone."""
    _set(cluster, "status_reason", reason)
    _save(cluster)


def copy_outcome(source: Any, target: Any) -> None:
    """Show Magnum, on the object it handed in, what was saved."""
    copied = [
        "status",
        "status_reason",
        "api_address",
        "coe_version",
        "container_version",
    ]
    for name in copied:
        _set(target, name, getattr(source, name))
    target.obj_reset_changes(copied)


def _observe(
    cluster: Any, nodegroups: list[Any], verdict: cluster_status.Verdict
) -> None:
    """Set the facts of a verdict; unknown ones stay as they were."""
    for name in ("api_address", "coe_version", "container_version"):
        if value := getattr(verdict, name):
            _set(cluster, name, value)
    for nodegroup in nodegroups:
        group = verdict.groups.get(nodegroup.name)
        if group is None:
            continue
        _set(nodegroup, "node_addresses", list(group.addresses))
        if group.version:
            _set(nodegroup, "version", group.version[:_VERSION_WIDTH])


def _finish(row: Any, outcome: str, reason: str | None) -> None:
    # A group whose deletion was refused lives on.
    verb = rows.action(row.status).replace("DELETE", "UPDATE")
    _set(row, "status", verb + outcome)
    _set(row, "status_reason", reason)


def _set(row: Any, name: str, value: Any) -> None:
    if getattr(row, name) != value:
        setattr(row, name, value)


def _save(row: Any) -> None:
    if row.obj_what_changed():
        # It may be outdated if this conductor stood still meanwhile.
        lease_guard.check()
        row.save()
