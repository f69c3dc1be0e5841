# SPDX-License-Identifier: Apache-2.0

"""The application credentials by which a cluster acts in its project.

Made with the user's token, so one can never do more than the user, and never
with the role admin. Its name and owner are written to the Secret of the
cluster *before* Keystone is asked (see ``ledger``), so a conductor that dies
in between leaks none: whoever deletes the cluster finds the name.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import time
from typing import Any
import uuid

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import access_rules
from magnum_capi_helm.credentials import identity
from magnum_capi_helm.credentials import making
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

_RESTRICTED = (
    "Keystone makes no application credential for a user who is logged in "
    "with a restricted one: log in with a password, or with an application "
    "credential created with --unrestricted, and try again"
)


@dataclasses.dataclass(frozen=True)
class Owner:
    """The user a credential is made for, as the token says.

    :param rules: what the credential may be used for; empty: for all
    """

    user_id: str
    roles: tuple[str, ...]
    rules: tuple[dict[str, str], ...] = ()


def owner(session: Any) -> Owner:
    """Who asks, and which of the roles the cluster may get.

    :raises InvalidInput: Keystone would refuse, or no role is left
    :raises NotConfigured: the file of access rules is not usable
    """
    token = session.auth.get_access(session)
    body = token._data["token"]
    if (body.get("application_credential") or {}).get("restricted"):
        raise errors.InvalidInput(_RESTRICTED)
    configured = conf.CONF.capi_helm.app_cred_roles
    roles = allowed_roles(
        [str(role["name"]) for role in body.get("roles") or []], configured
    )
    if not roles:
        wanted = ", ".join(configured) or "any role but admin"
        raise errors.InvalidInput(
            "the user has no role that a cluster may act with "
            f"(allowed: {wanted}): assign one in project {token.project_id}"
        )
    return Owner(str(token.user_id), roles, access_rules.configured())


def allowed_roles(
    has: Sequence[str], configured: Sequence[str]
) -> tuple[str, ...]:
    """The roles to pass on: configured ones that the user has; no admin.

    Keystone tells them in any order; here it is that of the alphabet, so that
    what is said of the same user is the same each time.
    """
    return tuple(
        sorted(
            role
            for role in has
            if not making.is_admin(role)
            and (not configured or role in configured)
        )
    )


def planned(cluster: Any, user: Owner) -> credential_secret.Entry:
    """A credential with a name of its own, to be written down and made."""
    name = f"{prefix(cluster.uuid)}{uuid.uuid4().hex[:8]}"
    return credential_secret.Entry(user=user.user_id, name=name)


def prefix(cluster_uuid: str) -> str:
    """How the names of all credentials of a cluster begin."""
    return f"magnum-{cluster_uuid}-"


def ensure(
    management: client.Client,
    namespace: str,
    release: str,
    *,
    cluster: Any,
    session: Any,
    labels: dict[str, str],
    files: identity.Files,
) -> None:
    """Make the first credential of a cluster and the Secret that holds it.

    :param cluster: Magnum's row
    :param session: of the user who creates the cluster
    :param files: what :func:`identity.files` collected
    :raises InvalidInput: Keystone refused
    :raises LeaseLost: somebody else works on the cluster; none is left
    """
    user = owner(session)
    entry = planned(cluster, user)
    empty = secret_object(namespace, release, labels, [entry])
    management.apply(kinds.SECRET, empty)
    with making.taken_back(session, entry):
        login = make(session, entry, user, cluster)
        used = dataclasses.replace(entry, id=login.id, since=time.time())
        empty = secret_object(namespace, release, labels, [used])
        management.apply(kinds.SECRET, filled(empty, files, login))


def secret_object(
    namespace: str,
    release: str,
    labels: dict[str, str],
    entries: Sequence[credential_secret.Entry],
) -> client.Object:
    """The Secret of a cluster's credentials, without data."""
    return {
        "metadata": {
            "name": names.credentials(release),
            "namespace": namespace,
            "labels": labels,
            "annotations": credential_secret.written(entries),
        },
        "type": "Opaque",
    }


def filled(
    secret: client.Object,
    files: identity.Files,
    login: credential_secret.Login,
) -> client.Object:
    """The Secret, with all that it takes to use a credential."""
    meta = secret["metadata"]
    noted = {**meta["annotations"], identity.ANNOTATION: identity.mark(files)}
    text = identity.clouds_yaml(files, login.id, login.secret)
    return {
        **secret,
        "metadata": {**meta, "annotations": noted},
        "data": credential_secret.data(text, files.ca_bundle),
    }


def make(
    session: Any, entry: credential_secret.Entry, user: Owner, cluster: Any
) -> credential_secret.Login:
    """Let Keystone make what was written down.

    :raises InvalidInput: Keystone makes none for such a token
    :raises CloudError: Keystone refused, or did not answer
    :raises LeaseLost: somebody else works on the cluster
    """
    return making.make(
        session,
        entry,
        description=f"Magnum cluster ({cluster.name or cluster.uuid})",
        roles=[{"name": role} for role in user.roles],
        access_rules=[dict(rule) for rule in user.rules] or None,
    )
