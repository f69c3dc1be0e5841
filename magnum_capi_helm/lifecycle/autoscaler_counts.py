# SPDX-License-Identifier: Apache-2.0

"""Write the counts that the autoscaler chose into Magnum's rows.

The autoscaler changes counts without Magnum, and users read the counts in
Magnum. A count is part of the fingerprint of the rows, which the Cluster and
the desired state have: both get the new fingerprint before the rows, so that
no poll runs helm for it. The poll that writes COMPLETE does this, and each
health poll. In a cluster that changes, the rows say what a user wants, and
nothing is written.

The module also reads whether the autoscaler runs.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses

from oslo_log import log

from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import nodegroup as nodegroup_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def chosen(
    cluster: rows.Cluster, observed: cluster_release.Observed
) -> dict[str, int]:
    """Return counts to write, by the UUIDs of the groups.

    Nothing while the cluster changes, or while the release has not what the
    rows want.

    :param observed: of any age; :func:`follow` looks again
    """
    rows_now, objects = observed.rows, observed.view
    statuses = [cluster.status, *(e.status for e in observed.nodegroups)]
    if any(map(rows.in_progress, statuses)) or rows_now.leaving:
        return {}
    live = {
        each.uuid: nodegroup_status.replicas(deployment).wanted
        for each in rows_now.workers
        if each.chart_name in objects.autoscaled()
        and (deployment := objects.deployment(each.chart_name)) is not None
        and not view.deleting(deployment)
    }
    counts = {each.uuid: each.count for each in rows_now.workers}
    new = {
        uuid: count for uuid, count in live.items() if count != counts[uuid]
    }
    fingerprint = cluster_status.fingerprint(objects.cluster)
    moves = {uuid: {"node_count": count} for uuid, count in new.items()}
    applied = (rows_now.fingerprint(), rows_now.moved(moves).fingerprint())
    return new if fingerprint is None or fingerprint in applied else {}


def stopped_reason(operation: cluster_operation.Operation) -> str | None:
    """Return why the autoscaler does not run; None: unknown."""
    text = "Nothing is known of the autoscaler of cluster %s: %s"
    name, deployment = names.autoscaler(operation.release), None
    answered = False
    with magnum_errors.logged(LOG, text, operation.cluster.uuid):
        deployment = operation.get(kinds.DEPLOYMENT, name)
        answered = True
    return health.stopped_reason(deployment) if answered else None


def follow(operation: cluster_operation.Operation) -> None:
    """Write the live counts into the rows, under the Lease.

    :raises CapiHelmError: they could not be read or written
    """
    # If the Lease is held, the cluster changes: the next poll looks again.
    with contextlib.suppress(errors.LeaseHeld), operation.lock() as held:
        if not held.deleting:
            save(held, held.observe())


def save(held: holding.Held, observed: cluster_release.Observed) -> None:
    """Write the live counts.

    :param observed: objects that were read under the Lease
    """
    cluster = held.cluster
    counts = chosen(cluster, observed)
    if not counts or not _stamp(held, observed, counts):
        return
    for nodegroup in observed.nodegroups:
        if nodegroup.uuid in counts:
            status_writer.save_count(nodegroup, counts[nodegroup.uuid])
    LOG.info("cluster %s was scaled: %s", cluster.uuid, sorted(counts.items()))


def _stamp(
    held: holding.Held,
    observed: cluster_release.Observed,
    counts: Mapping[str, int],
) -> bool:
    """Give desired state and release the fingerprint of the rows to come.

    :returns: whether the rows may be written
    """
    moves = {uuid: {"node_count": count} for uuid, count in counts.items()}
    new = observed.rows.moved(moves).fingerprint()
    desired = held.read_stored().desired
    # A state of 1.4.0 has no fingerprint.
    if desired and desired.fingerprint not in ("", new):
        if desired.fingerprint != observed.rows.fingerprint():
            return False
        held.store(dataclasses.replace(desired, fingerprint=new))
    live = cluster_status.fingerprint(observed.view.cluster)
    if live is not None and live != new:
        note = {requested_groups.FINGERPRINT_ANNOTATION: new}
        held.annotate(kinds.CLUSTER, held.release, note)
    return True
