# SPDX-License-Identifier: Apache-2.0

"""One health poll: four LISTs, which the polls of all clusters share.

Once a minute, it also lists the addons.

A cluster with the autoscaler needs a GET of its own every few minutes.

1. Read the objects. If neither the row nor an object has changed, the health
   is that of the poll before.
2. Judge the health. Save addresses, versions and the autoscaler's counts.
3. Reconcile a cluster that failed.
4. Check the application credential, and deliver the kubeconfig.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum.conductor import monitors
from oslo_log import log

from magnum_capi_helm import delivery
from magnum_capi_helm import metrics
from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.lifecycle import autoscaler_counts
from magnum_capi_helm.lifecycle import poll_status
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: The autoscaler may stop without a change of any object that a poll reads.
_AUTOSCALER_SECONDS = 300.0


class Monitor(monitors.MonitorBase):  # type: ignore[misc]
    """One health poll: the only one that Magnum makes for every cluster.

    It reports health, keeps addresses up to date, and ends a ``*_FAILED`` that
    Cluster API has overcome, which no status poll would notice.
    """

    def __init__(self, context: Any, cluster: Any) -> None:
        super().__init__(context, cluster)
        self.data: dict[str, Any] = {}

    @property
    def metrics_spec(self) -> dict[str, Any]:
        """Return nothing: Magnum asks no driver for metrics any more."""
        return {}

    def pull_data(self) -> None:
        """Do nothing; Magnum's base class requires the method."""

    def poll_health_status(self) -> None:
        """Fill ``data`` with the health that Magnum saves."""
        cluster = self.cluster
        if not cluster.stack_id:
            return
        with call.acting(call.Actor("health poll")):
            result = poll(self.context, cluster)
        before = (cluster.health_status, cluster.health_status_reason)
        # Without data Magnum does not ask its database to write nothing.
        if before != (result.status, result.reason):
            self.data = {
                "health_status": result.status,
                "health_status_reason": result.reason,
            }


def poll(context: Any, cluster: rows.Cluster) -> health.Health:
    """Return the health of a cluster with a release; nothing is raised."""
    text = "No health of cluster %s: %s"
    with magnum_errors.logged(LOG, text, cluster.uuid):
        try:
            with runtimes.meter().measure(metrics.POLL, "health"):
                runtime = registry.runtime_of(cluster)
                result = _poll(
                    cluster_operation.Operation(context, cluster, runtime)
                )
        except errors.CapiHelmError as error:
            shown = errors.for_users(error)
            result = health.Health(health.UNKNOWN, {"api": shown})
            raise
    return result


def _poll(operation: cluster_operation.Operation) -> health.Health:
    """Return the health of a cluster; continue work on a failed one.

    :raises CapiHelmError: the objects could not be read
    """
    runtime, cluster = operation.runtime, operation.cluster
    # Starts the time for which a failure is visible.
    poll_status.failure_was_shown(operation, cluster)
    with identity.verified_on_error(runtime, cluster):
        snapshot = runtime.health_snapshots.get(operation.scope)
    if not rows.in_progress(cluster.status):
        # Errors of an operation that another conductor ended don't count.
        runtime.ages.restart(operation.scope, "errors")
    looks = (rows.health_key(cluster), snapshot.version)
    result = runtime.health_cache.get(operation.scope, looks)
    if result is None:
        with runtime.verdict_slots:
            objects = snapshot.decode()
            result, seconds = _judge(operation, objects)
        if seconds > 0:
            runtime.health_cache.put(operation.scope, looks, result, seconds)
        if rows.failed(cluster.status):
            _continue(operation)
    result = validity.add_to_health(runtime, cluster, result)
    delivery.deliver(operation)
    return result


def _judge(
    operation: cluster_operation.Operation, objects: view.View
) -> tuple[health.Health, float]:
    """Judge a cluster, and save what may change without any operation.

    :returns: its health, and the seconds for which it stays the same if no
        object changes; 0: the next poll has to judge again
    """
    cluster = operation.cluster
    rows_now, nodegroups = rows.read(cluster)
    rows_now = objects.named(rows_now)
    expected = cluster_status.Expected(rows_now)
    root = cluster_status.grow(objects, expected)
    result = health.judge(root, objects)
    identity.confirm(
        operation.runtime, operation.scope, nodegroups, objects.cluster
    )
    seconds = objects.clock.valid_until - objects.clock.now
    if not cluster.status.endswith("_COMPLETE"):
        seconds = 0
    if objects.cluster is not None and rows.action(cluster.status) != "DELETE":
        # Magnum saves the cluster after this poll, but not its groups.
        verdict = cluster_status.judge(root, objects, expected)
        status_writer.save_observed(cluster, nodegroups, verdict)
        observed = cluster_release.Observed(nodegroups, rows_now, objects)
        if autoscaler_counts.chosen(cluster, observed):
            seconds = 0
            text = "Counts of cluster %s are old: %s"
            with magnum_errors.logged(LOG, text, cluster.uuid):
                autoscaler_counts.follow(operation)
    notes: dict[str, str] = {}
    if objects.autoscaled():
        seconds = min(seconds, _AUTOSCALER_SECONDS)
        stopped = autoscaler_counts.stopped_reason(operation)
        notes = health.of_autoscaler(objects, stopped)
    if objects.hibernated:
        notes["hibernated"] = "workers are away until the operator wakes it"
    # A certificate is no illness. The text of the warning changes by the day.
    warning = replacement.expiry_warning(objects)
    if warning and result.status != health.UNKNOWN:
        notes["certificates"] = warning
    reason = result.reason | notes
    return dataclasses.replace(result, reason=reason), seconds


def _continue(operation: cluster_operation.Operation) -> None:
    """Reconcile a failed cluster, which Magnum polls for its health alone."""
    cluster = operation.cluster
    text = "No verdict on cluster %s: %s"
    with magnum_errors.logged(LOG, text, cluster.uuid):
        if rows.action(cluster.status) == "DELETE":
            poll_status.resume_deletion(operation)
        else:
            poll_status.reconcile(operation)
