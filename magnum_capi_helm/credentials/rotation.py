# SPDX-License-Identifier: Apache-2.0

"""Give a cluster a new application credential.

1. Check the user, the project and the keypair; refuse before any write.
2. Take the Lease and read the row again.
3. Import the keypair for the new owner.
4. Store the name of the new credential, create it, and log in with it.
5. Write the Secret: the cluster uses the new credential from here on.
6. Save the new owner; a complete cluster becomes UPDATE_IN_PROGRESS.
7. A poll writes UPDATE_COMPLETE when the addons have the new credential.

The old credential stays in Keystone until the cluster's pods use the new one
(``cleanup``). Keystone creates a credential only for the user who asks. So an
operator who replaces one logs in as a user with a role in the cluster's
project, which may be Magnum's service user. A cluster that is being deleted
can get one, too: Cluster API cannot delete its servers otherwise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions
from magnum.common import context as magnum_context
from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.credentials import keypair
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import holding
from magnum_capi_helm.status import replacement

LOG = log.getLogger(__name__)

_BEING_DELETED = (
    "the cluster is being deleted: if the deletion needs a new credential, "
    "an operator gives it one, magnum-capi-helm cluster credentials"
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A rotation that was checked.

    :param keypair: to be imported for the new owner
    """

    owner: application_credential.Owner
    access: cloud_secret.CloudAccess
    keypair: cluster_spec.Keypair | None


def rotate(
    operation: cluster_operation.Operation, *, allow_deleting: bool = False
) -> None:
    """Give a cluster a credential of the user who asks.

    :param allow_deleting: a cluster that is being deleted gets one as well
    :raises LeaseHeld: another conductor works on the cluster
    :raises CapiHelmError: refused; the cluster keeps the old credential
    """
    plan = check(operation)
    rt, cluster = operation.runtime, operation.cluster
    with operation.lock(wait=rt.lease_wait) as held:
        if held.gone:
            raise errors.NotSupported("the cluster is deleted")
        deleting = held.deleting
        if deleting and not allow_deleting:
            raise errors.NotSupported(_BEING_DELETED)
        if plan.keypair is not None and not deleting:
            cloud = catalogue.Cloud(plan.owner.session)
            cloud.import_keypair(plan.keypair)
            operation.patch_stored(keypair.to_secret(plan.keypair))
        cloud_secret.create(operation, held.cluster, plan.owner, plan.access)
        row = _save(held, plan.owner, deleting=deleting)
    rt.credential_checks.set_due(operation.scope, 0.0)
    status_writer.copy_outcome(row, cluster)
    LOG.info(
        "cluster %s has a new credential, of user %s",
        cluster.uuid,
        plan.owner.user_id,
    )


def check(operation: cluster_operation.Operation) -> Plan:
    """Check a rotation; write nothing.

    :raises CapiHelmError: the user can't get a credential for the cluster
    """
    operation.check_answering()
    cluster = operation.cluster
    session = sessions.user_session(operation.context)
    owner = application_credential.owner_of(session)
    if sessions.project(session) != cluster.project_id:
        raise errors.InvalidInput(
            "a cluster's credential is good for one project: log in to "
            f"project {cluster.project_id}"
        )
    access = cloud_secret.cloud_access(session)
    missing_keypair = None
    groups = rows.all_groups(cluster)
    if rows.action(cluster.status) != "DELETE" and not rows.doomed(groups):
        missing_keypair = keypair.to_import(
            operation, catalogue.Cloud(session), owner.user_id
        )
    return Plan(owner, access, missing_keypair)


def _save(
    held: holding.Held,
    owner: application_credential.Owner,
    *,
    deleting: bool,
) -> rows.Cluster:
    """Save the new owner and the status; return the row.

    The row is read once more: a request may have come while Keystone worked.
    A running or failed operation keeps its status. A deletion starts again,
    with its whole timeout.
    """
    held.reread()
    row = held.cluster
    row.user_id = owner.user_id
    if deleting:
        held.runtime.leases.mark_deleted(*held.scope)
        call.check_lease()
        status_writer.save_deleting(row)
        return row
    rows.save(row)
    if row.status.endswith("_COMPLETE"):
        _begin_update(held)
        status_writer.save_updating(row)
    return row


def _begin_update(held: holding.Held) -> None:
    """Note the begin on the Cluster: the time-out counts from it.

    The release has no new revision, which would be the begin otherwise.
    """
    rt, scope = held.runtime, held.scope
    progress = replacement.latest_progress(rt.snapshots.read(scope).decode())
    if progress is not None:
        patch = progress._replace(time=int(time.time())).patch()
        rt.management.patch(kinds.CLUSTER, *scope, patch)


def describe(operation: cluster_operation.Operation) -> str:
    """Return the effect of a replacement by an operator; write nothing.

    :param operation: with the context of the new owner
    :raises CapiHelmError: it can't be replaced
    """
    row = operation.cluster
    deleting = rows.action(row.status) == "DELETE"
    if not deleting and not validity.can_rotate(row.status):
        raise errors.NotSupported(
            f"the cluster is {row.status}: its first credential is part of "
            "its creation"
        )
    plan = check(operation)
    owner = plan.owner.user_id
    parts = [f"a new one of user {owner} ({', '.join(plan.owner.roles)})"]
    if deleting:
        parts[0] += ", for Cluster API to go on with the deletion"
    if owner != row.user_id:
        parts.append(f"the owner of the cluster was {row.user_id} before")
    if plan.keypair is not None:
        parts.append(f"keypair {plan.keypair.name} is imported for {owner}")
    return "; ".join(parts)


def is_refused(rt: runtime.Runtime, scope: location.Scope) -> bool:
    """Return whether a cluster's credential does not work.

    :raises CloudUnreachable: Keystone does not answer
    """
    problem = validity.problem(credential_secret.read(rt.management, scope))
    if problem is None:
        raise errors.CloudUnreachable("Keystone does not answer")
    return bool(problem)


def dates(
    rt: runtime.Runtime, scope: location.Scope
) -> tuple[float, list[float]]:
    """Return since when a cluster uses its credential, and its old ones.

    :returns: seconds since 1970; 0: not recorded, or there is none
    :raises ManagementError: the Secret is damaged
    """
    secret = credential_secret.read(rt.management, scope)
    login = credential_secret.login(secret)
    if login is None:
        return 0.0, []
    used: list[float] = [0.0]
    old: list[float] = []
    for each in credential_secret.entries(secret):
        (used if each.id == login.id else old).append(each.since)
    return max(used), old


def pending(operation: cluster_operation.Operation, *, revoke: bool) -> str:
    """Return which step of a rotation is still to come; empty: none.

    A deletion deletes all credentials at its end, and may have removed the
    addon by now.

    :param revoke: delete old ones as soon as the cluster has the new one
    :raises CloudError: Keystone does not let Magnum's service user do that
    """
    rt, scope, row = operation.runtime, operation.scope, operation.cluster
    if rows.action(row.status) == "DELETE":
        return ""
    step = cloud_secret.pending_deployment(rt, scope)
    secret = credential_secret.read(rt.management, scope)
    if step or not revoke or len(credential_secret.entries(secret)) < 2:
        return step
    with operation.lock(wait=rt.lease_wait):
        secret = credential_secret.read(rt.management, scope)
        application_credential.delete_unused(
            rt.management, scope, secret, str(row.user_id or "")
        )
    return ""


class Logins:
    """Log an operator in to each project once.

    :param cloud: name in clouds.yaml; None: from the environment
    :param service_user: log in as Magnum's service user instead
    """

    def __init__(
        self, cloud: str | None, *, service_user: bool = False
    ) -> None:
        self._cloud = cloud
        self._service_user = service_user
        self._lock = threading.Lock()
        self._contexts: dict[str, Any] = {}

    def context(self, project_id: str) -> Any:
        """Return the context that Magnum makes of this user's request.

        :raises CloudError: no role in the project, or Keystone is silent
        """
        with self._lock:
            if project_id not in self._contexts:
                self._contexts[project_id] = self._login(project_id)
            return self._contexts[project_id]

    def _login(self, project_id: str) -> Any:
        try:
            if self._service_user:
                access = sessions.service_access(project_id)
            else:
                access = sessions.operator_access(self._cloud, project_id)
        except errors.CloudError as error:
            if isinstance(error.__cause__, ka_exceptions.Unauthorized):
                raise errors.InvalidInput(self._refusal(project_id)) from error
            raise
        return magnum_context.RequestContext(
            auth_token=access.auth_token,
            auth_token_info=access._data,
            project_id=access.project_id,
            user_id=access.user_id,
            is_admin=False,
        )

    def _refusal(self, project_id: str) -> str:
        """Return why Keystone refuses, and what the operator does."""
        with contextlib.suppress(errors.CapiHelmError):
            service = sessions.service_session()
            if state := keystone.state(service, "project", project_id):
                return f"project {project_id} is {state}: no user can log in"
        if self._service_user:
            return (
                "Keystone does not let Magnum's service user into project "
                f"{project_id}: give the user of [keystone_auth] a role in "
                "it that a cluster may act with, openstack role add --user "
                f"USER --project {project_id} member"
            )
        return (
            f"Keystone does not let you into project {project_id}, and makes "
            "an application credential only for the user who asks: log in as "
            "a user who has a role in it that a cluster may act with, such as "
            "member"
        )
