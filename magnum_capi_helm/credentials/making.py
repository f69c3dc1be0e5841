# SPDX-License-Identifier: Apache-2.0

"""Keystone makes an application credential, or takes it back.

A conductor may stand still while it asks, until another one has deleted the
cluster with all that names the credential. When it wakes up, nobody but itself
knows what Keystone has made.

And Keystone may restart, or have too much to do for a moment. No poll can ask
it again, since only the user has a token: so it is asked up to three times. A
secret is told once, and a name is good for one credential: what a try before
may have made is deleted first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions
from oslo_log import log

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import lease_guard

LOG = log.getLogger(__name__)

_ADMIN = "admin"
#: Seconds between tries.
PAUSES = (1.0, 2.0)
#: Beside 5xx: too much to do, and a try before that got through after all.
_PASSING = frozenset({409, 429})


def is_admin(role: str) -> bool:
    """Whether services take it for ``admin``: policies ignore its case."""
    return role.lower() == _ADMIN


def make(
    session: Any, entry: credential_secret.Entry, **wanted: Any
) -> credential_secret.Login:
    """Let Keystone make what was written down; under the Lease.

    :param wanted: description, roles and access rules, as its client has them
    :raises InvalidInput: Keystone makes none for such a token
    :raises CloudError: Keystone refused, or did not answer
    :raises LeaseLost: somebody else works on the cluster
    """
    with _translated():
        manager = keystone.manager(session)

        def ask() -> Any:
            lease_guard.check()
            return manager.create(entry.name, user=entry.user, **wanted)

        def again() -> Any:
            _forget(manager, entry)
            return ask()

        made = _insisted(ask, again)
    if any(is_admin(role["name"]) for role in getattr(made, "roles", ())):
        raise errors.CloudError(
            "one of the user's roles implies the role admin, which no "
            "cluster may have: set [capi_helm] app_cred_roles"
        )
    return credential_secret.Login(str(made.id), str(made.secret))


def _insisted(ask: Callable[[], Any], again: Callable[[], Any]) -> Any:
    """The answer to ``ask``, or that of the second or third try."""
    attempt = ask
    for pause in PAUSES:
        try:
            return attempt()
        except ka_exceptions.ClientException as error:
            if not _passes(error):
                raise
        time.sleep(pause)
        attempt = again
    return attempt()


def _passes(error: Exception) -> bool:
    """Whether it may be over in a moment."""
    if isinstance(error, ka_exceptions.ConnectTimeout):
        # Of reads, too: who waited that long has waited enough.
        return False
    status = getattr(error, "http_status", 0)
    return isinstance(error, keystone.UNREACHABLE) or status in _PASSING


@contextlib.contextmanager
def taken_back(session: Any, entry: credential_secret.Entry) -> Iterator[None]:
    """Delete what the block made, where it turns out to be too late.

    Its secret is known to nobody else, and a write that finds the Lease lost
    is not sent: so nothing uses it.

    :param session: of the user that it is made for
    """
    try:
        yield
    except errors.LeaseLost:
        _take_back(session, entry)
        raise


def _take_back(session: Any, entry: credential_secret.Entry) -> None:
    try:
        _forget(keystone.manager(session), entry)
    except (ka_exceptions.ClientException, errors.CapiHelmError) as error:
        LOG.warning(
            "application credential %s of user %s may be left in Keystone, "
            "delete it there: %s",
            entry.name,
            entry.user,
            error,
        )


def _forget(manager: Any, entry: credential_secret.Entry) -> None:
    """Delete it by its name, if it is there."""
    for each in manager.list(user=entry.user):
        if each.name == entry.name:
            with contextlib.suppress(ka_exceptions.NotFound):
                manager.delete(each.id, user=entry.user)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """What Keystone's client raises, as the driver's own."""
    try:
        yield
    except ka_exceptions.Forbidden as error:
        # A token of a trust, say, or a user who has as many as he may.
        raise errors.InvalidInput(
            f"Keystone makes no application credential for you. {error}"
        ) from error
    except keystone.UNREACHABLE as error:
        # It may be made all the same: who is too late takes it back.
        lease_guard.check()
        raise keystone.unreachable(error) from error
    except ka_exceptions.ClientException as error:
        raise errors.CloudError(
            f"Keystone made no application credential. {error}"
        ) from error
