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
        if rows.in_progress(cluster.status) and _create_overdue(cluster):
            rows.save_failed(cluster, list(cluster.nodegroups), _NEVER_STARTED)
        return
    scope = operation.scope_of(cluster)
    rows_now, nodegroups = rows.read(cluster)
    seen = rt.snapshots.get(scope)
    rows_now = rows_now.known_as(seen.group_names())
    verdict = _judge(rows_now, seen)
    settled = cluster.status.endswith("_COMPLETE") and verdict.complete
    if settled or not _matters(rt, scope, cluster, rows_now, seen, verdict):
        rows.save_facts(cluster, nodegroups, verdict)
        return
    labels = resolve.object_labels(cluster, scope[1])
    with rt.leases.hold(*scope, labels) as hold:
        _decide(rt, context, cluster, hold)


def _judge(
    rows_now: wanted.Rows,
    seen: view.View,
    expected: frozenset[str] = frozenset(),
) -> cluster_status.Verdict:
    return cluster_status.verdict(
        seen,
        rows_now,
        autoscaled=seen.autoscaled(),
        required=conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
        expected=expected,
    )


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
    if verdict.complete or _overdue(rt, cluster, rows_now, seen):
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
            if name not in seen.autoscaled()
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
    rows_now = rows_now.known_as(seen.group_names())
    verdict = _judge(rows_now, seen, _expected(rt, scope, seen))
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
    if _overdue(rt, row, rows_now, seen):
        reason = f"not done in time: {verdict.reason}"
        rows.save_failed(row, nodegroups, reason, verdict)
        LOG.warning("cluster %s is %s: %s", row.uuid, row.status, reason)
        return
    rows.save_facts(row, nodegroups, verdict)
    if not _behind(rows_now, seen):
        return
    failure = _apply(rt, row, rows_now, hold)
    if failure:
        rows.save_failed(row, nodegroups, failure)
        LOG.warning("cluster %s is %s: %s", row.uuid, row.status, failure)


def _apply(
    rt: runtime.Runtime, row: Any, rows_now: wanted.Rows, hold: Any
) -> str:
    """Apply what is wanted; why that can never succeed, if so.

    :raises CapiHelmError: it may succeed later
    """
    scope = operation.scope_of(row)
    try:
        operation.apply(rt, row, rows_now, hold)
    except exceptions.CapiHelmError as error:
        rt.backoff.failed(scope)
        if error.retriable:
            raise
        return str(error)
    rt.backoff.succeeded(scope)
    return ""


def _overdue(
    rt: runtime.Runtime, cluster: Any, rows_now: wanted.Rows, seen: view.View
) -> bool:
    """Whether the operation has taken longer than it may.

    A create counts from the row's creation and has the user's time-out. An
    update counts from the last change of the release; one that did not
    reach the release yet, from when this process first saw it.
    """
    if rows.action(cluster.status) == "CREATE":
        return _create_overdue(cluster)
    limit = conf.CONF.capi_helm.operation_timeout * 60
    if not limit:
        return False
    if _behind(rows_now, seen):
        scope = operation.scope_of(cluster)
        waited = rt.behind.age(scope, rows_now.fingerprint())
        return waited > float(limit)
    if seen.newest is None:
        return False
    return time.time() - seen.newest.modified > float(limit)


def _create_overdue(cluster: Any) -> bool:
    minutes = cluster.create_timeout or conf.CONF.capi_helm.operation_timeout
    if not minutes or cluster.created_at is None:
        return False
    now = datetime.datetime.now(datetime.timezone.utc)
    return bool(now - cluster.created_at > datetime.timedelta(minutes=minutes))
