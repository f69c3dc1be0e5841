# SPDX-License-Identifier: Apache-2.0

"""Deletion of a cluster, one step at a time, from every state.

:func:`begin` marks the cluster and starts; :func:`step` is called by each
poll until nothing is left. Every step may be repeated. The Secrets, which
hold what is needed to go on, are the last to go, and the Lease after them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
import contextlib
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import leftovers
from magnum_capi_helm.lifecycle import remaining_objects
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import api_migration
from magnum_capi_helm.operations import deferred
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import traces
from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def begin(rt: runtime.Runtime, cluster: Any) -> None:
    """Start the deletion of a cluster that has a release.

    :raises CapiHelmError: not now; the polls begin it
    """
    with timing.measured() as measured:
        _begin(rt, cluster)
        LOG.info("deleted release %s: %s", cluster.stack_id, measured)


def _begin(rt: runtime.Runtime, cluster: Any) -> None:
    scope = operation.scope_of(cluster)
    _at_home(rt, scope, cluster)
    rt.anchor.check()
    rt.leases.mark_deleted(*scope)
    with deferred.queued(rt, cluster, _go_on):
        _go_on(rt, None, cluster)


def _go_on(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Uninstall the release."""
    scope = operation.scope_of(cluster)
    with _lease(rt, scope, cluster):
        _uninstall(rt, scope, cluster)


def _lease(rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any) -> Any:
    """Hold the Lease; make one, where there is only this and that left."""
    labels = location.object_labels(cluster, scope[1])
    none = rt.leases.read(*scope) is None
    return rt.leases.hold(*scope, labels, new=none)


def step(
    rt: runtime.Runtime, context: Any, cluster: Any
) -> reasons.Waiting | None:
    """Do what can be done now.

    Every conductor polls. One that began before another got to the end
    finds nothing, and makes nothing anew that nobody would remove.

    :returns: what the deletion waits for; None when nothing is left
    :raises CapiHelmError: it could not go on this time
    """
    if rows.fresh(context, cluster) is None:
        return None
    deferred.check(rt, cluster)
    with deferred.queued(rt, cluster, _go_on):
        return _step(rt, context, cluster)


def _step(
    rt: runtime.Runtime, context: Any, cluster: Any
) -> reasons.Waiting | None:
    scope = operation.scope_of(cluster)
    at_home = _at_home(rt, scope, cluster)
    rt.anchor.check()
    if rt.management.get(kinds.NAMESPACE, "", scope[0]) is None:
        _without_namespace(rt, scope, cluster, at_home)
        certificates.delete_forgotten(context, cluster)
        rt.forget(scope)
        return None
    with _guarded(rt, scope, cluster):
        if waiting := _remove(rt, scope, cluster):
            return waiting
        _remove_server_groups(rt, scope)
        _remove_secrets(rt, scope, cluster)
        certificates.delete_forgotten(context, cluster)
        # Who finds nothing from here on, knows why.
        origin.bury(scope[1], rows.all_groups(cluster))
    rt.leases.delete(*scope)
    rt.forget(scope)
    return None


def _at_home(rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any) -> bool:
    """Whether this is the cluster's management cluster, as far as is known.

    :raises MissingError: it is, and something else removed all there was
    """
    try:
        return origin.ascertain(rt, scope, rows.all_groups(cluster))
    except traces.MissingError:
        # Read after it: another conductor may have come to the end.
        if not origin.recorded(rows.all_groups(cluster)).gone:
            raise
        return True


@contextlib.contextmanager
def _guarded(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> Iterator[None]:
    """Under the Lease, marked; without it, where there is nothing to guard.

    The Lease is the last object to go. One that is made after it would stay
    if this conductor were killed: the row goes any moment, and with it the
    polls.
    """
    if remaining_objects.bare(rt, scope, cluster):
        # What goes now may be the last that is left of it.
        origin.bury(scope[1], rows.all_groups(cluster))
        yield
        return
    with _lease(rt, scope, cluster) as hold:
        if not hold.marked_deleted:
            rt.leases.mark_deleted(*scope)
        yield


def _without_namespace(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any, at_home: bool
) -> None:
    """The namespace is gone, and with it everything that was in it.

    The driver makes it before it saves ``stack_id``, and never deletes it.

    :param at_home: whether this is the cluster's management cluster
    :raises ManagementError: nobody knows that it is
    """
    if not at_home:
        raise errors.ManagementError(
            f"the management cluster has no namespace {scope[0]}: is it the "
            "one that the cluster was made on? If it is, create the "
            "namespace again"
        )
    from magnum_capi_helm.credentials import removal

    LOG.warning(
        "Namespace %s was deleted under cluster %s", scope[0], cluster.uuid
    )
    removal.delete(rt.management, *scope, cluster)


def forget_interrupted(rt: runtime.Runtime, cluster: Any) -> None:
    """Remove the Lease of a create that ended before ``stack_id`` was saved.

    There is nothing else of it. A conductor that is still at it finds its
    row deleted before it writes anything more.

    :raises CapiHelmError: not now; nobody tries again
    """
    scope = (
        location.namespace(cluster.project_id),
        names.release(cluster.name, cluster.uuid),
    )
    lease = rt.leases.read(*scope)
    labels = view.labels_of(lease or {})
    if labels.get(location.CLUSTER_UUID) == cluster.uuid:
        rt.anchor.check()
        rt.leases.delete(*scope)


def _uninstall(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> None:
    """Uninstall what helm has of the release."""
    namespace, release = scope
    if not releases.revisions(rt.management, namespace, release):
        return
    with rt.turns.turn():
        leftovers.instruct_janitor(rt, scope, cluster)
        labels = location.object_labels(cluster, release)
        api_migration.uninstall(rt, scope, labels)


def _remove(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> reasons.Waiting | None:
    """Remove everything but Secrets; return what is still there."""
    _uninstall(rt, scope, cluster)
    found = rt.management.get(kinds.CLUSTER, *scope)
    if found is None:
        kept = remaining_objects.delete_kept(rt, scope)
        waiting = reasons.Waiting(kept) if kept else None
    else:
        waiting = _machines(rt, scope, cluster, found)
    if waiting:
        return waiting
    # Not before: the cloud controller manager would make them again. The
    # network, which load balancers may be in, is only tried meanwhile.
    cleaned = leftovers.clean(rt, scope, cluster)
    if cleaned.waiting:
        return cleaned.waiting
    if found is not None:
        refused = _refused(rt, scope, cluster, "network")
        return _waiting(
            "network still to be deleted",
            _network(rt, scope),
            refused,
            cleaned.left,
        )
    if cleaned.left:
        LOG.warning(
            "Deletion of cluster %s goes on: %s", cluster.uuid, cleaned.left
        )
    return None


def _waiting(left: str, *why: str) -> reasons.Waiting:
    return reasons.Waiting(left, "; ".join(filter(None, why)))


def _machines(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    cluster: Any,
    found: client.Object,
) -> reasons.Waiting | None:
    """Return the machines that Cluster API still has to delete."""
    namespace, release = scope
    if not view.deleting(found):
        # helm had no such release any more.
        leftovers.instruct_janitor(rt, scope, cluster)
        rt.management.delete(kinds.CLUSTER, namespace, release)
    seen = observation.machinery(rt.management, scope).decode()
    if not seen.machines:
        return None
    rt.server_faults.ask(rt.management, scope, seen.servers)
    seen = rt.server_faults.added(scope, seen)
    waiting = reasons.still_to_be_deleted(seen.machines, seen)
    names_left = tuple(sorted(map(view.name_of, seen.machines)))
    refused = _refused(rt, scope, cluster, names_left)
    return _waiting(waiting.left, waiting.why, refused)


def _refused(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    cluster: Any,
    progress: Hashable,
) -> str:
    """Return why Cluster API cannot log in to OpenStack, if it cannot."""
    from magnum_capi_helm.credentials import refusal

    return refusal.waiting(rt, scope, cluster, progress)


def _network(rt: runtime.Runtime, scope: snapshot.Scope) -> str:
    """Return why the network is still there, or an empty string."""
    provider = rt.management.get(kinds.OPENSTACK_CLUSTER, *scope)
    why = reasons.of_infrastructure(provider)
    if not why and provider and leftovers.has_janitor(provider):
        why = "cluster-api-janitor-openstack is not done with the project"
    return why


def _remove_server_groups(rt: runtime.Runtime, scope: snapshot.Scope) -> None:
    """Nova's server groups, as long as the credential is there."""
    from magnum_capi_helm.cloud import server_groups

    server_groups.delete(rt.management, scope)


def _remove_secrets(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> None:
    """The credential, then the Secrets, the one that names it last."""
    from magnum_capi_helm.credentials import removal

    namespace, release = scope
    removal.delete(rt.management, namespace, release, cluster)
    last = names.credentials(release)
    secrets = remaining_objects.secrets(rt, scope, cluster)
    for name in sorted(secrets, key=lambda name: name == last):
        rt.management.delete(kinds.SECRET, namespace, name)


def describe(error: errors.CapiHelmError) -> str:
    """Why a deletion waits, for ``status_reason``."""
    return f"deletion waits: {error}"
