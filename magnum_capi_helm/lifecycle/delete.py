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

Once the machines are gone, no process in the cluster deletes its load
balancers, floating IPs and volumes any more, and Cluster API can't delete a
network that load balancers are in: the driver deletes them, or
cluster-api-janitor-openstack where it runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
import contextlib
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.cloud import faults
from magnum_capi_helm.cloud import leftovers
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import storage
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
Operation = cluster_operation.Operation

#: Kinds of objects that stand for servers in Nova.
_SERVERS = (kinds.MACHINE, kinds.OPENSTACK_MACHINE)

_JANITORS_POLICY = "janitor.capi.stackhpc.com/volumes-policy"

#: Where no object is known to be left, since a service does not answer.
_UNKNOWN = "cleanup of the project is not done"


def begin(context: Any, cluster: rows.Cluster) -> None:
    """Save that a cluster is deleted, and start with it.

    The mark in Magnum's row is enough: each poll tries again.
    """
    status_writer.save_deleting(cluster)
    if not cluster.stack_id:
        return
    text = "Deletion of cluster %s goes on with the polls: %s"
    with magnum_errors.logged(LOG, text, cluster.uuid):
        rt = registry.runtime_of(cluster)
        operation = Operation(context, cluster, rt)
        operation.run(_begin, "Deletion")


def _begin(operation: Operation) -> None:
    _verify_location(operation)
    operation.runtime.maintenance.check()
    operation.runtime.leases.mark_deleted(*operation.scope)
    _uninstall_under_lease(operation)


def step(operation: Operation) -> str:
    """Take the next step of a deletion.

    Every conductor polls. One that comes after another has finished finds
    nothing, and makes no object that would stay.

    :returns: the objects that the deletion waits for, then "; " and reasons;
        empty: nothing is left. It makes progress when the objects change:
        their words are the same for the same objects, without "; "
    :raises CapiHelmError: the deletion can't go on this time
    """
    if rows.fresh(operation.context, operation.cluster) is None:
        return ""
    if not operation.cluster.stack_id:
        _forget_interrupted(operation)
        return ""
    operation.check_not_queued()
    with operation.queued(_uninstall_under_lease):
        return _step(operation)


def _step(operation: Operation) -> str:
    rt, scope, cluster = operation.runtime, operation.scope, operation.cluster
    verified = _verify_location(operation)
    rt.maintenance.check()
    if rt.management.get(kinds.NAMESPACE, "", scope[0]) is None:
        _delete_without_namespace(operation, verified)
        certificates.delete_forgotten(operation.context, cluster)
        rt.forget(scope)
        return ""
    with contextlib.ExitStack() as stack:
        if _nothing_left(operation):
            # A new Lease would stay if this conductor were killed: the row
            # goes any moment, and no poll comes then.
            nothing = call.without_lease("nothing is left to guard")
            stack.enter_context(nothing)
            identity.record_gone(scope[1], rows.all_groups(cluster))
        else:
            _uninstall(stack.enter_context(_marked_lease(operation)))
        if waiting := _remove(operation):
            return waiting
        server_groups.delete(rt.management, scope)
        plan_steps.discard(operation)
        _remove_secrets(operation)
        certificates.delete_forgotten(operation.context, cluster)
        # Another conductor that finds nothing from here on reads this.
        identity.record_gone(scope[1], rows.all_groups(cluster))
    rt.leases.delete(*scope)
    rt.forget(scope)
    return ""


def _forget_interrupted(operation: Operation) -> None:
    """Delete certificates, and the Lease of a create without ``stack_id``.

    It made nothing else, on any management cluster. A conductor that still
    works on it finds its row deleted before it writes more. A Lease that can't
    be deleted now stays.
    """
    cluster, scope = operation.cluster, operation.scope
    certificates.delete_forgotten(operation.context, cluster)

    def forget(rt: runtime.Runtime) -> None:
        labels = view.labels_of(rt.leases.read(*scope))
        if labels.get(location.CLUSTER_UUID) == cluster.uuid:
            rt.maintenance.check()
            rt.leases.delete(*scope)

    answers = registry.ask(runtime.names(), forget)
    for error in filter(None, answers.values()):
        LOG.debug("Its Lease may stay: %s", error)


def _verify_location(operation: Operation) -> bool:
    """Return whether this is the cluster's management cluster, if recorded.

    :raises MissingError: all objects were removed by others
    """
    rt, cluster = operation.runtime, operation.cluster
    groups = rows.all_groups(cluster)
    try:
        verified = identity.verify(rt, operation.scope, groups)
        _check_traces(operation, verified)
        return verified
    except helm_records.MissingError:
        # Read after it: another conductor may have finished meanwhile. Magnum
        # removes the groups of a cluster only after the driver has deleted it.
        groups = rows.all_groups(cluster)
        if groups and not identity.recorded(groups).gone:
            raise
        return True


def _check_traces(operation: Operation, verified: bool) -> None:
    """Refuse to delete a living cluster that left no trace.

    A create makes Lease and Secrets before helm runs. A management cluster
    that was restored from a backup of that minute has those and nothing else,
    while the machines still run. An older backup has nothing at all, and of a
    cluster of 1.4.0 nothing is recorded. After the mark the deletion itself
    removes the objects.

    :param verified: this is the cluster's management cluster
    :raises MissingError: there is no trace
    """
    if not operation.cluster.api_address or operation.deletion_requested():
        return
    try:
        management = operation.management
        helm_records.check_release_exists(management, operation.scope)
    except helm_records.MissingError:
        # A deletion that 1.4.0 began has its Secrets until the end.
        begun = not verified and _secrets(operation)
        if not begun and not any(_kept(operation)):
            raise


@contextlib.contextmanager
def _marked_lease(operation: Operation) -> Iterator[holding.Held]:
    """Hold the Lease, marked; create it if only other objects are left."""
    leases, scope = operation.runtime.leases, operation.scope
    with operation.lock(new=leases.read(*scope) is None) as held:
        if not held.hold.marked_deleted:
            leases.mark_deleted(*scope)
        yield held


@call.without_lease("without a namespace there is no Lease")
def _delete_without_namespace(operation: Operation, verified: bool) -> None:
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


def _uninstall_under_lease(operation: Operation) -> None:
    with _marked_lease(operation) as held:
        _uninstall(held)


def _uninstall(held: holding.Held) -> None:
    """Uninstall the release, if helm has a record of it."""
    if not held.revisions():
        return
    with held.runtime.turns.turn():
        _instruct_janitor(held)
        apply.uninstall(held)


def _remove(operation: Operation) -> str:
    """Remove all but release and Secrets; return the objects still there."""
    capi_cluster = operation.get(kinds.CLUSTER)
    if capi_cluster is None:
        waiting = _delete_kept(operation)
    else:
        waiting = _remove_machines(operation, capi_cluster)
    if waiting:
        return waiting
    # Not before: the cloud controller manager would make them again. Cluster
    # API can't delete the network while load balancers are in it.
    waiting, left = _clean(operation)
    if waiting:
        return waiting
    if capi_cluster is not None:
        return _joined(
            "network still to be deleted",
            _network_problem(operation),
            validity.deletion_problem(operation, "network"),
            left,
        )
    if left:
        uuid = operation.cluster.uuid
        LOG.warning("Deletion of cluster %s goes on: %s", uuid, left)
    return ""


def _joined(*texts: str) -> str:
    return "; ".join(filter(None, texts))


def _remove_machines(operation: Operation, capi_cluster: client.Object) -> str:
    """Return the machines that Cluster API still has to delete."""
    rt, scope = operation.runtime, operation.scope
    if not view.deleting(capi_cluster):
        # helm had no record of the release.
        _instruct_janitor(operation)
        rt.management.delete(kinds.CLUSTER, *scope)
    objects = reads.complete(rt.management, scope, reads.MACHINES).decode()
    if not objects.machines:
        return ""
    plan_steps.remove_hook(operation, objects.machines)
    objects = faults.asked(rt, scope, objects)
    waiting = machine_status.remaining(objects.machines, objects)
    progress: Hashable = tuple(sorted(map(view.name_of, objects.machines)))
    problem = validity.deletion_problem(operation, progress)
    return _joined(waiting, problem)


def _network_problem(operation: Operation) -> str:
    """Return why the network is still there, or an empty string."""
    openstack_cluster = operation.get(kinds.OPENSTACK_CLUSTER)
    objects = view.View(operation.release, infrastructure=openstack_cluster)
    objects = faults.asked(operation.runtime, operation.scope, objects)
    fault = infrastructure.network_error(objects)
    reason = f"{fault.text}{fault.ending}"
    if not reason and infrastructure.has_janitor(openstack_cluster):
        return "cluster-api-janitor-openstack is not done with the project"
    return reason


def _remove_secrets(operation: Operation) -> None:
    application_credential.delete_all(operation)
    last = names.credentials(operation.release)
    for name in sorted(_secrets(operation), key=lambda name: name == last):
        operation.delete(kinds.SECRET, name)


# Leftovers


def _clean(operation: Operation) -> tuple[str, str]:
    """Delete cloud resources, once no machine is left.

    :returns: the objects that the deletion waits for, and those that it
        leaves behind, in words
    :raises ManagementError: the management cluster does not answer
    :raises CloudUnreachable: Keystone does not answer
    """
    if not _is_driver_responsible(operation):
        return "", ""
    outcome = _sweep(operation)
    limit = conf.CONF.capi_helm.cleanup_timeout * 60
    age = operation.runtime.ages.age(
        operation.scope, "leftovers", outcome.looks
    )
    if outcome.done or age >= limit:
        return "", str(outcome)
    return _joined(outcome.remaining or _UNKNOWN, outcome.reasons), ""


def _is_driver_responsible(operation: Operation) -> bool:
    """Return whether the driver cleans up, and not the janitor."""
    chosen = conf.CONF.capi_helm.cleanup
    if chosen != "auto":
        return bool(chosen != "none")
    provider = operation.get(kinds.OPENSTACK_CLUSTER)
    return not infrastructure.has_janitor(provider)


def _sweep(operation: Operation) -> leftovers.Outcome:
    try:
        return leftovers.sweep(
            operation.own_session(),
            operation.cluster.project_id,
            operation.release,
            volumes=requested_labels.volumes_policy(operation.cluster)
            == storage.DELETE,
        )
    except errors.CloudUnreachable:
        # Keystone is needed for all that follows.
        raise
    except errors.CloudError as error:
        everything = "what Kubernetes made in the project"
        return leftovers.Outcome(problems={everything: str(error)})


def _instruct_janitor(operation: cluster_release.Release) -> None:
    """Tell the janitor the user's policy, before the cluster is deleted.

    Its own default is to delete volumes.
    """
    policy = requested_labels.volumes_policy(operation.cluster)
    if policy is not None:
        note = {_JANITORS_POLICY: policy}
        operation.annotate(kinds.OPENSTACK_CLUSTER, operation.release, note)


def _nothing_left(operation: Operation) -> bool:
    """Return whether Lease, release and Secrets are all gone."""
    return (
        operation.runtime.leases.read(*operation.scope) is None
        and operation.get(kinds.CLUSTER) is None
        and not operation.revisions()
        and not _secrets(operation)
    )


def _secrets(operation: Operation) -> list[str]:
    """Return the names of the Secrets that the driver made for a cluster."""
    selector = f"{location.CLUSTER_UUID}={operation.cluster.uuid}"
    return list(map(view.name_of, operation.metadata(kinds.SECRET, selector)))


def _delete_kept(operation: Operation) -> str:
    """Delete objects that neither helm nor an owner reference removed.

    :returns: the objects that are still there, in words
    """
    left = []
    for kind, each in _kept(operation):
        name = view.name_of(each)
        left.append(f"{kind.name} {name}")
        if not view.deleting(each):
            operation.delete(kind, name)
    return f"still to be deleted: {', '.join(left[:3])}" if left else ""


def _kept(operation: Operation) -> Iterator[tuple[kinds.Kind, client.Object]]:
    """Yield the objects of chart and Cluster API without the Cluster."""
    release = operation.release
    of_chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    kept = (*kinds.KEPT, kinds.HELM_RELEASE, kinds.MANIFESTS)
    # If helm's own Secrets were removed by hand, helm removed nothing.
    rendered = (kinds.SECRET, *kinds.PLAIN)
    selectors = {
        **dict.fromkeys((*kept, *rendered), of_chart),
        # If the Cluster object was removed by hand before its machines.
        **dict.fromkeys(_SERVERS, f"{view.CLUSTER_NAME_LABEL}={release}"),
    }
    for kind, selector in selectors.items():
        yield from ((kind, e) for e in operation.metadata(kind, selector))
