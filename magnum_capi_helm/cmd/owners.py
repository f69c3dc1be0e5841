# SPDX-License-Identifier: Apache-2.0

"""Which clusters are a user's, and whose credentials they use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent import futures
import functools
import re

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import inventory
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

THEIRS = "theirs"
NONE = "none"
UNKNOWN = "unknown"

#: Keystone's own ids, and those that it makes of users in LDAP.
_ID = re.compile("[0-9a-f]{32}|[0-9a-f]{64}")
_SUFFIX = names.credentials("")
#: Name of the management cluster, and release; the release's owner.
_Owners = dict[tuple[str, inventory.Scope], str]


def of_user(
    user: str,
    rows: Sequence[inventory.Row],
    lines: Iterable[inventory.Line],
    planes: Sequence[inventory.Plane],
) -> dict[str, str]:
    """The clusters of a user, and of those who use the user's credential.

    :param user: name or id
    :returns: UUID: the word for the owner of its credential
    :raises CloudError: Keystone does not say who has that name
    """
    owners, silent = _owners(rows, planes)
    wanted = _identified(user, {row.user for row in rows} | {*owners.values()})
    places: dict[str, str] = {}
    for line in lines:
        places.setdefault(line.uuid, line.plane)
    found = {}
    for row in rows:
        place = places.get(row.uuid, "")
        # 1.4.0 did not write down whose a credential is.
        owner = owners.get((place, row.scope), row.user)
        if wanted in (row.user, owner):
            found[row.uuid] = _word(row, owner, wanted, place in silent)
    return found


def _word(row: inventory.Row, owner: str, wanted: str, is_unread: bool) -> str:
    if not row.scope[1]:
        return NONE
    if is_unread:
        return UNKNOWN
    return THEIRS if owner == wanted else owner


def _identified(user: str, known: Iterable[str]) -> str:
    """The id of a user who may be gone already.

    :raises InvalidInput: nobody has that name, or more than one
    :raises CloudError: Keystone does not say
    """
    if user in known or _ID.fullmatch(user):
        return user
    found = keystone.user_ids(sessions.service_session(), user)
    if len(found) == 1:
        return found[0]
    shown = errors.shown(user)
    if found:
        raise errors.InvalidInput(
            f"--user {shown} is the name of {len(found)} users: give one of "
            f"these ids: {', '.join(found)}"
        )
    raise errors.InvalidInput(
        f"--user {shown}: no user has that name, and no cluster has a user "
        "with that id: give the id that the user had"
    )


def _owners(
    rows: Sequence[inventory.Row], planes: Sequence[inventory.Plane]
) -> tuple[_Owners, set[str]]:
    """Owners of credentials, and management clusters that did not say."""
    namespaces = sorted({row.scope[0] for row in rows})
    read = functools.partial(_read, namespaces)
    owners: _Owners = {}
    silent = {each.name for each in planes if each.silence}
    asked = [each.name for each in planes if not each.silence]
    with futures.ThreadPoolExecutor(len(planes)) as pool:
        for name, found in zip(asked, pool.map(read, asked), strict=True):
            if found is None:
                silent.add(name)
            owners |= {
                (name, key): each for key, each in (found or {}).items()
            }
    return owners, silent


def _read(
    namespaces: Iterable[str], plane: str
) -> dict[inventory.Scope, str] | None:
    """Owners of credentials on a management cluster; None: not known."""
    management = runtime.get(plane).management
    try:
        try:
            return _listed(management, None)
        except answers.ForbiddenError:
            found: dict[inventory.Scope, str] = {}
            for each in namespaces:
                found |= _listed(management, each)
            return found
    except errors.CapiHelmError:
        return None


def _listed(
    management: client.Client, namespace: str | None
) -> dict[inventory.Scope, str]:
    secrets = management.list(
        kinds.SECRET, namespace, location.USER_ID, metadata_only=True
    )
    found = {}
    for each in secrets:
        name = view.name_of(each)
        if name.endswith(_SUFFIX) and (owner := credential_secret.owner(each)):
            scope = each["metadata"]["namespace"], name.removesuffix(_SUFFIX)
            found[scope] = owner
    return found
