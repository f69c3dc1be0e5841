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

"""What a poll does: look, judge, and finish what a request began.

A look costs a few LISTs and needs no Lease. Only what may change the
outcome does: applying, and writing COMPLETE or FAILED. Then the rows and
the objects are read once more, under the Lease.
"""

from __future__ import annotations

import datetime
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import operation
from magnum_capi_helm import resolve
from magnum_capi_helm import rows
from magnum_capi_helm import runtime
from magnum_capi_helm import wanted
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

_NEVER_STARTED = (
    "the conductor stopped before it began to create the cluster: delete it "
    "and create it again"
)


def update(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Bring the rows of a cluster in line with what is there.

    :raises CapiHelmError: no verdict this time, and nothing written
    """
    if not cluster.stack_id:
        if rows.in_progress(cluster.status) and _overdue(cluster, None):
            rows.save_failed(cluster, list(cluster.nodegroups), _NEVER_STARTED)
        return
    scope = operation.scope_of(cluster)
    rows_now, nodegroups = rows.read(cluster)
    seen = rt.snapshots.get(scope)
    verdict = _judge(cluster, rows_now, seen)
    settled = cluster.status.endswith("_COMPLETE") and verdict.complete
    if settled or not _matters(rt, scope, cluster, rows_now, seen, verdict):
        rows.save_facts(cluster, nodegroups, verdict)
        return
    labels = resolve.object_labels(cluster, scope[1])
    with rt.leases.hold(*scope, labels) as hold:
        _decide(rt, context, cluster, hold)


def _judge(
    cluster: Any,
    rows_now: wanted.Rows,
    seen: view.View,
    expected: frozenset[str] = frozenset(),
) -> cluster_status.Verdict:
    return cluster_status.verdict(
        seen,
        rows_now,
        autoscaled=autoscaled(cluster, rows_now),
        required=conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
        expected=expected,
    )


def autoscaled(cluster: Any, rows_now: wanted.Rows) -> frozenset[str]:
    """Chart names of the groups whose count the autoscaler owns."""
    if not resolve.cluster_labels(cluster)[autoscaling.ENABLED]:
        return frozenset()
    return frozenset(group.chart_name for group in rows_now.workers)


def _matters(
    rt: runtime.Runtime,
    scope: tuple[str, str],
    cluster: Any,
    rows_now: wanted.Rows,
    seen: view.View,
    verdict: cluster_status.Verdict,
) -> bool:
    """Whether something may have to be applied, or an end be written."""
    if not rows.in_progress(cluster.status):
        return verdict.complete
    if verdict.complete or _overdue(cluster, seen.newest):
        return True
    return _behind(rows_now, seen) and rt.backoff.ready(scope)


def _behind(rows_now: wanted.Rows, seen: view.View) -> bool:
    """Whether the release is not what the rows want."""
    if seen.newest is None or seen.newest.status != "deployed":
        return True
    live = cluster_status.fingerprint(seen.cluster)
    if live is None:
        # Made by 1.4.0, which leaves no fingerprint: compare the counts.
        return any(
            view.spec_of(seen.deployment(name)).get("replicas") != count
            for name, count in rows_now.counts().items()
        )
    return live != rows_now.fingerprint()


def _decide(
    rt: runtime.Runtime, context: Any, cluster: Any, hold: Any
) -> None:
    """Under the Lease: read all again, then apply or write the outcome."""
    row = rows.fresh(context, cluster)
    if row is None or rows.action(row.status) == "DELETE":
        return
    if hold.marked_deleted:
        rows.save_deleting(row)
        rows.copy_outcome(row, cluster)
        return
    scope = operation.scope_of(row)
    rows_now, nodegroups = rows.read(row)
    seen = rt.snapshots.get(scope, not_before=time.monotonic())
    verdict = _judge(row, rows_now, seen, _expected(rt, scope, seen))
    if verdict.complete:
        rows.save_complete(row, nodegroups, verdict)
        LOG.info("cluster %s is %s", row.uuid, row.status)
    elif rows.in_progress(row.status):
        _go_on(rt, row, rows_now, nodegroups, seen, verdict, hold)
    rows.copy_outcome(row, cluster)


def _expected(
    rt: runtime.Runtime, scope: tuple[str, str], seen: view.View
) -> frozenset[str]:
    """Addons that the manifest has; their objects may not exist yet."""
    if seen.newest is None:
        return frozenset()
    found = releases.read(rt.management, *scope, seen.newest.version)
    if found is None:
        return frozenset()
    return found.names(kinds.HELM_RELEASE, kinds.MANIFESTS)


def _go_on(
    rt: runtime.Runtime,
    row: Any,
    rows_now: wanted.Rows,
    nodegroups: list[Any],
    seen: view.View,
    verdict: cluster_status.Verdict,
    hold: Any,
) -> None:
    scope = operation.scope_of(row)
    if _overdue(row, seen.newest):
        reason = f"not done in time: {verdict.reason}"
        rows.save_failed(row, nodegroups, reason, verdict)
        LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)
        return
    rows.save_facts(row, nodegroups, verdict)
    if not _behind(rows_now, seen):
        return
    try:
        operation.apply(rt, row, rows_now, hold)
        rt.backoff.succeeded(scope)
    except exceptions.CapiHelmError as error:
        rt.backoff.failed(scope)
        if error.retriable:
            raise
        rows.save_failed(row, nodegroups, str(error))
        LOG.warning("cluster %s is %s: %s", row.uuid, row.status, error)


def _overdue(cluster: Any, newest: view.Revision | None) -> bool:
    """Whether the operation has taken longer than it may.

    A create counts from the row's creation and has the user's time-out; an
    update counts from the last change of the release.
    """
    minutes = conf.CONF.capi_helm.operation_timeout
    now = datetime.datetime.now(datetime.timezone.utc)
    if rows.action(cluster.status) == "CREATE":
        minutes = cluster.create_timeout or minutes
        began = cluster.created_at
    elif newest is not None:
        began = datetime.datetime.fromtimestamp(
            newest.modified, datetime.timezone.utc
        )
    else:
        return False
    if not minutes or began is None:
        return False
    return bool(now - began > datetime.timedelta(minutes=minutes))
