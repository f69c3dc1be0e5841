# SPDX-License-Identifier: Apache-2.0

"""Read one cluster as a tree. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import faults
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.lifecycle import autoscaler_counts
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view


def describe(given: rows.Cluster) -> tree.Branch | None:
    """Return a cluster as it is now; None: it has no row any more.

    :param given: the row of the cluster, as old as the command
    :raises CapiHelmError: it can't be read
    """
    context = rows.everywhere()
    row = rows.find(context, given.uuid)
    if row is None:
        return None
    if not row.stack_id:
        reason = str(row.status_reason or "nothing was made for it")
        return _root(row, reason)
    runtime = registry.find_runtime(row)
    return _read(cluster_operation.Operation(context, row, runtime))


def _read(operation: cluster_operation.Operation) -> tree.Branch:
    runtime, row = operation.runtime, operation.cluster
    namespace, release = scope = operation.scope
    snapshot = runtime.snapshots.read(scope)
    # The polls leave out objects that they do not need.
    whole = reads.complete(runtime.management, scope, reads.OPTIONAL, snapshot)
    objects = faults.asked(runtime, scope, whole.decode())
    # The summary is that of the polls.
    state = observed_state.judge(operation, snapshot, operation.read_stored())
    error = _credential_error(operation)
    silent = "Keystone, or the management cluster,"
    parts = [
        _release(state),
        cluster_status.grow(objects, state.expected),
        tree.Branch("Lease", release, note=_lease_holder(operation)),
        _asked("credential", names.credentials(release), error, silent),
    ]
    if objects.autoscaled():
        stopped = autoscaler_counts.stopped_reason(operation)
        name, silent = names.autoscaler(release), "the management cluster"
        parts.append(_asked("autoscaler", name, stopped, silent))
    if error and rows.action(row.status) == "DELETE":
        parts.append(infrastructure.resources(namespace, objects))
    return _root(row, _reason(row, state.verdict), parts)


def _root(
    row: rows.Cluster, reason: str, parts: Sequence[tree.Branch] = ()
) -> tree.Branch:
    note = ", ".join(filter(None, (row.status, row.health_status)))
    state = tree.State.NOT_READY if reason else tree.worst_state(parts)
    told = tree.Reason(reason, tree.Rank.RELEASE)
    name = str(row.name or row.uuid)
    return tree.Branch("cluster", name, state, note, told, tuple(parts))


def _credential_error(operation: cluster_operation.Operation) -> str | None:
    """Return why the credential does not work; None: unknown."""
    scope, row = operation.scope, operation.cluster
    secret = credential_secret.read(operation.management, scope)
    if rows.action(row.status) == "DELETE":
        return validity.login_problem(secret, scope, row)
    return validity.problem(secret)


def _reason(row: rows.Cluster, verdict: cluster_status.Verdict) -> str:
    """Return Magnum's reason of an ended operation, else the verdict's."""
    reason = str(row.status_reason or "")
    if rows.action(row.status) == "DELETE":
        return reason or "being deleted"
    if rows.failed(row.status):
        return reason or verdict.reason or "it failed"
    if verdict.complete and not row.status.endswith("_COMPLETE"):
        return "it is complete: the next poll writes that down"
    return verdict.reason


def _lease_holder(operation: cluster_operation.Operation) -> str:
    """Return the holder of the Lease, without the time of each renewal."""
    obj = operation.runtime.leases.read(*operation.scope)
    if obj is None:
        return "there is none"
    holder = view.spec_of(obj).get("holderIdentity")
    text = f"held by {holder}" if holder else "nobody holds it"
    if lease.marked_deleted_at(obj) is not None:
        text += ", marked for deletion"
    return text


def _release(state: observed_state.ObservedState) -> tree.Branch:
    """Return the branch of the helm release.

    Its chart is that of the live objects, or else the desired one.
    """
    objects, newest = state.view, state.view.newest
    chart = view.chart_version(objects.cluster)
    if not chart and state.desired:
        chart = state.desired.chart.version
    notes = [f"revision {newest.version} {newest.status}"] if newest else []
    notes += [f"chart {chart}"] if chart else []
    reason = tree.Reason(cluster_status.release_reason(objects))
    return tree.grow("helm release", objects.release, reason, ", ".join(notes))


def _asked(
    kind: str, name: str, problem: str | None, silent: str
) -> tree.Branch:
    """Return the branch of a part that another service knows.

    :param problem: empty: it works; None: unknown
    :param silent: who does not say it
    """
    if problem is not None:
        return tree.grow(kind, name, tree.Reason(problem))
    reason = tree.Reason(f"{silent} does not say")
    return tree.Branch(kind, name, tree.State.UNKNOWN, reason=reason)
