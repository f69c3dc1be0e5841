# SPDX-License-Identifier: Apache-2.0

"""Creation of a cluster.

First everything that can be refused is looked at, with nothing written.
Then, under the Lease: ``stack_id``, the credential, the CA Secrets, server
groups, the intent, helm. From the first write on nothing is raised; the
status tells, and the polls go on with whatever is not done.
"""

from __future__ import annotations

from concurrent import futures
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application
from magnum_capi_helm.credentials import identity
from magnum_capi_helm.credentials import keypairs
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import encryption
from magnum_capi_helm.features import placement
from magnum_capi_helm.features import topic
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import encryption_key
from magnum_capi_helm.lifecycle import reconcile
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import assembly
from magnum_capi_helm.operations import deferred
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import familiar
from magnum_capi_helm.planes import namespaces
from magnum_capi_helm.planes import origin
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """All that was found out before the first write.

    :param found: the project's namespace
    """

    release: str
    namespace: str
    found: client.Object | None
    labels: dict[str, str]
    session: Any
    cluster: cluster_spec.Cluster
    values: topic.Values
    certificates: list[client.Object]
    files: identity.Files
    origin: origin.Record
    keypair: cluster_spec.Keypair | None


def create(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Create the release of a cluster.

    :param cluster: Magnum's row, already saved, with its nodegroups
    :raises CapiHelmError: the request was refused; nothing was written
    """
    with timing.measured() as measured:
        if release := _create(rt, context, cluster):
            LOG.info("created release %s: %s", release, measured)


def _create(rt: runtime.Runtime, context: Any, cluster: Any) -> str:
    """Create it; the release, unless its creation goes on with the polls."""
    with rt.planning.turn():
        plan = _plan(rt, context, cluster)
    namespaces.ensure(rt, plan.namespace, plan.found)
    scope = (plan.namespace, plan.release)
    done = claimed = False
    with (
        # The status says so, and it goes on in its turn.
        contextlib.suppress(errors.NoTurn),
        deferred.queued(rt, cluster, reconcile.go_on),
        rt.leases.hold(*scope, plan.labels, new=True) as hold,
    ):
        if hold.marked_deleted:
            return ""
        claimed = _claim(context, cluster, plan)
        if claimed:
            done = _finish(rt, context, cluster, plan, hold)
    if not claimed:
        # No deletion will come by: one without stack_id needs no management
        # cluster.
        rt.leases.delete(*scope)
    return plan.release if done else ""


def _plan(rt: runtime.Runtime, context: Any, cluster: Any) -> _Plan:
    release = names.release(cluster.name, cluster.uuid)
    namespace = location.namespace(cluster.project_id)
    labels = location.object_labels(cluster, release)
    session = sessions.user_session(context)
    application.owner(session)
    authorities = certificates.fetch(context, cluster)
    # Keys are decrypted, and the management cluster is asked who it is and
    # what it has, while the cloud answers.
    with timing.Threads(2) as pool:
        answering = pool.submit(_here, rt, namespace)
        secrets = pool.submit(
            certificates.secrets, authorities, namespace, release, labels
        )
        requested.check_unknown(cluster)
        cloud = catalogue.Cloud(session)
        cloud.expect_keypair(cluster.keypair)
        spec_now = resolve_cluster.resolve(cluster, cloud, release)
        keypair = keypairs.chosen(cloud, cluster.keypair)
        quota.check_cluster(cloud, spec_now)
        rt.charts.ensure(spec_now.chart)
        here, found = answering.result()
        familiar.check(rt, here)
        return _Plan(
            release=release,
            namespace=namespace,
            found=found,
            labels=labels,
            session=session,
            cluster=spec_now,
            values=assembly.values_of(rt, spec_now),
            certificates=secrets.result(),
            files=identity.files(session),
            origin=here,
            keypair=keypair,
        )


def _here(
    rt: runtime.Runtime, namespace: str
) -> tuple[origin.Record, client.Object | None]:
    """Which management cluster answers, and the namespace, if it has it.

    :raises Frozen: nothing is made there for now
    :raises NotSupported: the namespace is another Magnum's
    :raises ManagementUnserved: it has no Cluster API
    """
    here = origin.here(rt)
    rt.anchor.check()
    rt.management.expect(kinds.CLUSTER)
    found = rt.management.get(kinds.NAMESPACE, "", namespace)
    namespaces.check(found)
    return here, found


def _claim(context: Any, cluster: Any, plan: _Plan) -> bool:
    """Save ``stack_id``, unless the user deleted the cluster meanwhile."""
    row = rows.fresh(context, cluster)
    if row is None or rows.action(row.status) == "DELETE":
        LOG.info("cluster %s was deleted before it was made", cluster.uuid)
        return False
    origin.record(rows.all_groups(cluster), plan.release, plan.origin)
    cluster.stack_id = plan.release
    cluster.save()
    return True


def _finish(
    rt: runtime.Runtime,
    context: Any,
    cluster: Any,
    plan: _Plan,
    hold: Any,
) -> bool:
    """Write it all; whether that got through.

    :raises NoTurn: all but helm is done
    """
    resumable = False
    try:
        rows_now = _prepare(rt, cluster, plan)
        resumable = True
        row = rows.fresh(context, cluster)
        if row is None:
            raise errors.CapiHelmError("the cluster was deleted")
        operation.apply(rt, row, rows_now, hold)
        return True
    except errors.LeaseLost as error:
        LOG.warning("Creating cluster %s: %s", cluster.uuid, error)
        return False
    except errors.CapiHelmError as error:
        failure = error
    _leave(context, cluster, failure, resumable and failure.retriable)
    if isinstance(failure, errors.NoTurn):
        raise failure
    return False


def _prepare(
    rt: runtime.Runtime, cluster: Any, plan: _Plan
) -> requested_groups.Rows:
    """Write all that helm, and whoever goes on later, needs."""
    scope = (plan.namespace, plan.release)
    # Keystone takes its time for a credential: the rest is written meanwhile.
    with timing.Threads(4) as pool:
        writing: list[futures.Future[Any]] = [
            pool.submit(
                application.ensure,
                rt.management,
                *scope,
                cluster=cluster,
                session=plan.session,
                labels=plan.labels,
                files=plan.files,
            ),
            *(
                pool.submit(rt.management.apply, kinds.SECRET, secret)
                for secret in plan.certificates
            ),
        ]
        if encryption.needs_key(plan.values):
            encryption_key.ensure(rt.management, *scope, plan.labels)
        if plan.keypair is not None:
            parked = keypairs.packed_key(plan.keypair)
            state_secret.park(rt, scope, plan.labels, parked)
        values_now = _with_server_groups(rt, plan)
        for each in writing:
            each.result()
    rows_now, _ = rows.read(cluster)
    wish = desired_state.Intent(
        plan.cluster.chart, values_now, rows_now.fingerprint(), time.time()
    )
    operation.write_intent(rt, scope, wish, plan.labels)
    return rows_now


def _with_server_groups(rt: runtime.Runtime, plan: _Plan) -> topic.Values:
    """The values, with the ids of the server groups that are made now."""
    cluster = plan.cluster
    ids = server_groups.ensure(
        rt.management,
        (plan.namespace, plan.release),
        plan.labels,
        plan.session,
        placement.server_groups((cluster.control_plane, *cluster.node_groups)),
    )
    if not ids:
        return plan.values
    return assembly.values_of(rt, placement.with_server_groups(cluster, ids))


def _leave(
    context: Any,
    cluster: Any,
    error: errors.CapiHelmError,
    resumable: bool,
) -> None:
    """After the first write: say what happened, and let the polls go on.

    :param resumable: whether the polls can; they have no user's token, so
        not before the credential and the intent are written
    """
    write = LOG.info if isinstance(error, errors.NoTurn) else LOG.warning
    write("Creating cluster %s: %s", cluster.uuid, error)
    row = rows.fresh(context, cluster)
    if row is None or rows.action(row.status) == "DELETE":
        return
    if resumable:
        status_writer.save_reason(row, str(error))
    else:
        status_writer.save_failed(row, list(row.nodegroups), str(error))
    status_writer.copy_outcome(row, cluster)
