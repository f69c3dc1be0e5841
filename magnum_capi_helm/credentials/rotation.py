# SPDX-License-Identifier: Apache-2.0

"""A new application credential for a cluster, made for the user who asks.

Whatever happens on the way, the cluster has one that works: the old one stays
where it is until the new one has been tried, and in Keystone until the pods
of the cluster use the new one (see ``upkeep``).
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application
from magnum_capi_helm.credentials import identity
from magnum_capi_helm.credentials import keypairs
from magnum_capi_helm.credentials import making
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import lease_guard
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import late_requests
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret

LOG = log.getLogger(__name__)

_LEAVING = (
    "the cluster is being deleted: if the deletion needs a new credential, "
    "an operator gives it one, magnum-capi-helm credentials replace"
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that was found out before the first write.

    :param keypair: to be imported for the new owner
    """

    scope: snapshot.Scope
    labels: dict[str, str]
    session: Any
    cloud: catalogue.Cloud
    owner: application.Owner
    files: identity.Files
    keypair: cluster_spec.Keypair | None


def rotate(
    rt: runtime.Runtime,
    context: Any,
    cluster: Any,
    *,
    leaving: bool = False,
) -> None:
    """Give a cluster a credential of the user who asks.

    :param cluster: Magnum's row
    :param leaving: whether a cluster that is being deleted gets one as well
    :raises LeaseHeld: somebody works on the cluster, and goes on doing so
    :raises CapiHelmError: refused; the cluster goes on with the old one
    """
    plan = planned(rt, context, cluster)
    with operation.patient(rt, plan.scope, plan.labels) as hold:
        row = rows.fresh(context, cluster)
        if row is None:
            hold.orphaned = True
            raise errors.NotSupported("the cluster is deleted")
        deleting = hold.marked_deleted or _deleting(row)
        if deleting and not leaving:
            raise errors.NotSupported(_LEAVING)
        if plan.keypair is not None and not deleting:
            plan.cloud.import_keypair(plan.keypair)
            parked = keypairs.packed_key(plan.keypair)
            state_secret.park(rt, plan.scope, plan.labels, parked)
        _replace(rt, plan, row)
        row = _saved(rt, plan, context, row, deleting=deleting)
    rt.rounds.again(plan.scope, 0.0)
    status_writer.copy_outcome(row, cluster)
    LOG.info(
        "cluster %s has a new credential, of user %s",
        cluster.uuid,
        plan.owner.user_id,
    )


def planned(rt: runtime.Runtime, context: Any, cluster: Any) -> Plan:
    """What it takes; nothing is written.

    :raises CapiHelmError: the user can't be given one for the cluster
    """
    if not cluster.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)
    session = sessions.user_session(context)
    owner = application.owner(session)
    if sessions.project(session) != cluster.project_id:
        raise errors.InvalidInput(
            "a cluster's credential is good for one project: log in to "
            f"project {cluster.project_id}"
        )
    scope = operation.scope_of(cluster)
    cloud = catalogue.Cloud(session)
    labels = location.object_labels(cluster, scope[1])
    labels[location.USER_ID] = names.label_value(owner.user_id)
    return Plan(
        scope=scope,
        labels=labels,
        session=session,
        cloud=cloud,
        owner=owner,
        files=identity.files(session),
        keypair=_keypair(rt, scope, cluster, cloud, owner.user_id),
    )


def _keypair(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    cluster: Any,
    cloud: catalogue.Cloud,
    user_id: str,
) -> cluster_spec.Keypair | None:
    """Return the keypair that the new owner's machines lack, if any.

    A cluster that is being deleted gets no new machine.

    :raises InvalidInput: the new owner cannot be given the keypair
    """
    if _deleting(cluster):
        return None
    return keypairs.missing(rt, scope, cluster, cloud, user_id)


def _deleting(row: Any) -> bool:
    return rows.action(row.status) == "DELETE" or rows.doomed(row)


def _replace(rt: runtime.Runtime, plan: Plan, row: Any) -> None:
    """Write down, make, try, hand over: in that order."""
    namespace, release = plan.scope
    name = names.credentials(release)
    secret = rt.management.get(kinds.SECRET, namespace, name)
    known = (
        credential_secret.entries(secret, str(row.user_id or ""))
        if secret
        else ()
    )
    new = application.planned(row, plan.owner)
    wanted = application.secret_object(
        namespace, release, plan.labels, [*known, new]
    )
    if secret is None:
        rt.management.apply(kinds.SECRET, wanted)
    else:
        # Patched: what is applied without data would lose it.
        change = {
            "metadata": {
                "annotations": credential_secret.written([*known, new])
            }
        }
        rt.management.patch(kinds.SECRET, namespace, name, change)
    with making.taken_back(plan.session, new):
        login = application.make(plan.session, new, plan.owner, row)
        _prove(login, row.project_id)
        used = dataclasses.replace(new, id=login.id, since=time.time())
        wanted = application.secret_object(
            namespace, release, plan.labels, [*known, used]
        )
        filled = application.filled(wanted, plan.files, login)
        rt.management.apply(kinds.SECRET, filled)


def _prove(login: credential_secret.Login, project_id: str) -> None:
    """Log in with a new credential.

    :raises CloudError: it is no good
    """
    session = sessions.credential_session(login.id, login.secret)
    if (
        not sessions.accepted(session)
        or sessions.project(session) != project_id
    ):
        raise errors.CloudError(
            "Keystone does not accept the application credential that it has "
            "just made: the cluster keeps the one that it has"
        )


def _saved(
    rt: runtime.Runtime, plan: Plan, context: Any, row: Any, *, deleting: bool
) -> Any:
    """Write the new owner, and that a complete cluster was updated.

    What is under way, or failed, is no better and no worse for it. Read once
    more: Keystone took its time, and a request may have come meanwhile.

    A deletion is in progress again, with all its time.
    """
    row = rows.fresh(context, row) or row
    row.user_id = plan.owner.user_id
    if deleting:
        rt.leases.mark_deleted(*plan.scope)
        lease_guard.check()
        status_writer.save_deleting(row)
        return row
    complete = row.status.endswith("_COMPLETE")
    if complete:
        row.status = rows.Status.UPDATE_COMPLETE
        row.status_reason = None
    lease_guard.check()
    row.save()
    if complete:
        late_requests.heed(rt, plan.scope, row)
    return row
