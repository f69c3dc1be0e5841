# SPDX-License-Identifier: Apache-2.0

"""Create and delete application credentials in Keystone.

1. Read from the user's token who owns the credential and its roles.
2. Refuse a restricted token, and a user who has only the role admin.
3. The caller stores the credential's name before Keystone is asked, so that
   a conductor that dies leaves nothing that a deletion would not find.
4. Create it. Only the user has a token, so no poll can try again: a
   transient failure is tried three times. Names are unique, so what a failed
   attempt left is deleted first.
5. Log in with it once before a cluster uses it.
6. If the Lease is lost meanwhile, delete it: no other process knows it.
7. Magnum's service user deletes credentials: the owner may be gone. One that
   Keystone does not have counts as deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import time
from typing import Any
import uuid

from keystoneauth1 import exceptions as ka_exceptions
from oslo_log import log

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.resolve import operator_files

LOG = log.getLogger(__name__)

#: Seconds between attempts.
PAUSES = (1.0, 2.0)
#: Beside 5xx: Keystone is busy, or an earlier attempt succeeded late.
_TRANSIENT = frozenset({409, 429})
_RULE_KEYS = frozenset({"service", "method", "path"})
_RESTRICTED = (
    "Keystone makes no application credential for a user who is logged in "
    "with a restricted one: log in with a password, or with an application "
    "credential created with --unrestricted, and try again"
)


@dataclasses.dataclass(frozen=True)
class Owner:
    """The user that a credential is created for.

    :param session: with the user's token
    :param rules: access rules; empty: the credential is not limited
    """

    session: Any = dataclasses.field(compare=False, repr=False)
    user_id: str
    roles: tuple[str, ...]
    rules: tuple[dict[str, str], ...] = ()


def owner_of(session: Any) -> Owner:
    """Return the user of a session, with the roles that a cluster may get.

    :raises InvalidInput: Keystone would refuse, or no role is left
    :raises NotConfigured: the file of access rules is not usable
    """
    token = session.auth.get_access(session)
    body = token._data["token"]
    if (body.get("application_credential") or {}).get("restricted"):
        raise errors.InvalidInput(_RESTRICTED)
    configured = conf.CONF.capi_helm.app_cred_roles
    names = (str(role["name"]) for role in body.get("roles") or [])
    roles = sorted(
        role
        for role in names
        if not is_admin(role) and (not configured or role in configured)
    )
    if not roles:
        allowed = ", ".join(configured) or "any role but admin"
        raise errors.InvalidInput(
            "the user has no role that a cluster may act with "
            f"(allowed: {allowed}): assign one in project {token.project_id}"
        )
    return Owner(session, str(token.user_id), tuple(roles), access_rules())


def is_admin(role: str) -> bool:
    """Compare a role with ``admin`` as policies do, in any case."""
    return role.lower() == "admin"


def access_rules() -> tuple[dict[str, str], ...]:
    """Return the rules of the configured file; empty without a file.

    :raises NotConfigured: it is unreadable, or not a list of rules
    """
    path = conf.CONF.capi_helm.app_cred_access_rules
    if not path:
        return ()
    origin = f"[capi_helm] app_cred_access_rules {path}"
    rules = operator_files.read_document(path, origin)
    if not isinstance(rules, list) or not rules:
        raise errors.NotConfigured(f"{origin}: give a list")
    for number, rule in enumerate(rules, 1):
        if (
            not isinstance(rule, dict)
            or rule.keys() != _RULE_KEYS
            or not all(isinstance(value, str) for value in rule.values())
        ):
            raise errors.NotConfigured(
                f"{origin}: rule {number}: give service, method and path, as "
                "text"
            )
    return tuple(rules)


def name_prefix(cluster_uuid: str) -> str:
    """Return the common start of the names of a cluster's credentials."""
    return f"magnum-{cluster_uuid}-"


def new_entry(cluster: rows.Cluster, owner: Owner) -> credential_secret.Entry:
    """Return a credential with a new name, to be stored and then created."""
    name = f"{name_prefix(cluster.uuid)}{uuid.uuid4().hex[:8]}"
    return credential_secret.Entry(user=owner.user_id, name=name)


def create(
    entry: credential_secret.Entry,
    owner: Owner,
    cluster: rows.Cluster,
) -> credential_secret.Login:
    """Create the credential of a stored entry, under the Lease.

    :raises InvalidInput: Keystone creates none for such a token
    :raises CloudError: Keystone refused, or did not answer
    :raises LeaseLost: another conductor works on the cluster
    """
    fields: dict[str, Any] = {
        "description": f"Magnum cluster ({cluster.name or cluster.uuid})",
        "roles": [{"name": role} for role in owner.roles],
    }
    if owner.rules:
        fields["access_rules"] = owner.rules
    api = keystone.ApplicationCredentials(owner.session)
    try:
        with keystone.asking("Keystone made no application credential"):
            created = _create_with_retries(api, entry, fields)
    except errors.CloudError as error:
        cause = error.__cause__
        if isinstance(cause, ka_exceptions.Forbidden):
            # For example the token of a trust, or the user's limit.
            raise errors.InvalidInput(
                f"Keystone makes no application credential for you. {cause}"
            ) from cause
        if error.retriable:
            # Keystone may have created it; see deleted_if_lease_lost().
            call.check_lease()
        raise
    if any(is_admin(each["name"]) for each in created.get("roles", ())):
        raise errors.CloudError(
            "one of the user's roles implies the role admin, which no "
            "cluster may have: set [capi_helm] app_cred_roles"
        )
    return credential_secret.Login(str(created["id"]), str(created["secret"]))


def _create_with_retries(
    api: keystone.ApplicationCredentials,
    entry: credential_secret.Entry,
    fields: dict[str, Any],
) -> dict[str, Any]:
    attempt = 0
    while True:
        try:
            if attempt:
                _delete(api, entry)
            call.check_lease()
            return api.create(entry.user, entry.name, **fields)
        except ka_exceptions.ClientException as error:
            if attempt == len(PAUSES) or not _is_transient(error):
                raise
        time.sleep(PAUSES[attempt])
        attempt += 1


def _is_transient(error: Exception) -> bool:
    # Also raised for reads. After such a wait the user waited long enough.
    if isinstance(error, ka_exceptions.ConnectTimeout):
        return False
    status = getattr(error, "http_status", 0)
    return isinstance(error, keystone.UNREACHABLE) or status in _TRANSIENT


@contextlib.contextmanager
def deleted_if_lease_lost(
    entry: credential_secret.Entry, owner: Owner
) -> Iterator[None]:
    """Delete the credential that the block created, if the Lease is lost.

    A write without the Lease is not sent, so nothing uses the credential.
    """
    try:
        yield
    except errors.LeaseLost:
        try:
            _delete(keystone.ApplicationCredentials(owner.session), entry)
        except (ka_exceptions.ClientException, errors.CapiHelmError) as error:
            LOG.warning(
                "application credential %s of user %s may be left in "
                "Keystone, delete it there: %s",
                entry.name,
                entry.user,
                error,
            )
        raise


def prove(login: credential_secret.Login, project_id: str) -> None:
    """Log in with a new credential.

    :raises CloudError: Keystone does not accept it
    """
    session = sessions.log_in(login)
    if session is None or sessions.project(session) != project_id:
        raise errors.CloudError(
            "Keystone does not accept the application credential that it has "
            "just made: the cluster keeps the one that it has"
        )


# Deletion, as Magnum's service user


def delete_all(operation: cluster_operation.Operation) -> None:
    """Delete all credentials of a cluster.

    :raises CloudError: Keystone refused; a credential is still there
    """
    cluster = operation.cluster
    secret = credential_secret.read(operation.management, operation.scope)
    owner = str(cluster.user_id or "")
    with _as_service_user() as api:
        if secret is not None:
            entries = credential_secret.entries(secret, owner)
        else:
            # The Secret was deleted by hand.
            prefix = name_prefix(cluster.uuid)
            ids = _named(api, owner, lambda name: name.startswith(prefix))
            entries = tuple(
                credential_secret.Entry(owner, id=each) for each in ids
            )
        for entry in entries:
            _delete(api, entry)


def delete_unused(
    management: client.Client,
    scope: location.Scope,
    secret: client.Object | None,
    owner: str,
) -> None:
    """Delete all but the credential in use, under the Lease.

    :param secret: as it is now
    :raises CloudError: Keystone refused
    """
    entries = credential_secret.entries(secret, owner)
    login = credential_secret.login(secret)
    in_use = login.id if login else ""
    with _as_service_user() as api:
        left = [each for each in entries if not _delete(api, each, in_use)]
    if len(left) < len(entries):
        credential_secret.save_entries(management, scope, left)
        LOG.info("old credentials of release %s are deleted", scope[1])


def _delete(
    api: keystone.ApplicationCredentials,
    entry: credential_secret.Entry,
    in_use: str = "",
) -> bool:
    """Delete a credential unless it is in use; return whether it is gone."""
    ids = [entry.id]
    if not entry.id:
        # The whole name: a part of it may begin the names of others.
        ids = _named(api, entry.user, lambda name: name == entry.name)
    if in_use in ids:
        return False
    for each in ids:
        api.delete(entry.user, each)
    return True


def _named(
    api: keystone.ApplicationCredentials,
    user: str,
    chosen: Callable[[str], bool],
) -> list[str]:
    """Return the IDs of a user's credentials, chosen by their names."""
    listed = api.list(user) if user else []
    return [str(each["id"]) for each in listed if chosen(str(each["name"]))]


@contextlib.contextmanager
def _as_service_user() -> Iterator[keystone.ApplicationCredentials]:
    """Yield Keystone's API for Magnum's service user; translate errors."""
    failure = "the cluster's application credential is not deleted"
    try:
        with keystone.asking(failure):
            yield keystone.ApplicationCredentials(sessions.service_session())
    except errors.CloudError as error:
        cause = error.__cause__
        refusals = (ka_exceptions.Forbidden, ka_exceptions.Unauthorized)
        if isinstance(cause, refusals):
            raise errors.CloudError(
                "Keystone does not let Magnum's service user delete the "
                f"cluster's application credential ({cause}); it needs the "
                "role admin"
            ) from cause
        raise
