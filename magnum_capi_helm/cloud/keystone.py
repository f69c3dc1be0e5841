# SPDX-License-Identifier: Apache-2.0

"""Keystone's credentials, users and projects, by keystoneclient.

No other module imports keystoneclient.
"""

from __future__ import annotations

import logging
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions
from keystoneclient.v3 import application_credentials
from keystoneclient.v3 import projects
from keystoneclient.v3 import users

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import errors

#: Keystone's answer holds the secret, and keystoneauth logs answers at debug.
_SILENT = logging.Logger("silent", logging.CRITICAL)
#: Not only refused connections: time-outs and 5xx may be over next time.
UNREACHABLE = (
    ka_exceptions.DiscoveryFailure,
    ka_exceptions.ConnectionError,
    ka_exceptions.HttpServerError,
)
#: States of a user or project that prevent a login.
DELETED = "deleted"
DISABLED = "disabled"


def manager(session: Any) -> Any:
    """keystoneclient's manager of application credentials."""
    return application_credentials.ApplicationCredentialManager(_api(session))


def unreachable(error: Exception) -> errors.CloudUnreachable:
    """One of these, in words: who answered 503 is not silent.

    :param error: one of :data:`UNREACHABLE`
    """
    status = getattr(error, "http_status", 0)
    said = f"answered {status}" if status else "does not answer"
    return errors.CloudUnreachable(f"Keystone {said}")


def user_ids(session: Any, name: str) -> list[str]:
    """The ids of all users who have a name, each in a domain of its own.

    :raises CloudError: Keystone refused, or did not answer
    """
    try:
        found = users.UserManager(_api(session)).list(name=name)
    except UNREACHABLE as error:
        raise unreachable(error) from error
    except ka_exceptions.ClientException as error:
        raise errors.CloudError(
            "Keystone does not tell Magnum's service user who has a name; "
            f"give the user's id. It is {errors.shown(name)}: {error}"
        ) from error
    return sorted(str(each.id) for each in found)


def state(session: Any, kind: str, id_: str) -> str:
    """Return whether a user or a project is deleted or disabled.

    :param session: of a user who may read it
    :param kind: ``user`` or ``project``
    :returns: :data:`DELETED`, :data:`DISABLED`, or empty
    :raises CloudError: Keystone does not say
    """
    managers = {"user": users.UserManager, "project": projects.ProjectManager}
    try:
        found = managers[kind](_api(session)).get(id_)
    except ka_exceptions.NotFound:
        return DELETED
    except UNREACHABLE as error:
        raise unreachable(error) from error
    except ka_exceptions.ClientException as error:
        raise errors.CloudError(
            f"Keystone does not show {kind} {id_}. {error}"
        ) from error
    return "" if getattr(found, "enabled", True) else DISABLED


def _api(session: Any) -> Any:
    api: Any = adapter.LegacyJsonAdapter(
        session,
        service_type="identity",
        endpoint_override=sessions.identity_url(),
        logger=_SILENT,
    )
    api.include_metadata = False
    return api


def probe(session: Any) -> str:
    """Store a secret, as Magnum does for each cluster, and delete it.

    :param session: of Magnum's service user
    :returns: where that was
    :raises CloudError: Barbican refused, did not answer, or is not there
    """
    with sessions.asking("Barbican, as Magnum's service user"):
        endpoint = sessions.endpoint(session, "key-manager")
        base = endpoint.rstrip("/").removesuffix("/v1")
        secret = {
            "name": "magnum-capi-helm check",
            "payload": "check",
            "payload_content_type": "text/plain",
        }
        made = session.post(f"{base}/v1/secrets", json=secret).json()
        uuid = str(made["secret_ref"]).rpartition("/")[2]
        session.delete(f"{base}/v1/secrets/{uuid}")
    return endpoint
