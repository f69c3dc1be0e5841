# SPDX-License-Identifier: Apache-2.0

"""New application credentials for clusters, by an operator.

Keystone makes an application credential only for the user who asks, with
roles that this user has in the project. An administrator can delete those of
other users and cannot make any for them. So the operator logs in as a user
who has a role in the cluster's project, which may be Magnum's service user.
The driver then does what it does when this user rotates the credential.

A cluster that is being deleted gets one as well: Cluster API cannot delete
servers and networks without it.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions
from magnum.common import context as magnum_context

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import refresh
from magnum_capi_helm.credentials import removal
from magnum_capi_helm.credentials import rotation
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation


class Logins:
    """One login for each project: a token is good for one.

    :param cloud: of clouds.yaml; None: as the environment says
    :param service_user: log in as Magnum's service user instead
    """

    def __init__(
        self, cloud: str | None, *, service_user: bool = False
    ) -> None:
        self._cloud = cloud
        self._service_user = service_user
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}

    def context(self, project_id: str) -> Any:
        """As Magnum has it of a request that this user makes.

        :raises CloudError: the user has no role there, or Keystone is silent
        """
        with self._lock:
            if project_id not in self._known:
                self._known[project_id] = self._login(project_id)
            return self._known[project_id]

    def _login(self, project_id: str) -> Any:
        try:
            if self._service_user:
                found = sessions.service_access(project_id)
            else:
                found = sessions.operator_access(self._cloud, project_id)
        except errors.CloudError as error:
            if isinstance(error.__cause__, ka_exceptions.Unauthorized):
                raise errors.InvalidInput(self._refused(project_id)) from error
            raise
        return magnum_context.RequestContext(
            auth_token=found.auth_token,
            auth_token_info=found._data,
            project_id=found.project_id,
            user_id=found.user_id,
            is_admin=False,
        )

    def _refused(self, project_id: str) -> str:
        """Return why Keystone makes no token, and what the operator does."""
        with contextlib.suppress(errors.CapiHelmError):
            service = sessions.service_session()
            if state := keystone.state(service, "project", project_id):
                return f"project {project_id} is {state}: nobody can log in"
        if self._service_user:
            return (
                "Keystone does not let Magnum's service user into project "
                f"{project_id}: give the user of [keystone_auth] a role in "
                "it that a cluster may act with, openstack role add --user "
                f"USER --project {project_id} member"
            )
        return (
            f"Keystone does not let you into project {project_id}, and makes "
            "an application credential for nobody but the user who asks: log "
            "in as a user who has a role in it that a cluster may act with, "
            "such as member"
        )


def planned(rt: runtime.Runtime, context: Any, row: Any) -> str:
    """What would become of a cluster's credential; nothing is written.

    :param context: of the user who would own it
    :raises CapiHelmError: it can't be replaced
    """
    leaving = rows.action(row.status) == "DELETE"
    if not leaving and not upkeep.rotatable(row.status):
        raise errors.NotSupported(
            f"the cluster is {row.status}: its first credential is part of "
            "its creation"
        )
    plan = rotation.planned(rt, context, row)
    owner = plan.owner.user_id
    found = [f"a new one of user {owner} ({', '.join(plan.owner.roles)})"]
    if leaving:
        found[0] += ", for Cluster API to go on with the deletion"
    if owner != row.user_id:
        found.append(f"the cluster is theirs then, and was {row.user_id}'s")
    if plan.keypair is not None:
        found.append(f"keypair {plan.keypair.name} is imported for them")
    return "; ".join(found)


def dead(rt: runtime.Runtime, scope: snapshot.Scope) -> bool:
    """Whether a cluster's credential does not work.

    :raises CloudUnreachable: Keystone does not say
    """
    found = upkeep.wrong(secret(rt, scope))
    if found is None:
        raise errors.CloudUnreachable("Keystone does not answer")
    return bool(found)


def given(rt: runtime.Runtime, scope: snapshot.Scope) -> float:
    """When a cluster was given its credential, seconds since 1970.

    :returns: 0: it is not written down, or there is none
    :raises ManagementError: the Secret is damaged
    """
    there = secret(rt, scope)
    login = credential_secret.login(there)
    if there is None or login is None:
        return 0.0
    entries = credential_secret.entries(there, "")
    return max((e.since for e in entries if e.id == login.id), default=0.0)


def outdated(rt: runtime.Runtime, scope: snapshot.Scope, before: float) -> int:
    """How many there still are beside the one in use, from before a moment.

    :raises ManagementError: the Secret is damaged
    """
    there = secret(rt, scope)
    login = credential_secret.login(there)
    if there is None or login is None:
        return 0
    others = [
        e for e in credential_secret.entries(there, "") if e.id != login.id
    ]
    return sum(each.since < before for each in others)


def secret(rt: runtime.Runtime, scope: snapshot.Scope) -> client.Object | None:
    """The Secret that it is in, or None."""
    name = names.credentials(scope[1])
    return rt.management.get(kinds.SECRET, scope[0], name)


def left(rt: runtime.Runtime, row: Any, *, revoke: bool) -> str:
    """What is still to come after a rotation; empty: nothing.

    A deletion deletes all credentials at its end, and may have removed the
    addon by now.

    :param revoke: delete old ones as soon as the cluster has the new one
    :raises CloudError: Keystone does not let Magnum's service user do that
    """
    if rows.action(row.status) == "DELETE":
        return ""
    scope = operation.scope_of(row)
    waiting = refresh.left(rt, scope)
    there = secret(rt, scope)
    if waiting or there is None or not revoke:
        return waiting
    if len(credential_secret.entries(there, "")) > 1:
        labels = location.object_labels(row, scope[1])
        with operation.patient(rt, scope, labels):
            now = secret(rt, scope) or there
            removal.delete_unused(rt.management, now, str(row.user_id or ""))
    return ""
