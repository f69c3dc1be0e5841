# SPDX-License-Identifier: Apache-2.0

"""Why Cluster API cannot log in for a cluster that is being deleted.

Cluster API's OpenStack provider logs in before it looks at an object, and
writes no condition when Keystone refuses (``NewClientScopeFromObject`` comes
first in each ``Reconcile`` of 0.14.6). So the driver asks Keystone itself.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

#: Seconds without progress after which Keystone is asked.
_PATIENCE = 60.0
#: Seconds until it is asked again; the second where it did not answer.
_AGAIN = 300.0
_SOON = 60.0


def waiting(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    cluster: Any,
    progress: Hashable,
) -> str:
    """Return why a deletion that makes no progress cannot log in.

    Keystone is asked when no object was deleted for a minute, or when the
    health poll found the credential refused before the deletion; then every
    five minutes, and at once when the Secret is another one.

    :param cluster: Magnum's row
    :param progress: a value that changes when the deletion makes progress
    :returns: for ``status_reason``; empty: it can log in, or nobody can say
    :raises ManagementError: the Secret cannot be read
    """
    stuck = rt.stuck.age(scope, progress) >= _PATIENCE
    secret = rt.management.get(
        kinds.SECRET, scope[0], names.credentials(scope[1])
    )
    version = ((secret or {}).get("metadata") or {}).get("resourceVersion")
    known = rt.refusals.recall(scope, version)
    if known is not None:
        return known
    if not stuck and secret is not None and not upkeep.dead(cluster):
        return ""
    found = why(secret, scope, cluster)
    rt.refusals.keep(
        scope, version, found or "", _SOON if found is None else _AGAIN
    )
    return found or ""


def why(
    secret: client.Object | None, scope: snapshot.Scope, cluster: Any
) -> str | None:
    """Return why Cluster API cannot log in, and what an operator does.

    :param secret: that Cluster API reads
    :param cluster: Magnum's row
    :returns: empty: it can; None: Keystone does not say
    """
    try:
        login = credential_secret.login(secret)
        if secret is None or login is None:
            found = (
                f"the Secret {names.credentials(scope[1])}, without which "
                "Cluster API can't delete the cluster's servers, is gone"
            )
        else:
            works = upkeep.works(login)
            if works is not False:
                return "" if works else None
            found = (
                "Keystone refuses the cluster's application credential: it "
                "was deleted, or its owner has no role in the project any more"
            )
    except errors.ManagementError as error:
        return f"{error}. {_replace(cluster)}"
    return (
        _of_people(secret, login, cluster) or f"{found}. {_replace(cluster)}"
    )


def _of_people(
    secret: client.Object | None,
    login: credential_secret.Login | None,
    cluster: Any,
) -> str:
    """Return which project or user is deleted or disabled, if Keystone says.

    A project or user is deleted only where Keystone answers 404 to Magnum's
    service user.
    """
    owner = str(cluster.user_id or "")
    for entry in credential_secret.entries(secret, owner) if secret else ():
        owner = entry.user if login and entry.id == login.id else owner
    try:
        session = sessions.service_session()
        project = keystone.state(session, "project", cluster.project_id)
        user = keystone.state(session, "user", owner) if owner else ""
    except errors.CapiHelmError:
        return ""
    if project == keystone.DELETED:
        return (
            f"project {cluster.project_id} is deleted, so Cluster API cannot "
            "log in. An administrator deletes what is left: see Delete a "
            "cluster whose project is gone in the administrator's guide, and "
            f"magnum-capi-helm describe {cluster.uuid}"
        )
    if project:
        return (
            f"project {cluster.project_id} is {project}, so Cluster API "
            "cannot log in. An administrator enables it: openstack project "
            f"set --enable {cluster.project_id}"
        )
    if user:
        return (
            f"user {owner} is {user}, so Keystone refuses the cluster's "
            f"application credential. {_replace(cluster)}"
        )
    return ""


def _replace(cluster: Any) -> str:
    return (
        "An operator gives the cluster a new one: magnum-capi-helm "
        f"credentials replace {cluster.uuid} --service-user --apply"
    )
