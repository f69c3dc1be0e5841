# SPDX-License-Identifier: Apache-2.0

"""One health poll: four LISTs, which the polls of all clusters share.

Of a cluster that is as it was, nothing else is read, judged or written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.delivery import notice
from magnum_capi_helm.lifecycle import autoscaler_counts
from magnum_capi_helm.lifecycle import poll_status
from magnum_capi_helm.lifecycle import reconcile
from magnum_capi_helm.lifecycle import renew
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import faults
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import origin
from magnum_capi_helm.status import certificates
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def poll(rt: runtime.Runtime, context: Any, cluster: Any) -> health.Health:
    """The health of a cluster; with a failed one, work goes on.

    :raises CapiHelmError: it could not be read
    """
    scope = operation.scope_of(cluster)
    # Since when it says what it says, whatever that is.
    reconcile.told(rt, cluster)
    with origin.doubted(rt, cluster):
        sighting = rt.health_snapshots.get(scope)
    looks = (rows.shows(cluster), sighting.version)
    found = rt.healthy.recall(scope, looks)
    if found is None:
        with rt.judging:
            seen = sighting.decode()
            found, lasting = _judge(rt, context, cluster, seen)
        if lasting:
            rt.healthy.keep(scope, looks, found)
        if rows.failed(cluster.status):
            _go_on(rt, context, cluster)
        elif found.status == health.HEALTHY:
            _renew(rt, context, cluster, seen)
    notice.seen(rt, context, cluster)
    return upkeep.checked(rt, cluster, found)


def _judge(
    rt: runtime.Runtime, context: Any, cluster: Any, seen: view.View
) -> tuple[health.Health, bool]:
    """Judge a cluster, and save what it tells at any time.

    :returns: its health, and whether it stays so until something changes
    """
    now = time.time()
    found = health.health(seen, now)
    rows_now, nodegroups = rows.read(cluster)
    _locate(rt, operation.scope_of(cluster), nodegroups, seen)
    lasting = cluster.status.endswith("_COMPLETE")
    if seen.cluster is not None and rows.action(cluster.status) != "DELETE":
        _observe(cluster, rows_now, nodegroups, seen, now)
        if autoscaler_counts.differs(cluster, nodegroups, rows_now, seen):
            lasting = False
            _follow(rt, context, cluster)
    lasting = lasting and found == health.health(seen, math.inf)
    return _warned(found, seen, now), lasting


def _warned(
    found: health.Health, seen: view.View, now: float
) -> health.Health:
    """The health, and what is no illness yet.

    It changes by the day: however long the health is believed, it may be.
    """
    why = certificates.warning(seen, now)
    if not why or found.status == health.UNKNOWN:
        return found
    return dataclasses.replace(
        found, reason={**found.reason, "certificates": why}
    )


def _renew(
    rt: runtime.Runtime, context: Any, cluster: Any, seen: view.View
) -> None:
    """Renew certificates in time. Health is told even if that fails."""
    if not cluster.status.endswith("_COMPLETE"):
        return
    with (
        faults.logged(
            LOG, "No new certificates for cluster %s: %s", cluster.uuid
        ),
        contextlib.suppress(errors.LeaseHeld),
    ):
        renew.in_time(rt, context, cluster, seen)


def _locate(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    nodegroups: list[Any],
    seen: view.View,
) -> None:
    """Doubt a management cluster that lacks the Cluster; learn another."""
    if seen.cluster is None:
        origin.ascertain(rt, scope, nodegroups)
    else:
        origin.learn(rt, scope[1], nodegroups)


def _follow(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Follow the autoscaler. Health is told even if that fails."""
    with faults.logged(LOG, "Counts of cluster %s are old: %s", cluster.uuid):
        autoscaler_counts.follow(rt, context, cluster)


def _observe(
    cluster: Any,
    rows_now: requested_groups.Rows,
    nodegroups: list[Any],
    seen: view.View,
    now: float,
) -> None:
    """Save what changed without any operation: addresses and versions.

    Magnum saves the row after this poll, but not those of the groups, and
    none when no health came out.
    """
    verdict = cluster_status.verdict(
        seen, rows_now.known_as(seen.group_names()), now=now
    )
    status_writer.save_observed(cluster, nodegroups, verdict)


def unknown(why: str) -> health.Health:
    """The health of a cluster that could not be read."""
    return health.Health(health.UNKNOWN, {"api": why})


def _go_on(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Magnum looks at a failed cluster here alone."""
    go_on = reconcile.update
    if rows.action(cluster.status) == "DELETE":
        go_on = poll_status.resume
    with (
        faults.logged(LOG, "No verdict on cluster %s: %s", cluster.uuid),
        # Somebody else is about to say how it ended.
        contextlib.suppress(errors.LeaseHeld),
    ):
        go_on(rt, context, cluster)
