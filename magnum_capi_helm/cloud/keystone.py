# SPDX-License-Identifier: Apache-2.0

"""Ask Keystone for application credentials, users and projects."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
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
_MANAGERS = {"user": users.UserManager, "project": projects.ProjectManager}
#: States of a user or project that prevent a login.
DELETED = "deleted"
DISABLED = "disabled"


class ApplicationCredentials:
    """Keystone's API of application credentials.

    It raises keystoneauth's exceptions; see :func:`asking`.
    """

    def __init__(self, session: Any) -> None:
        self._manager = application_credentials.ApplicationCredentialManager(
            _api(session)
        )

    def create(self, user: str, name: str, **fields: Any) -> dict[str, Any]:
        """Create a restricted one; return it with its secret."""
        created = self._manager.create(name, user=user, **fields)
        return dict(created.to_dict())

    def list(self, user: str) -> list[dict[str, Any]]:
        """Return those of a user; none if the user is gone."""
        try:
            listed = self._manager.list(user=user)
        except ka_exceptions.NotFound:
            return []
        return [dict(each.to_dict()) for each in listed]

    def delete(self, user: str, id_: str) -> None:
        """Delete one, unless it is gone."""
        with contextlib.suppress(ka_exceptions.NotFound):
            self._manager.delete(id_, user=user)


@contextlib.contextmanager
def asking(failure: str) -> Iterator[None]:
    """Translate keystoneauth's exceptions.

    :param failure: the problem, if Keystone refuses
    :raises CloudUnreachable: Keystone does not answer, or with 5xx
    :raises CloudError: it refuses
    """
    try:
        yield
    except UNREACHABLE as error:
        status = getattr(error, "http_status", 0)
        answer = f"answered {status}" if status else "does not answer"
        raise errors.CloudUnreachable(f"Keystone {answer}") from error
    except ka_exceptions.ClientException as error:
        raise errors.CloudError(f"{failure}. {error}") from error


def state(session: Any, kind: str, id_: str) -> str:
    """Return whether a user or a project is deleted or disabled.

    :param session: of a user who may read it
    :param kind: ``user`` or ``project``
    :returns: :data:`DELETED`, :data:`DISABLED`, or empty
    :raises CloudError: Keystone does not say
    """
    with asking(f"Keystone does not show {kind} {id_}"):
        try:
            shown = _MANAGERS[kind](_api(session)).get(id_)
        except ka_exceptions.NotFound:
            return DELETED
    return "" if getattr(shown, "enabled", True) else DISABLED


def _api(session: Any) -> Any:
    api: Any = adapter.LegacyJsonAdapter(
        session,
        endpoint_override=sessions.identity_url(),
        logger=_SILENT,
    )
    # Without it, a manager returns the answer's headers beside the resources.
    api.include_metadata = False
    return api
