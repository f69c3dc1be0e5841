# SPDX-License-Identifier: Apache-2.0

"""Delete a cluster, from every state, one step at a time.

1. The request marks the Lease and uninstalls the release. Each poll then
   takes a step, until nothing is left. Every step can be repeated.
2. A namespace that was deleted took all objects along: delete the credentials
   in Keystone, and the cluster is gone.
3. Under the Lease, uninstall the release. Delete the Cluster object if helm
   has no record of it, and wait for the machines.
4. Delete what workloads left in the cloud, and wait for the network.
5. Delete what helm keeps, then the server groups, while a credential exists.
6. Delete the credentials in Keystone, then the Secrets, the one that names
   the credentials last, and record that the cluster is gone.
7. Delete the Lease. Magnum removes the row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
import contextlib
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.cloud import server_faults
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.lifecycle import leftovers
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import helm_run
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def begin(operation: operations.Operation) -> None:
    """Start the deletion of a cluster that has a release.

    :raises CapiHelmError: not now; the polls start it
    """
    with timing.measured() as measured:
        _verify_location(operation)
        operation.runtime.maintenance.check()
        operation.runtime.leases.mark_deleted(*operation.scope)
        with operation.queued(_uninstall_under_lease):
            _uninstall_under_lease(operation)
        LOG.info("deleted release %s: %s", operation.release, measured)


def step(operation: operations.Operation) -> machine_status.Waiting | None:
    """Take the next step of a deletion.

    Every conductor polls. One that comes after another has finished finds
    nothing, and makes no object that would stay.

    :returns: the objects that the deletion waits for; None: nothing is left
    :raises CapiHelmError: the deletion can't go on this time
    """
    if rows.fresh(operation.context, operation.cluster) is None:
        return None
    operation.check_not_queued()
    with operation.queued(_uninstall_under_lease):
        return _step(operation)


def _step(operation: operations.Operation) -> machine_status.Waiting | None:
    rt, scope, cluster = operation.runtime, operation.scope, operation.cluster
    verified = _verify_location(operation)
    rt.maintenance.check()
    if rt.management.get(kinds.NAMESPACE, "", scope[0]) is None:
        _delete_without_namespace(operation, verified)
        certificates.delete_forgotten(operation.context, cluster)
        rt.forget(scope)
        return None
    with _guarded(operation):
        if waiting := _remove(operation):
            return waiting
        server_groups.delete(rt.management, scope)
        _remove_secrets(operation)
        certificates.delete_forgotten(operation.context, cluster)
        # Another conductor that finds nothing from here on reads this.
        identity.record_gone(scope[1], rows.all_groups(cluster))
    rt.leases.delete(*scope)
    rt.forget(scope)
    return None


def forget_interrupted(rt: runtime.Runtime, cluster: Any) -> None:
    """Delete the Lease of a create that ended before it saved ``stack_id``.

    It made nothing else. A conductor that still works on it finds its row
    deleted before it writes more.

    :raises CapiHelmError: not now; it is not tried again
    """
    operation = operations.Operation(None, cluster, rt)
    labels = view.labels_of(rt.leases.read(*operation.scope) or {})
    if labels.get(location.CLUSTER_UUID) == cluster.uuid:
        rt.maintenance.check()
        rt.leases.delete(*operation.scope)


def describe(error: errors.CapiHelmError) -> str:
    """Return why a deletion waits, for ``status_reason``."""
    return f"deletion waits: {error}"


def _verify_location(operation: operations.Operation) -> bool:
    """Return whether this is the cluster's management cluster, if recorded.

    :raises MissingError: it is, and all objects were removed by others
    """
    rt, cluster = operation.runtime, operation.cluster
    groups = rows.all_groups(cluster)
    try:
        return identity.verify(rt, operation.scope, groups)
    except helm_records.MissingError:
        # Read after it: another conductor may have finished meanwhile.
        if not identity.recorded(rows.all_groups(cluster)).gone:
            raise
        return True


@contextlib.contextmanager
def _guarded(operation: operations.Operation) -> Iterator[None]:
    """Hold the marked Lease, unless there is nothing to guard.

    The Lease is the last object to go. A new Lease would stay if this
    conductor were killed: the row goes any moment, and no poll comes then.
    """
    rt, scope, cluster = operation.runtime, operation.scope, operation.cluster
    if leftovers.nothing_left(operation):
        # The next delete may remove the last object.
        identity.record_gone(scope[1], rows.all_groups(cluster))
        yield
        return
    with _hold_lease(operation) as hold:
        if not hold.marked_deleted:
            rt.leases.mark_deleted(*scope)
        yield


@contextlib.contextmanager
def _hold_lease(operation: operations.Operation) -> Iterator[lease.Hold]:
    """Hold the Lease; create it if only other objects are left."""
    new = operation.runtime.leases.read(*operation.scope) is None
    with operation.hold_lease(new=new) as hold:
        yield hold


def _delete_without_namespace(
    operation: operations.Operation, verified: bool
) -> None:
    """Delete the credentials of a cluster whose namespace is gone.

    The driver makes the namespace before it saves ``stack_id``, and never
    deletes it.

    :param verified: this is the cluster's management cluster
    :raises ManagementError: that is unknown
    """
    if not verified:
        raise errors.ManagementError(
            f"the management cluster has no namespace {operation.namespace}: "
            "is it the one that the cluster was made on? If it is, create the "
            "namespace again"
        )
    LOG.warning(
        "Namespace %s was deleted under cluster %s",
        operation.namespace,
        operation.cluster.uuid,
    )
    application_credential.delete_all(operation)


def _uninstall_under_lease(operation: operations.Operation) -> None:
    with _hold_lease(operation):
        _uninstall(operation)


def _uninstall(operation: operations.Operation) -> None:
    """Uninstall the release, if helm has a record of it."""
    rt, scope = operation.runtime, operation.scope
    if not helm_records.revisions(rt.management, *scope):
        return
    with rt.turns.turn():
        leftovers.instruct_janitor(operation)
        helm_run.uninstall(operation)


def _remove(operation: operations.Operation) -> machine_status.Waiting | None:
    """Remove all but the Secrets; return the objects that are still there."""
    rt, scope, cluster = operation.runtime, operation.scope, operation.cluster
    _uninstall(operation)
    capi_cluster = rt.management.get(kinds.CLUSTER, *scope)
    if capi_cluster is None:
        kept = leftovers.delete_kept(operation)
        waiting = machine_status.Waiting(kept) if kept else None
    else:
        waiting = _remove_machines(operation, capi_cluster)
    if waiting:
        return waiting
    # Not before: the cloud controller manager would make them again. Cluster
    # API can't delete the network while load balancers are in it.
    cleaned = leftovers.clean(operation)
    if cleaned.waiting:
        return cleaned.waiting
    if capi_cluster is not None:
        return _waiting(
            "network still to be deleted",
            _network_problem(rt, scope),
            validity.deletion_problem(operation, "network"),
            cleaned.left,
        )
    if cleaned.left:
        LOG.warning(
            "Deletion of cluster %s goes on: %s", cluster.uuid, cleaned.left
        )
    return None


def _waiting(left: str, *reasons: str) -> machine_status.Waiting:
    return machine_status.Waiting(left, "; ".join(filter(None, reasons)))


def _remove_machines(
    operation: operations.Operation, capi_cluster: client.Object
) -> machine_status.Waiting | None:
    """Return the machines that Cluster API still has to delete."""
    rt, scope = operation.runtime, operation.scope
    if not view.deleting(capi_cluster):
        # helm had no record of the release.
        leftovers.instruct_janitor(operation)
        rt.management.delete(kinds.CLUSTER, *scope)
    objects = reads.complete(rt.management, scope, reads.MACHINES).decode()
    if not objects.machines:
        return None
    server_faults.ask(rt, scope, objects.servers)
    objects = server_faults.added(rt, scope, objects)
    waiting = machine_status.remaining(objects.machines, objects)
    progress: Hashable = tuple(sorted(map(view.name_of, objects.machines)))
    problem = validity.deletion_problem(operation, progress)
    return _waiting(waiting.left, waiting.why, problem)


def _network_problem(rt: runtime.Runtime, scope: location.Scope) -> str:
    """Return why the network is still there, or an empty string."""
    openstack_cluster = rt.management.get(kinds.OPENSTACK_CLUSTER, *scope)
    reason = machine_status.infrastructure_error(openstack_cluster)
    if (
        not reason
        and openstack_cluster
        and leftovers.has_janitor(openstack_cluster)
    ):
        return "cluster-api-janitor-openstack is not done with the project"
    return reason


def _remove_secrets(operation: operations.Operation) -> None:
    rt, scope = operation.runtime, operation.scope
    application_credential.delete_all(operation)
    last = names.credentials(scope[1])
    secrets = leftovers.secrets(operation)
    for name in sorted(secrets, key=lambda name: name == last):
        rt.management.delete(kinds.SECRET, scope[0], name)
