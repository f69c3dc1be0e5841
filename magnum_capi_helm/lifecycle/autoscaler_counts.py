# SPDX-License-Identifier: Apache-2.0

"""Counts that the autoscaler chose, written into Magnum's rows.

It changes machines behind Magnum's back, and users read the count there.
The count is part of the fingerprint of what the rows want, which release and
intent carry: they get the new one first, so that nothing looks unapplied and
nothing is applied. Of a cluster that changes, or is to be changed, nothing is
touched: then the rows say what a user wants.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import nodegroup as nodegroup_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def differs(
    cluster: Any,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    seen: view.View,
) -> bool:
    """Whether the autoscaler chose other counts than the rows'.

    :param seen: of any age; it only says whether to look closer
    """
    return bool(_chosen(cluster, nodegroups, rows_now, seen))


def follow(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Write other counts than the rows', if there are any, under the Lease.

    :raises CapiHelmError: it could not be read or written
    """
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    # With the Lease held somebody changes the cluster: the next poll looks.
    with (
        contextlib.suppress(errors.LeaseHeld),
        rt.leases.hold(*scope, labels) as hold,
    ):
        row = rows.fresh(context, cluster)
        hold.orphaned = row is None
        if row is None or hold.marked_deleted:
            return
        rows_now, nodegroups = rows.read(row)
        fresh = rt.snapshots.get(scope, not_before=time.monotonic())
        save(rt, row, nodegroups, rows_now, fresh.decode())


def save(
    rt: runtime.Runtime,
    cluster: Any,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    seen: view.View,
) -> None:
    """Write the live counts. Only under the Lease.

    :param seen: read under the Lease
    """
    chosen = _chosen(cluster, nodegroups, rows_now, seen)
    if not chosen or not _restamped(rt, cluster, rows_now, chosen, seen):
        return
    for nodegroup in nodegroups:
        if nodegroup.uuid in chosen:
            status_writer.save_count(nodegroup, chosen[nodegroup.uuid])
    LOG.info("cluster %s was scaled: %s", cluster.uuid, sorted(chosen.items()))


def _chosen(
    cluster: Any,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    seen: view.View,
) -> dict[str, int]:
    """Counts to write, by the UUIDs of the groups; none while it changes."""
    statuses = [cluster.status, *(each.status for each in nodegroups)]
    if any(map(rows.in_progress, statuses)) or rows_now.leaving:
        return {}
    known = rows_now.known_as(seen.group_names())
    live = {
        each.uuid: nodegroup_status.replicas(found).wanted
        for each in known.workers
        if each.chart_name in seen.autoscaled()
        and (found := seen.deployment(each.chart_name)) is not None
        and not view.deleting(found)
    }
    counts = {each.uuid: each.count for each in known.workers}
    chosen = {
        uuid: count for uuid, count in live.items() if count != counts[uuid]
    }
    stamp = cluster_status.fingerprint(seen.cluster)
    applied = (rows_now.fingerprint(), rows_now.counted(live).fingerprint())
    return chosen if stamp is None or stamp in applied else {}


def _restamped(
    rt: runtime.Runtime,
    cluster: Any,
    rows_now: requested_groups.Rows,
    chosen: Mapping[str, int],
    seen: view.View,
) -> bool:
    """Give intent and release the fingerprint that the rows will have.

    :returns: whether the rows may be written
    """
    scope = operation.scope_of(cluster)
    new = rows_now.counted(chosen).fingerprint()
    found = state_secret.read(rt, scope).wanted
    if found is not None and found.fingerprint != new:
        if found.fingerprint != rows_now.fingerprint():
            return False
        labels = location.object_labels(cluster, scope[1])
        same = dataclasses.replace(found, fingerprint=new)
        operation.write_intent(rt, scope, same, labels)
    stamp = cluster_status.fingerprint(seen.cluster)
    if stamp is not None and stamp != new:
        rt.management.patch(
            kinds.CLUSTER,
            *scope,
            {"metadata": {"annotations": {values.INTENT_ANNOTATION: new}}},
        )
    return True
