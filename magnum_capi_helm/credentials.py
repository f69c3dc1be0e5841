# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The application credential by which a cluster acts in its project.

Made with the user's token, so it can never do more than the user, and never
with the role admin. Its name and owner are written to the identity Secret
*before* Keystone is asked, so a conductor that dies in between leaks none:
whoever deletes the cluster finds the name.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import json
import logging
from typing import Any
import uuid

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions
from keystoneclient.v3 import application_credentials
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import identity
from magnum_capi_helm import names
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds

#: JSON list of {"name", "user"}: credentials not known to be deleted.
ANNOTATION = "magnum.openstack.org/application-credentials"
_USER_LABEL = "magnum.openstack.org/user-id"
_ADMIN = "admin"
#: Keystone's answer holds the secret, and keystoneauth logs answers at debug.
_SILENT = logging.Logger("silent", logging.CRITICAL)
#: Not only refused connections: time-outs and 5xx may be over next time.
_UNREACHABLE = (
    ka_exceptions.DiscoveryFailure,
    ka_exceptions.ConnectionError,
    ka_exceptions.HttpServerError,
)

_RESTRICTED = (
    "Keystone makes no application credential for a user who is logged in "
    "with a restricted one: log in with a password, or with an application "
    "credential created with --unrestricted, and create the cluster again"
)


@dataclasses.dataclass(frozen=True)
class Owner:
    """The user a credential is made for, as the token says."""

    user_id: str
    roles: tuple[str, ...]


def owner(session: Any) -> Owner:
    """Who asks, and which of the roles the cluster may get.

    :raises InvalidInput: Keystone would refuse, or no role is left
    """
    token = session.auth.get_access(session)
    body = token._data["token"]
    if (body.get("application_credential") or {}).get("restricted"):
        raise exceptions.InvalidInput(_RESTRICTED)
    configured = conf.CONF.capi_helm.app_cred_roles
    roles = allowed_roles(
        [str(role["name"]) for role in body.get("roles") or []], configured
    )
    if not roles:
        wanted = ", ".join(configured) or "any role but admin"
        raise exceptions.InvalidInput(
            "the user has no role that a cluster may act with "
            f"(allowed: {wanted}): assign one in project {token.project_id}"
        )
    return Owner(user_id=str(token.user_id), roles=roles)


def allowed_roles(
    has: Sequence[str], configured: Sequence[str]
) -> tuple[str, ...]:
    """The roles to pass on: configured ones that the user has; no admin."""
    return tuple(
        role
        for role in has
        if role != _ADMIN and (not configured or role in configured)
    )


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
    """Make the cluster's credential and the Secret that holds it.

    :param cluster: Magnum's row
    :param session: of the user who creates the cluster
    :param files: what :func:`identity.files` collected
    :raises InvalidInput: Keystone refused
    """
    user = owner(session)
    name = f"magnum-{cluster.uuid}-{uuid.uuid4().hex[:8]}"
    secret: client.Object = {
        "metadata": {
            "name": names.credentials(release),
            "namespace": namespace,
            "labels": labels,
            "annotations": {
                ANNOTATION: json.dumps([{"name": name, "user": user.user_id}])
            },
        },
        "type": "Opaque",
    }
    management.apply(kinds.SECRET, secret)
    created = _create(session, name, user, cluster)
    data = {
        "clouds.yaml": identity.clouds_yaml(files, created.id, created.secret),
        "cacert": files.ca_bundle,
    }
    management.apply(
        kinds.SECRET,
        {**secret, "data": {key: _base64(text) for key, text in data.items()}},
    )


def _create(session: Any, name: str, user: Owner, cluster: Any) -> Any:
    try:
        return _keystone(session).create(
            name,
            user=user.user_id,
            description=f"Magnum cluster ({cluster.name or cluster.uuid})",
            roles=[{"name": role} for role in user.roles],
        )
    except ka_exceptions.Forbidden as error:
        raise exceptions.InvalidInput(_RESTRICTED) from error
    except _UNREACHABLE as error:
        raise exceptions.CloudUnreachable(
            "Keystone does not answer"
        ) from error
    except ka_exceptions.ClientException as error:
        raise exceptions.CloudError(
            f"Keystone made no application credential: {error}"
        ) from error


def delete(management: client.Client, namespace: str, release: str) -> None:
    """Delete all credentials of a cluster; 404 counts as deleted.

    :raises CloudError: Keystone refused; the credential is still there
    """
    secret = management.get(
        kinds.SECRET, namespace, names.credentials(release)
    )
    if secret is None:
        return
    keystone = _keystone(sessions.service_session())
    with _told():
        for user, name, known_id in _known(secret):
            credential = known_id or _find(keystone, user, name)
            if credential:
                _delete(keystone, user, credential)


def delete_named(cluster: Any) -> None:
    """Delete the owner's credentials that are named after a cluster.

    For where the Secret that says which they are was deleted by hand.

    :raises CloudError: Keystone refused; they are still there
    """
    prefix = f"magnum-{cluster.uuid}-"
    keystone = _keystone(sessions.service_session())
    with _told():
        for each in _list(keystone, cluster.user_id):
            if each.name.startswith(prefix):
                _delete(keystone, cluster.user_id, each.id)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Keystone's refusals, in words of what they mean here."""
    try:
        yield
    except _UNREACHABLE as error:
        raise exceptions.CloudUnreachable(
            "Keystone does not answer"
        ) from error
    except (ka_exceptions.Forbidden, ka_exceptions.Unauthorized) as error:
        raise exceptions.CloudError(
            "Keystone does not let Magnum's service user delete the "
            f"cluster's application credential ({error}); it needs the role "
            "admin"
        ) from error
    except ka_exceptions.ClientException as error:
        raise exceptions.CloudError(
            f"the cluster's application credential is not deleted: {error}"
        ) from error


def _delete(manager: Any, user: str, credential: str) -> None:
    try:
        manager.delete(credential, user=user)
    except ka_exceptions.NotFound:
        return


def _find(manager: Any, user: str, name: str) -> str:
    """The id of a credential by name; empty when there is none."""
    for each in _list(manager, user):
        if each.name == name:
            return str(each.id)
    return ""


def _list(manager: Any, user: str) -> list[Any]:
    try:
        return list(manager.list(user=user))
    except ka_exceptions.NotFound:
        return []  # the user is gone, and the credentials with it


def _known(secret: client.Object) -> list[tuple[str, str, str]]:
    """(user, name, id) of each credential of a Secret.

    1.4.0 wrote no annotation: there the id is in clouds.yaml and the owner
    in a label.

    :raises ManagementError: the Secret is damaged
    """
    meta = secret["metadata"]
    written = (meta.get("annotations") or {}).get(ANNOTATION)
    user = (meta.get("labels") or {}).get(_USER_LABEL, "")
    data = (secret.get("data") or {}).get("clouds.yaml")
    try:
        if written:
            return [
                (str(each["user"]), str(each["name"]), "")
                for each in json.loads(written)
            ]
        if not user or not data:
            return []
        clouds = yaml.safe_load(base64.b64decode(data))
        auth = clouds["clouds"]["openstack"]["auth"]
        return [(user, "", str(auth["application_credential_id"]))]
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        # Not chained text: a YAML error quotes the file, and its secret.
        raise exceptions.ManagementError(
            f"the Secret {meta['name']} does not say which application "
            f"credential to delete ({type(error).__name__}): delete it in "
            "Keystone, then delete the Secret"
        ) from None


def _keystone(session: Any) -> Any:
    """keystoneclient's manager of application credentials."""
    api: Any = adapter.LegacyJsonAdapter(
        session,
        service_type="identity",
        endpoint_override=sessions.identity_url(),
        logger=_SILENT,
    )
    api.include_metadata = False
    return application_credentials.ApplicationCredentialManager(api)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
