# SPDX-License-Identifier: Apache-2.0

"""Sessions and endpoints.

One code path for every Magnum: a keystoneauth session of our own and
openstacksdk on it, with the regions and interfaces that the operator chose
in Magnum's ``[*_client]`` sections. The only module that imports
openstacksdk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
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
from requests import adapters

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import timing

#: Seconds for one request, where Magnum's configuration sets none.
_TIMEOUT = 30
_SECTION = "keystone_auth"
#: Service -> section of magnum.conf with its region and interface.
_SECTIONS = {
    "block-storage": "cinder_client",
    "compute": "nova_client",
    "image": "glance_client",
    "key-manager": "barbican_client",
    "load-balancer": "octavia_client",
    "network": "neutron_client",
}

T = TypeVar("T")


def user_session(context: Any) -> Any:
    """A keystoneauth session with the user's own token."""
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
    """A keystoneauth session of Magnum's service user."""
    return _session(_service_auth())


def operator_access(cloud: str | None, project_id: str) -> Any:
    """What Keystone says of the token of whoever is at this shell.

    :param cloud: of clouds.yaml; None: as the environment says
    :param project_id: to be logged in to, whatever they say
    :raises CloudError: Keystone refused, or did not answer
    """
    who = f"the login of {cloud or 'the environment'}"
    with asking(f"Keystone, for {who}"):
        config = openstack.config.OpenStackConfig()
        chosen = config.get_one(cloud, auth={"project_id": project_id})
        session: Any = chosen.get_session()
        return session.auth.get_access(session)


def service_access(project_id: str | None = None) -> Any:
    """Log Magnum's service user in, and return what Keystone says of it.

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


def credential_session(
    credential_id: str, secret: str, timeout: float | None = None
) -> Any:
    """A keystoneauth session with a cluster's own credential.

    :param timeout: seconds for one request; None: as configured
    """
    session = _session(
        v3.ApplicationCredential(
            auth_url=identity_url(),
            application_credential_id=credential_id,
            application_credential_secret=secret,
        )
    )
    session.timeout = timeout or session.timeout
    return session


def authenticate(session: Any) -> str:
    """Log in, and return the id of the user.

    :raises CloudError: Keystone refused, or did not answer
    """
    with asking("Keystone, as Magnum's service user"):
        return str(session.get_user_id())


def project(session: Any) -> str:
    """The project that a session is scoped to.

    :raises CloudError: Keystone refused, or did not answer
    """
    with asking("Keystone"):
        return str(session.get_project_id())


def accepted(session: Any) -> bool:
    """Whether Keystone lets the session in.

    :raises CloudError: it says neither yes nor no
    """
    try:
        with asking("Keystone"):
            session.get_token()
    except errors.CloudError as error:
        refusals = (ka_exceptions.Unauthorized, ka_exceptions.NotFound)
        if isinstance(error.__cause__, refusals):
            return False
        raise
    return True


def _service_auth(**instead: str | None) -> Any:
    """Return how the service user logs in.

    :param instead: values in place of the configured ones
    """
    try:
        return loading.load_auth_from_conf_options(
            conf.CONF, _SECTION, **instead
        )
    except ka_exceptions.ClientException as error:
        raise errors.NotConfigured(f"[{_SECTION}]: {error}") from error


def _session(auth: Any) -> Any:
    session = loading.load_session_from_conf_options(
        conf.CONF, _SECTION, auth=auth
    )
    check(session, _SECTION)
    if session.timeout is None:
        session.timeout = _TIMEOUT
    transport = session.session
    for prefix, adapter in list(transport.adapters.items()):
        transport.mount(prefix, _Measured(adapter))
    return session


class _Measured(adapters.BaseAdapter):
    """keystoneauth's adapter, whose answers are waited for."""

    def __init__(self, inner: adapters.BaseAdapter) -> None:
        super().__init__()
        self._inner = inner

    def send(self, *args: Any, **kwargs: Any) -> Any:
        """One request."""
        with timing.waiting(timing.OPENSTACK):
            return self._inner.send(*args, **kwargs)

    def close(self) -> None:
        """Close all connections."""
        self._inner.close()


def identity_url() -> str:
    """Keystone as conductors reach it, version 3."""
    url = getattr(_service_auth(), "auth_url", None) or (
        conf.CONF.keystone_authtoken.www_authenticate_uri
    )
    if not url:
        raise errors.NotConfigured(
            "[keystone_auth] auth_url is not set in magnum.conf"
        )
    return version_3(str(url))


def version_3(url: str) -> str:
    url = url.rstrip("/").removesuffix("/v2.0")
    return url if url.endswith("/v3") else f"{url}/v3"


@contextlib.contextmanager
def asking(what: str, name: str = "") -> Iterator[None]:
    """Translate what keystoneauth and openstacksdk raise.

    :param what: what is asked for, without a full stop
    :param name: of what is asked for, if it is a user's
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
    """Whether a service can't do it now, with what it has to do before.

    Octavia and Neutron say 409 then, Cinder 400.
    """
    return isinstance(
        error.__cause__,
        (
            openstack.exceptions.ConflictException,
            openstack.exceptions.BadRequestException,
        ),
    )


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
    """The region of clusters: Magnum's Cinder region, else the token's.

    :raises CloudError: Keystone gave no catalogue
    """
    configured = conf.CONF.cinder_client.region_name
    if configured:
        return str(configured)
    with asking("catalogue"):
        catalog = session.auth.get_access(session).service_catalog
    regions = {
        endpoint.get("region_id") or endpoint.get("region")
        for service in catalog.catalog
        for endpoint in service.get("endpoints") or []
    }
    named = sorted(each for each in regions if each)
    return str(named[0]) if named else None


def check(session: Any, section: str) -> None:
    """Look whether the files are there.

    :param session: of keystoneauth
    :param section: of the configuration that it is made from
    :raises NotConfigured: one is not there, or can't be read
    """
    for option, path in _named(session):
        try:
            # One of CAs may be a directory as well.
            if not os.path.isdir(path):
                open(path, "rb").close()
        except OSError as error:
            raise errors.NotConfigured(
                f"[{section}] {option} {path}: {error.strerror}"
            ) from error


def _named(session: Any) -> Iterator[tuple[str, str]]:
    """Option and path of each."""
    if isinstance(session.verify, str):
        yield "cafile", session.verify
    if isinstance(session.cert, str):
        yield "certfile", session.cert
    elif session.cert:
        yield from zip(("certfile", "keyfile"), session.cert, strict=True)


def session(
    management: client.Client,
    scope: location.Scope,
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
    found = credential_session(login.id, login.secret, timeout)
    return found if accepted(found) else None
