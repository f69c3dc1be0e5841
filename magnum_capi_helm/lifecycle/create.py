# SPDX-License-Identifier: Apache-2.0

"""Create a cluster.

1. Magnum has saved the cluster and its default nodegroups. If the driver
   raises, Magnum marks the cluster as failed.
2. Resolve labels and references, build the values, check quota, fetch the
   chart, read the certificates, ask the management cluster who it is. All
   that can be refused is refused here, with nothing written.
3. Make the project's namespace, and take the Lease.
4. Save ``stack_id`` and the identity of the management cluster, unless the
   user has deleted the cluster meanwhile. From here on nothing is raised.
5. Make the application credential; write the certificate authorities, the key
   for etcd and the server groups; store the desired state.
6. Run helm. The polls go on with whatever is not done.
"""

from __future__ import annotations

from concurrent import futures
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.credentials import keypair as keypairs
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import nodes
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.management_clusters import identity as cluster_identity
from magnum_capi_helm.management_clusters import placement as cluster_placement
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import holding
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import quota

LOG = log.getLogger(__name__)

#: Seconds that a create waits for a slot. Then it goes on without one: the
#: others may be waiting for a server.
_PATIENCE = 30.0


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The results of the checks before the first write.

    :param namespace: the project's namespace; None: it does not exist
    """

    owner: application_credential.Owner
    cluster: cluster_spec.Cluster
    values: paths.Values
    certificates: list[client.Object]
    access: cloud_secret.CloudAccess
    location: cluster_identity.Record
    namespace: client.Object | None
    keypair: cluster_spec.Keypair | None


def create(context: Any, cluster: rows.Cluster) -> None:
    """Create the release of a cluster.

    :raises CapiHelmError: the request was refused; nothing was written
    """
    rt = cluster_placement.choose(cluster)
    operation = cluster_operation.Operation(context, cluster, rt)
    acquired = rt.create_slots.acquire(timeout=_PATIENCE)
    try:
        plan = _plan(operation)
    finally:
        if acquired:
            rt.create_slots.release()
    # Without a slot: a repository that hangs must not keep other creates.
    values_now = operator_files.complete(rt, plan.cluster, plan.values)
    rt.charts.ensure(plan.cluster.chart)
    plan = dataclasses.replace(plan, values=values_now)
    cluster_placement.ensure_namespace(rt, operation.namespace, plan.namespace)
    with (
        # The status says so, and it goes on in its turn.
        contextlib.suppress(errors.NoTurn),
        operation.queued(cluster_operation.Operation.lock_and_apply),
        operation.lock(new=True) as held,
    ):
        if _claim(held, plan) and _make(held, plan):
            LOG.info("created release %s", operation.release)


def _plan(operation: cluster_operation.Operation) -> _Plan:
    """Check all that can be refused.

    Keys are decrypted and the management cluster is asked while the cloud
    answers.
    """
    rt, cluster = operation.runtime, operation.cluster
    session = sessions.user_session(operation.context)
    owner = application_credential.owner_of(session)
    authorities = certificates.fetch(operation.context, cluster)
    cloud = catalogue.Cloud(session)
    with call.Threads(3) as pool:
        answering = pool.submit(
            cluster_placement.check_place, rt, operation.namespace
        )
        secrets = pool.submit(
            certificates.secrets,
            authorities,
            *operation.scope,
            operation.object_labels,
        )
        looked_up = pool.submit(keypairs.find, cloud, cluster.keypair)
        resolved = resolve_cluster.resolve(cluster, cloud, operation.release)
        built = values.checked(resolved)
        keypair = looked_up.result()
        quota.check_cluster(cloud, resolved)
        location, namespace = answering.result()
        cluster_placement.check_accepted(rt, location)
        return _Plan(
            owner=owner,
            cluster=resolved,
            values=built,
            certificates=secrets.result(),
            access=cloud_secret.cloud_access(session),
            location=location,
            namespace=namespace,
            keypair=keypair,
        )


def _claim(held: holding.Held, plan: _Plan) -> bool:
    """Save ``stack_id``, unless the cluster is deleted or given up meanwhile.

    Then the Lease goes, too: a deletion without ``stack_id`` asks no
    management cluster.
    """
    cluster, release = held.caller_row, held.release
    if held.deleting or rows.failed(held.cluster.status):
        LOG.info("cluster %s was given up before it was made", cluster.uuid)
        held.hold.orphaned = True
        return False
    cluster_identity.record(held.nodegroups, release, plan.location)
    cluster.stack_id = release
    rows.save(cluster)
    return True


def _make(held: holding.Held, plan: _Plan) -> bool:
    """Write everything; return whether helm ran.

    :raises NoTurn: everything but helm is done
    """
    resumable = False
    try:
        desired = _prepare(held, plan)
        resumable = True
        held.reread()
        return apply.install(held, desired)
    except errors.LeaseLost as error:
        LOG.warning("Creating cluster %s: %s", held.caller_row.uuid, error)
        return False
    except errors.CapiHelmError as error:
        failure = error
    _save_failure(held, failure, resumable and failure.retriable)
    if isinstance(failure, errors.NoTurn):
        raise failure
    return False


def _prepare(held: holding.Held, plan: _Plan) -> desired_state.DesiredState:
    """Write all that helm and the polls need; return the desired state."""
    # Keystone takes its time for a credential: the rest is written meanwhile.
    with call.Threads(4) as pool:
        writing: list[futures.Future[Any]] = [
            pool.submit(
                cloud_secret.create,
                held,
                held.caller_row,
                plan.owner,
                plan.access,
                first=True,
            ),
            *(
                pool.submit(held.management.apply, kinds.SECRET, secret)
                for secret in plan.certificates
            ),
        ]
        if etcd.needs_key(plan.values):
            held.ensure_etcd_key()
        cluster = plan.cluster
        machines = (cluster.control_plane, *cluster.node_groups)
        ids = held.make_server_groups(
            plan.owner.session, nodes.server_groups(machines)
        )
        complete = nodes.with_server_group_ids(plan.values, cluster, ids)
        for each in writing:
            each.result()
    rows_now, _ = rows.read(held.caller_row)
    desired = desired_state.DesiredState(
        plan.cluster.chart, complete, rows_now.fingerprint(), time.time()
    )
    return held.store(desired, keypairs.to_secret(plan.keypair))


def _save_failure(
    held: holding.Held, error: errors.CapiHelmError, resumable: bool
) -> None:
    """After the first write: save the reason, and let the polls go on.

    :param resumable: whether the polls can go on; they have no user's token,
        so not before the credential and the desired state are written
    """
    cluster = held.caller_row
    write = LOG.info if isinstance(error, errors.NoTurn) else LOG.warning
    write("Creating cluster %s: %s", cluster.uuid, errors.explained(error))
    row = rows.fresh(held.context, cluster)
    if row is None or rows.action(row.status) == "DELETE":
        return
    if resumable:
        status_writer.save_reason(row, errors.for_users(error))
    else:
        status_writer.save_failed(
            row, list(row.nodegroups), errors.for_users(error)
        )
    status_writer.copy_outcome(row, cluster)
