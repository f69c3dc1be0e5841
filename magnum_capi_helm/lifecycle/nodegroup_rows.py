# SPDX-License-Identifier: Apache-2.0

"""Rows of nodegroups, brought in line with what requests parked.

A request parks what it wants before it says so in a row, and Magnum's
handlers write into rows whatever they remember: what is parked is the
stronger word. Only under the Lease, before the rows are judged or applied.
"""

from __future__ import annotations

import datetime
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import pending_moves
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: How long a request may take until it has said whether it makes a group.
_TO_DECIDE = datetime.timedelta(minutes=5)

_NEVER_DECIDED = (
    "the conductor stopped before it began to make the nodegroup: delete it "
    "and create it again"
)
_NOTHING_KNOWN = (
    "nothing is known of the nodegroup's machines: delete it and create it "
    "again"
)


def settle(rt: runtime.Runtime, cluster: Any) -> None:
    """Write into the rows what was decided about their groups.

    A new group that is parked is taken on; one that is to be deleted is
    being deleted, whatever was written since; one of which nothing is known
    can't be made any more, and must not keep the others from it.

    :param cluster: the row, read under the Lease
    """
    pending_moves.make(rt, cluster)
    # Before the Secret: what was taken on by now was parked before.
    extra = [each for each in rows.all_groups(cluster) if not each.is_default]
    if not extra:
        return
    found = state_secret.base(rt, operation.scope_of(cluster))
    if found.wanted is None:
        return
    rows_now, _ = rows.read(cluster)
    named = rows_now.known_as(found.groups)
    there = {
        each.uuid
        for each in (*named.groups, *named.refused)
        if each.chart_name in found.groups
    } | found.parked.items.keys()
    for each in extra:
        if each.uuid in found.parked.deleted:
            status_writer.save_group(each, rows.Status.DELETE_IN_PROGRESS)
        elif each.uuid in there and rows.undecided(each):
            status_writer.save_accepted(each, cluster.stack_id)
        elif each.uuid not in there:
            _without_machines(each)


def _without_machines(nodegroup: Any) -> None:
    """A group that is in no values and not parked."""
    now = datetime.datetime.now(datetime.timezone.utc)
    young = now - nodegroup.created_at <= _TO_DECIDE
    reason = ""
    if rows.undecided(nodegroup):
        reason = "" if young else _NEVER_DECIDED
    elif rows.counts(nodegroup):
        if young and not nodegroup.stack_id:
            # Resized before its own request has said whether it is made.
            status_writer.save_group(nodegroup, rows.Status.CREATE_IN_PROGRESS)
            return
        reason = _NOTHING_KNOWN
    if reason:
        LOG.warning("nodegroup %s: %s", nodegroup.uuid, reason)
        status_writer.save_refused(nodegroup, reason)


def bury(
    rt: runtime.Runtime,
    cluster: Any,
    nodegroups: list[Any],
    rows_now: requested_groups.Rows,
    seen: view.View,
) -> frozenset[str]:
    """Remove the rows of deleted groups of which nothing is left.

    :param rows_now: known by the names of the groups in ``seen``
    :param seen: read under the Lease; its release is what the rows want
    :returns: UUIDs of those groups
    """
    gone = {
        each.uuid: each
        for each in rows_now.leaving
        if cluster_status.gone(seen, each)
    }
    if not gone:
        return frozenset()
    _remove_server_groups(rt, cluster, gone)
    for nodegroup in nodegroups:
        if nodegroup.uuid in gone:
            nodegroup.destroy()
            LOG.info("nodegroup %s is deleted", nodegroup.uuid)
    _forget(rt, cluster, gone)
    return frozenset(gone)


def _remove_server_groups(
    rt: runtime.Runtime, cluster: Any, gone: dict[str, requested_groups.Group]
) -> None:
    """Remove what Nova has for groups without machines.

    A Nova that refuses keeps no group's row alive: what could not be removed
    stays recorded, and goes with the cluster.
    """
    scope = operation.scope_of(cluster)
    chart_names = [
        names.node_group(each.name, scope[1]) for each in gone.values()
    ]
    problem = ""
    try:
        server_groups.delete(rt.management, scope, chart_names)
    except errors.CloudError as error:
        problem = str(error)
    if problem:
        LOG.warning("Server groups of %s are left: %s", scope[1], problem)


def _forget(
    rt: runtime.Runtime, cluster: Any, gone: dict[str, requested_groups.Group]
) -> None:
    """Remove what is parked for groups whose rows are gone."""
    scope = operation.scope_of(cluster)
    keys = state_secret.read(rt, scope).parked.keys_of(gone)
    if keys:
        labels = location.object_labels(cluster, scope[1])
        state_secret.park(rt, scope, labels, dict.fromkeys(keys))
