# SPDX-License-Identifier: Apache-2.0

"""Deletion of application credentials, as Magnum's service user.

The owner's token is gone by then, and the owner may be, too. What Keystone
does not know any more counts as deleted; what it refuses is told.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names


def delete(
    management: client.Client, namespace: str, release: str, cluster: Any
) -> None:
    """Delete all credentials of a cluster; 404 counts as deleted.

    :raises CloudError: Keystone refused; a credential is still there
    """
    secret = management.get(
        kinds.SECRET, namespace, names.credentials(release)
    )
    owner_id = str(cluster.user_id or "")
    with _deleting() as manager:
        if secret is None:
            _delete_unlisted(
                manager, owner_id, application.prefix(cluster.uuid)
            )
            return
        for entry in credential_secret.entries(secret, owner_id):
            _delete(manager, entry, in_use="")


def delete_unused(
    management: client.Client, secret: client.Object, owner_id: str
) -> bool:
    """Delete the credentials that a cluster does not use; under the Lease.

    :param secret: as it is now
    :returns: whether there was any
    :raises CloudError: Keystone refused; it is tried again
    """
    found = credential_secret.entries(secret, owner_id)
    login = credential_secret.login(secret)
    in_use = login.id if login else ""
    with _deleting() as manager:
        left = [e for e in found if not _delete(manager, e, in_use)]
    if len(left) == len(found):
        return False
    meta = secret["metadata"]
    change = {"metadata": {"annotations": credential_secret.written(left)}}
    management.patch(kinds.SECRET, meta["namespace"], meta["name"], change)
    return True


def _delete(manager: Any, entry: credential_secret.Entry, in_use: str) -> bool:
    """Delete a credential; whether it is gone."""
    credential = entry.id or _find(manager, entry.user, entry.name)
    if not credential:
        return True
    if credential == in_use:
        return False
    with contextlib.suppress(ka_exceptions.NotFound):
        manager.delete(credential, user=entry.user)
    return True


def _delete_unlisted(manager: Any, user: str, prefix: str) -> None:
    """Delete what the owner has: somebody deleted the Secret by hand."""
    for each in _of_user(manager, user):
        if each.name.startswith(prefix):
            _delete(
                manager,
                credential_secret.Entry(user, id=str(each.id)),
                in_use="",
            )


def _find(manager: Any, user: str, name: str) -> str:
    """The id of a credential by name; empty when there is none."""
    found = [each for each in _of_user(manager, user) if each.name == name]
    return str(found[0].id) if found else ""


def _of_user(manager: Any, user: str) -> list[Any]:
    try:
        return list(manager.list(user=user)) if user else []
    except ka_exceptions.NotFound:
        return []  # the user is gone, and the credentials with it


@contextlib.contextmanager
def _deleting() -> Iterator[Any]:
    """Keystone for Magnum's service user; what it raises, translated."""
    try:
        yield keystone.manager(sessions.service_session())
    except keystone.UNREACHABLE as error:
        raise keystone.unreachable(error) from error
    except (ka_exceptions.Forbidden, ka_exceptions.Unauthorized) as error:
        raise errors.CloudError(
            "Keystone does not let Magnum's service user delete the "
            f"cluster's application credential ({error}); it needs the role "
            "admin"
        ) from error
    except ka_exceptions.ClientException as error:
        raise errors.CloudError(
            f"the cluster's application credential is not deleted: {error}"
        ) from error
