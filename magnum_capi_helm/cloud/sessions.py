# SPDX-License-Identifier: Apache-2.0

"""Log in to Keystone, and find the endpoints of services.

All requests use keystoneauth sessions of the driver, with openstacksdk on
them, and the regions and interfaces in Magnum's ``[*_client]`` sections. No
other module imports openstacksdk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import itertools
import os
from typing import Any, TypeVar

from keystoneauth1 import access
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1 import loading
from keystoneauth1.identity import access as access_plugin
from keystoneauth1.identity import v3
import openstack.config
import openstack.connection
import openstack.exceptions

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors

#: Seconds for one request, where Magnum's configuration sets none.
_TIMEOUT = 30
_SECTION = "keystone_auth"
#: Service -> section of magnum.conf with its region and interface.
_SECTIONS = {
    "block-storage": "cinder_client",
    "compute": "nova_client",
    "container-infrastructure-management": "magnum_client",
    "image": "glance_client",
    "key-manager": "barbican_client",
    "load-balancer": "octavia_client",
    "network": "neutron_client",
}

T = TypeVar("T")


def user_session(context: Any) -> Any:
    """Return a keystoneauth session with the user's own token."""
    info = context.auth_token_info
    if info:
        # All that the token says came with the request: no round trip.
        auth: Any = access_plugin.AccessInfoPlugin(
            access.create(body=info, auth_token=context.auth_token),
            auth_url=identity_url(),
        )
    else:
        auth = v3.Token(auth_url=identity_url(), token=context.auth_token)
    return _session(auth)


def service_session() -> Any:
    """Return a keystoneauth session of Magnum's service user."""
    return _session(_service_auth())


def log_in(
    login: credential_secret.Login, timeout: float | None = None
) -> Any:
    """Log in; return a keystoneauth session, or None if Keystone refuses.

    :param timeout: seconds for one request; None: as configured
    :raises CloudError: Keystone says neither yes nor no
    """
    session = _session(
        v3.ApplicationCredential(
            auth_url=identity_url(),
            application_credential_id=login.id,
            application_credential_secret=login.secret,
        )
    )
    session.timeout = timeout or session.timeout
    with asking("Keystone"):
        try:
            session.get_token()
        except (ka_exceptions.Unauthorized, ka_exceptions.NotFound):
            return None
    return session


def cluster_session(
    management: client.Client,
    scope: location.Scope,
    timeout: float | None = None,
) -> Any:
    """Return a session with a cluster's own credential, or None.

    A cluster has none if its Secret is gone or damaged, or if Keystone
    refuses the credential: a user who was deleted or disabled takes it along.

    :param timeout: seconds for one request; None: as configured
    :raises CloudError: Keystone says neither yes nor no
    """
    secret = credential_secret.read(management, scope)
    try:
        login = credential_secret.login(secret)
    except errors.ManagementError:
        return None
    return log_in(login, timeout) if login else None


def project_session(management: client.Client, scope: location.Scope) -> Any:
    """Return a session with a cluster's own credential, else Magnum's user.

    Magnum's user sees objects of all projects, or of none: a name in the
    project can be the name of others, too.

    :raises CloudError: Keystone says neither yes nor no
    """
    return cluster_session(management, scope) or service_session()


def request_session(
    context: Any,
    project_id: str,
    management: client.Client,
    scope: location.Scope,
) -> Any:
    """Return the session with which a request about a cluster is served.

    Magnum lets administrators change clusters of other projects. Their names,
    quotas and server groups are those of the cluster's project, so such a
    request has the cluster's own credential.

    :param context: Magnum's, of the user
    :param project_id: of the cluster
    :raises NotSupported: Keystone refuses the cluster's credential
    :raises CloudError: Keystone says neither yes nor no
    """
    if context.project_id == project_id:
        return user_session(context)
    session = cluster_session(management, scope)
    if session is None:
        raise errors.NotSupported(
            "a request from another project needs the cluster's credential, "
            "and Keystone refuses it: a member of the cluster's project has "
            "to rotate it. The project is " + project_id
        )
    return session


def operator_access(cloud: str | None, project_id: str) -> Any:
    """Log the operator in, and return Keystone's answer.

    :param cloud: of clouds.yaml; None: from the environment
    :param project_id: instead of the project that they name
    :raises CloudError: Keystone refused, or did not answer
    """
    with asking(f"Keystone, for the login of {cloud or 'the environment'}"):
        config = openstack.config.OpenStackConfig()
        chosen = config.get_one(cloud, auth={"project_id": project_id})
        session: Any = chosen.get_session()
        return session.auth.get_access(session)


def service_access(project_id: str | None = None) -> Any:
    """Log Magnum's service user in, and return Keystone's answer.

    :param project_id: instead of the project in the configuration
    :returns: keystoneauth's ``AccessInfoV3``: user, scope and roles
    :raises NotConfigured: ``[keystone_auth]`` is not usable
    :raises CloudError: Keystone refused, or did not answer
    """
    scope: dict[str, str | None] = {}
    if project_id:
        others = ("project_name", "domain_id", "domain_name", "system_scope")
        scope = {**dict.fromkeys(others), "project_id": project_id}
    session = _session(_service_auth(**scope))
    with asking("Keystone, as Magnum's service user"):
        return session.auth.get_access(session)


def project(session: Any) -> str:
    """Return the project that a session is scoped to.

    :raises CloudError: Keystone refused, or did not answer
    """
    with asking("Keystone"):
        return str(session.get_project_id())


def _service_auth(**instead: str | None) -> Any:
    """Return the plugin that logs the service user in.

    :param instead: values in place of the configured ones
    :raises NotConfigured: ``[keystone_auth]`` is not usable
    """
    try:
        # Magnum registered the options before it read auth_section.
        loading.register_auth_conf_options(conf.CONF, _SECTION)
        auth = loading.load_auth_from_conf_options(
            conf.CONF, _SECTION, **instead
        )
    except ka_exceptions.ClientException as error:
        raise errors.NotConfigured(f"[{_SECTION}]: {error}") from error
    if not getattr(auth, "auth_url", None):
        raise errors.NotConfigured(
            f"[{_SECTION}]: the auth_type or auth_url of its login is not set"
        )
    return auth


def _session(auth: Any) -> Any:
    session = loading.load_session_from_conf_options(
        conf.CONF, _SECTION, auth=auth
    )
    _check_files(session)
    if session.timeout is None:
        session.timeout = _TIMEOUT
    return session


def _check_files(session: Any) -> None:
    """Refuse files of certificates that are missing or unreadable."""
    own = session.cert if isinstance(session.cert, tuple) else (session.cert,)
    options = ("cafile", "certfile", "keyfile")
    for option, path in zip(options, (session.verify, *own), strict=False):
        with errors.reading(f"[{_SECTION}] {option} {path}"):
            # The CAs may be a directory as well.
            if isinstance(path, str) and not os.path.isdir(path):
                open(path, "rb").close()


def identity_url() -> str:
    """Return the URL of Keystone, version 3, that conductors use."""
    return version_3(str(_service_auth().auth_url))


def version_3(url: str) -> str:
    """Return a URL of Keystone with the path of version 3."""
    url = url.rstrip("/").removesuffix("/v2.0")
    return url if url.endswith("/v3") else f"{url}/v3"


@contextlib.contextmanager
def asking(what: str, name: str = "") -> Iterator[None]:
    """Translate what keystoneauth and openstacksdk raise.

    :param what: the thing that is asked for, without a full stop
    :param name: that a user gave to the thing
    """
    asked = f". It was asked for {name}" if name else ""
    try:
        yield
    except (
        ka_exceptions.ConnectionError,
        ka_exceptions.RetriableConnectionFailure,
        openstack.exceptions.ServiceDiscoveryException,
    ) as error:
        raise errors.CloudUnreachable(
            f"{what}: no answer ({type(error).__name__}){asked}"
        ) from error
    except (
        openstack.exceptions.SDKException,
        ka_exceptions.ClientException,
    ) as error:
        raise errors.CloudError(
            f"{what}: the request failed{asked}. {error}"
        ) from error


def find(read: Callable[[], T], what: str, name: str = "") -> T | None:
    """Return the answer of a service; None: it has no such thing (404).

    :raises CloudError: another answer, or none
    """
    try:
        with asking(what, name):
            return read()
    except errors.CloudError as error:
        if isinstance(error.__cause__, openstack.exceptions.NotFoundException):
            return None
        raise


def busy(error: errors.CloudError) -> bool:
    """Return whether a service is too busy with an object to change it.

    Octavia and Neutron say 409 then, Cinder 400.
    """
    return getattr(error.__cause__, "status_code", 0) in (400, 409)


def is_not_offered(error: errors.CloudError) -> bool:
    """Return whether the catalogue has no such service."""
    return isinstance(error.__cause__, ka_exceptions.CatalogException)


def endpoint(session: Any, service: str) -> str:
    """Return the endpoint that Magnum's own client would use.

    :raises CloudError: the catalogue has none
    """
    options = conf.CONF[_SECTIONS[service]]
    with asking(f"{service} endpoint"):
        url = session.get_endpoint(
            service_type=service,
            interface=options.endpoint_type,
            region_name=options.region_name,
        )
    return str(url)


def proxy(session: Any, service: str) -> Any:
    """Return an SDK proxy at the endpoint that Magnum's client would use."""
    url = endpoint(session, service)
    prefix = service.replace("-", "_")
    override: dict[str, Any] = {f"{prefix}_endpoint_override": url}
    connection = openstack.connection.Connection(session=session, **override)
    with asking(service, url):
        try:
            return getattr(connection, prefix)
        except AttributeError as error:
            # openstacksdk before 4.11, when the service does not answer.
            raise errors.CloudUnreachable(
                f"{service}: no answer. It was asked for at {url}"
            ) from error


def region(session: Any) -> str | None:
    """Return the region of clusters: Magnum's for Cinder, else the token's.

    :raises CloudError: Keystone gave no catalogue
    """
    configured = conf.CONF.cinder_client.region_name
    if configured:
        return str(configured)
    with asking("catalogue"):
        catalog = session.auth.get_access(session).service_catalog
    endpoints = itertools.chain(*catalog.get_endpoints_data().values())
    regions = filter(None, (each.region_name for each in endpoints))
    return min(map(str, regions), default=None)
