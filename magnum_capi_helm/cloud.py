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

"""OpenStack, asked with the user's token or as Magnum's service user.

One code path for every Magnum: a keystoneauth session of our own and
openstacksdk on it, with the regions and interfaces that the operator chose
in Magnum's ``[*_client]`` sections.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import functools
from typing import Any

from keystoneauth1 import access
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1 import loading
from keystoneauth1.identity import access as access_plugin
from keystoneauth1.identity import v3
import openstack.connection
import openstack.exceptions

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import spec

#: Seconds for one request, where Magnum's configuration sets none.
_TIMEOUT = 30
_SECTION = "keystone_auth"


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


def authenticate(session: Any) -> str:
    """Log in, and return the id of the user.

    :raises CloudError: Keystone refused, or did not answer
    """
    with _asking("Keystone, as Magnum's service user"):
        return str(session.get_user_id())


def _service_auth() -> Any:
    return loading.load_auth_from_conf_options(conf.CONF, _SECTION)


def _session(auth: Any) -> Any:
    session = loading.load_session_from_conf_options(
        conf.CONF, _SECTION, auth=auth
    )
    if session.timeout is None:
        session.timeout = _TIMEOUT
    return session


def identity_url() -> str:
    """Keystone as conductors reach it, version 3."""
    url = getattr(_service_auth(), "auth_url", None) or (
        conf.CONF.keystone_authtoken.www_authenticate_uri
    )
    if not url:
        raise exceptions.NotConfigured(
            "[keystone_auth] auth_url is not set in magnum.conf"
        )
    return _version_3(str(url))


def _version_3(url: str) -> str:
    url = url.rstrip("/").removesuffix("/v2.0")
    return url if url.endswith("/v3") else f"{url}/v3"


@contextlib.contextmanager
def _asking(what: str) -> Iterator[None]:
    """Translate what keystoneauth and openstacksdk raise."""
    try:
        yield
    except (
        ka_exceptions.ConnectionError,
        ka_exceptions.RetriableConnectionFailure,
        openstack.exceptions.ServiceDiscoveryException,
    ) as error:
        raise exceptions.CloudUnreachable(
            f"{what}: no answer ({type(error).__name__})"
        ) from error
    except (
        openstack.exceptions.SDKException,
        ka_exceptions.ClientException,
    ) as error:
        raise exceptions.CloudError(f"{what}: {error}") from error


class Cloud:
    """What a cluster needs to know of its cloud; each fact asked once.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._images: dict[str, spec.Image] = {}

    def image(self, ref: str) -> spec.Image:
        """The image, by UUID or name.

        :raises InvalidInput: not there, or without the properties needed
        """
        if ref not in self._images:
            self._images[ref] = self._read_image(ref)
        return self._images[ref]

    def _read_image(self, ref: str) -> spec.Image:
        with _asking(f"image {ref}"):
            found = self._image_api.find_image(ref, ignore_missing=True)
        if found is None:
            raise exceptions.InvalidInput(
                f"image {ref} not found: choose one of `openstack image list`"
            )
        properties = {**(found.properties or {}), "os_distro": found.os_distro}
        for name in ("kube_version", "os_distro"):
            if not properties.get(name):
                example = {"kube_version": "v1.34.2", "os_distro": "ubuntu"}
                raise exceptions.InvalidInput(
                    f"image {found.name} has no property {name}; set it with "
                    f"`openstack image set --property {name}={example[name]} "
                    f"{found.id}`"
                )
        return spec.Image(
            id=str(found.id),
            name=str(found.name),
            kube_version=str(properties["kube_version"]).removeprefix("v"),
            os_distro=str(properties["os_distro"]),
        )

    def flavor(self, ref: str) -> str:
        """The **name** of a flavor given by UUID or name.

        :raises InvalidInput: not there, or too small for a node
        """
        for found in self._flavors:
            if ref in (found.id, found.name):
                break
        else:
            raise exceptions.InvalidInput(
                f"flavor {ref} not found: choose one of "
                "`openstack flavor list`"
            )
        minimum = conf.CONF.capi_helm
        if (
            found.ram < minimum.minimum_flavor_ram
            or found.vcpus < minimum.minimum_flavor_vcpus
        ):
            raise exceptions.InvalidInput(
                f"flavor {found.name} ({found.vcpus} VCPUs, {found.ram} MiB) "
                f"is too small: a node needs {minimum.minimum_flavor_vcpus} "
                f"VCPUs and {minimum.minimum_flavor_ram} MiB"
            )
        return str(found.name)

    def network(self, ref: str) -> str:
        """The UUID of a network given by UUID or name."""
        return self._find("network", ref, self._network_api.find_network)

    def subnet(self, ref: str) -> str:
        """The UUID of a subnet given by UUID or name."""
        return self._find("subnet", ref, self._network_api.find_subnet)

    def volume_types(self) -> tuple[str, ...]:
        """Names of Cinder's volume types, its default one first.

        ``__DEFAULT__`` is Cinder's placeholder and no type to choose.
        """
        with _asking("volume types"):
            found = sorted(str(each.name) for each in self._volume_api.types())
            default = str(self._volume_api.get_type("default").name)
        names = [name for name in found if name != "__DEFAULT__"]
        return tuple(sorted(names, key=lambda name: name != default))

    def endpoint(self, service: str, interface: str) -> str:
        """URL of a service in the catalogue."""
        with _asking(f"{service} endpoint"):
            found = self._session.get_endpoint(
                service_type=service,
                interface=interface,
                region_name=region(self._session),
            )
        if not found:
            raise exceptions.CloudError(
                f"the service catalogue has no {interface} endpoint of "
                f"{service}"
            )
        return str(found)

    def cluster_identity_url(self) -> str:
        """Keystone as a cluster's machines reach it, version 3."""
        interface = conf.CONF.capi_helm.app_cred_interface_type
        return _version_3(self.endpoint("identity", interface))

    def _find(self, kind: str, ref: str, find: Any) -> str:
        with _asking(f"{kind} {ref}"):
            found = find(ref, ignore_missing=True)
        if found is None:
            raise exceptions.InvalidInput(
                f"{kind} {ref} not found: choose one of "
                f"`openstack {kind} list`"
            )
        return str(found.id)

    @functools.cached_property
    def _flavors(self) -> list[Any]:
        with _asking("flavors"):
            return list(self._compute_api.flavors(get_extra_specs=False))

    def _proxy(self, service: str, section: str, prefix: str) -> Any:
        """An SDK proxy at the endpoint that Magnum's own client would use."""
        options = conf.CONF[f"{section}_client"]
        with _asking(f"{service} endpoint"):
            endpoint = self._session.get_endpoint(
                service_type=service,
                interface=options.endpoint_type,
                region_name=options.region_name,
            )
        connection = openstack.connection.Connection(
            session=self._session, **{f"{prefix}_endpoint_override": endpoint}
        )
        with _asking(f"{service} at {endpoint}"):
            try:
                return getattr(connection, prefix)
            except AttributeError as error:
                # openstacksdk before 4.11, when the service does not answer.
                raise exceptions.CloudUnreachable(
                    f"{service} at {endpoint}: no answer"
                ) from error

    @functools.cached_property
    def _image_api(self) -> Any:
        return self._proxy("image", "glance", "image")

    @functools.cached_property
    def _compute_api(self) -> Any:
        return self._proxy("compute", "nova", "compute")

    @functools.cached_property
    def _network_api(self) -> Any:
        return self._proxy("network", "neutron", "network")

    @functools.cached_property
    def _volume_api(self) -> Any:
        return self._proxy("block-storage", "cinder", "block_storage")


def region(session: Any) -> str | None:
    """The region of clusters: Magnum's Cinder region, else the token's."""
    configured = conf.CONF.cinder_client.region_name
    if configured:
        return str(configured)
    catalog = session.auth.get_access(session).service_catalog
    regions = {
        endpoint.get("region_id") or endpoint.get("region")
        for service in catalog.catalog
        for endpoint in service.get("endpoints") or []
    }
    named = sorted(each for each in regions if each)
    return str(named[0]) if named else None
