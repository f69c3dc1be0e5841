# SPDX-License-Identifier: Apache-2.0

"""Write the counts that the autoscaler chose into Magnum's rows.

It changes machines behind Magnum's back, and users read the count there. The
count is part of the fingerprint of the rows, which release and desired state
carry: they get the new one first, so that nothing looks unapplied and nothing
is applied. In a cluster that changes, the rows say what a user wants, and
nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import nodegroup as nodegroup_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def differs(
    cluster: Any,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    objects: view.View,
) -> bool:
    """Return whether the autoscaler chose other counts than the rows have.

    :param objects: of any age; the answer only says whether to look closer
    """
    return bool(_chosen(cluster, nodegroups, rows_now, objects))


def follow(operation: operations.Operation) -> None:
    """Write the live counts into the rows, under the Lease.

    :raises CapiHelmError: they could not be read or written
    """
    # If the Lease is held, the cluster changes: the next poll looks again.
    with contextlib.suppress(errors.LeaseHeld), operation.lock() as locked:
        if not locked.deleting:
            observed = locked.observe()
            groups = observed.nodegroups
            save(locked, groups, rows.wants(locked.row, groups), observed.view)


def save(
    locked: operations.Locked,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    objects: view.View,
) -> None:
    """Write the live counts.

    :param objects: read under the Lease
    """
    cluster = locked.cluster
    chosen = _chosen(cluster, nodegroups, rows_now, objects)
    if not chosen or not _stamp(locked, rows_now, chosen, objects):
        return
    for nodegroup in nodegroups:
        if nodegroup.uuid in chosen:
            status_writer.save_count(nodegroup, chosen[nodegroup.uuid])
    LOG.info("cluster %s was scaled: %s", cluster.uuid, sorted(chosen.items()))


def _chosen(
    cluster: Any,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    objects: view.View,
) -> dict[str, int]:
    """Return counts to write, by the UUIDs of the groups.

    Nothing while the cluster changes, or while the release has not what the
    rows want.
    """
    statuses = [cluster.status, *(each.status for each in nodegroups)]
    if any(map(rows.in_progress, statuses)) or rows_now.leaving:
        return {}
    named = rows_now.known_as(objects.group_names())
    live = {
        each.uuid: nodegroup_status.replicas(deployment).wanted
        for each in named.workers
        if each.chart_name in objects.autoscaled()
        and (deployment := objects.deployment(each.chart_name)) is not None
        and not view.deleting(deployment)
    }
    counts = {each.uuid: each.count for each in named.workers}
    chosen = {
        uuid: count for uuid, count in live.items() if count != counts[uuid]
    }
    fingerprint = cluster_status.fingerprint(objects.cluster)
    applied = (rows_now.fingerprint(), rows_now.counted(live).fingerprint())
    return chosen if fingerprint is None or fingerprint in applied else {}


def _stamp(
    locked: operations.Locked,
    rows_now: requested_groups.Rows,
    chosen: Mapping[str, int],
    objects: view.View,
) -> bool:
    """Give desired state and release the fingerprint of the rows to come.

    :returns: whether the rows may be written
    """
    rt, scope = locked.runtime, locked.scope
    new = rows_now.counted(chosen).fingerprint()
    desired = releases.read_stored(rt, scope).desired
    if desired is not None and desired.fingerprint != new:
        if desired.fingerprint != rows_now.fingerprint():
            return False
        locked.store(dataclasses.replace(desired, fingerprint=new))
    live = cluster_status.fingerprint(objects.cluster)
    if live is not None and live != new:
        note = {requested_groups.FINGERPRINT_ANNOTATION: new}
        rt.management.patch(
            kinds.CLUSTER, *scope, {"metadata": {"annotations": note}}
        )
    return True
