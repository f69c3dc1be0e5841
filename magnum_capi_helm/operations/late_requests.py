# SPDX-License-Identifier: Apache-2.0

"""What was asked for while a status was written that ends an operation.

Magnum's handlers take no Lease, and Magnum's polls look at what is in
progress alone: a request that wrote its rows between a conductor's look and
its COMPLETE or FAILED would wait for polls that never come. So whoever has
written such a status looks once more, after the write: what came before it is
seen, and what comes after it writes a status of its own.
"""

from __future__ import annotations

from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)


def ended(rt: runtime.Runtime, scope: snapshot.Scope, row: Any) -> bool:
    """Whether it is the end of what was asked for, and no deletion was.

    :param row: of the cluster, with the status that was written; of a
        deletion it says so then
    :raises ManagementError: nobody can say; the operation goes on, so that
        the next poll asks again
    """
    try:
        doomed = deleted(rt, scope)
    except errors.CapiHelmError:
        status_writer.save_unfinished(row)
        raise
    if doomed:
        status_writer.save_deleting(row)
    return not doomed


def heed(rt: runtime.Runtime, scope: snapshot.Scope, row: Any) -> None:
    """Let polls look at a cluster that is deleted, or has groups to change.

    :param row: of the cluster, with the status that was written
    """
    try:
        doomed = deleted(rt, scope)
    except errors.CapiHelmError as error:
        LOG.warning("cluster %s goes on with the polls: %s", row.uuid, error)
        status_writer.save_updating(row)
        return
    if doomed:
        status_writer.save_deleting(row)
    elif any(_unfinished(row, each) for each in rows.all_groups(row)):
        status_writer.save_updating(row)


def _unfinished(row: Any, nodegroup: Any) -> bool:
    """Whether a group waits for polls; one that can't go, waits for nobody."""
    if rows.leaving(nodegroup):
        return not rows.failed(row.status)
    return rows.in_progress(nodegroup.status)


def deleted(rt: runtime.Runtime, scope: snapshot.Scope) -> bool:
    """Whether deletion was asked for.

    The mark on the Lease comes before anything that a deletion writes to the
    rows.

    :raises ManagementError: nobody can say
    """
    return lease.marked_deleted_at(rt.leases.read(*scope)) is not None
