# SPDX-License-Identifier: Apache-2.0

"""Who acts in a cluster's project when no user is there to ask."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names


def session(
    management: client.Client,
    scope: snapshot.Scope,
    timeout: float | None = None,
) -> Any:
    """A session with the cluster's own credential; None: it has none left.

    A user who was deleted or disabled takes the credential along. A damaged
    Secret has none: its removal says so.

    :param timeout: seconds for one request; None: as configured
    :raises CloudError: Keystone says neither yes nor no
    """
    secret = management.get(
        kinds.SECRET, scope[0], names.credentials(scope[1])
    )
    try:
        login = credential_secret.login(secret)
    except errors.ManagementError:
        return None
    if login is None:
        return None
    found = sessions.credential_session(login.id, login.secret, timeout)
    return found if sessions.accepted(found) else None
