# SPDX-License-Identifier: Apache-2.0

"""Fill a cloud with all that a first cluster needs.

Everything is looked up before it is made, so that an interrupted run may be
done again.
"""

from collections.abc import Callable
import pathlib
import time
from typing import Any

import openstack
from openstack import exceptions
import openstack.connection
import yaml

from lab import errors
from lab import layout
from lab.cloud import config
from lab.cloud import services
from lab.nodes import mode
from lab.nodes import programs

USERS = ("demo", "other")
# Name: vcpus, MB of memory. labinfra reads "stuck" in the name.
FLAVORS = {
    "m1.tiny": (1, 512),
    "m1.control": (2, 4096),
    "m1.control.nohost": (2, 4096),
    "m1.worker": (2, 4096),
    "m1.worker.nohost": (2, 4096),
    "m1.worker.stuck": (2, 4096),
}
IMAGES = {
    "ubuntu-v1.34.2": {"os_distro": "ubuntu", "kube_version": "v1.34.2"},
    "ubuntu-v1.35.1": {"os_distro": "ubuntu", "kube_version": "v1.35.1"},
    "ubuntu-no-version": {"os_distro": "ubuntu"},
}
# Those of machines that run.
_SYSTEMS = {
    f"ubuntu-{version}": {"os_distro": "ubuntu", "kube_version": version}
    for version in programs.kubernetes()
}
VOLUME_TYPE = "ssd"
# Addresses of the external network. On loopback, labinfra can listen on a
# cluster's floating IP.
_PUBLIC = "127.88.0.0/16"
# Seconds until Nova and Placement know all computes.
_PATIENCE = 120.0
# No host has it, so the scheduler finds none for such a flavor.
_NO_HOST = {"trait:HW_GPU_API_VULKAN": "required"}


def connect(user: str) -> openstack.connection.Connection:
    """A client for the user, in the project of the same name."""
    return openstack.connect(
        auth_url=config.KEYSTONE,
        username=user,
        password=config.PASSWORD,
        project_name=user,
        user_domain_id="default",
        project_domain_id="default",
        region_name=config.REGION,
        # The public one changes with the kind of servers.
        interface="internal",
    )


def _ensure(
    find: Callable[..., Any],
    make: Callable[..., Any],
    name: str,
    **fields: Any,
) -> Any:
    return find(name) or make(name=name, **fields)


def fill_identity() -> None:
    """Services' users and endpoints, then people and how they log in."""
    # Typed as one of two versions, of which this cloud has the newer.
    identity: Any = connect("admin").identity
    project = _ensure(
        identity.find_project,
        identity.create_project,
        "service",
        domain_id="default",
    )
    _endpoints(identity, "keystone", "identity", config.KEYSTONE)
    for name, (kind, url) in services.catalogue().items():
        user = _user(identity, name, project)
        # Neutron lets only services change the binding profile of a port.
        _roles(identity, user, project, ("admin", "service"))
        _endpoints(identity, name, kind, url)
    for name in USERS:
        own = _ensure(
            identity.find_project,
            identity.create_project,
            name,
            domain_id="default",
        )
        user = _user(identity, name, own)
        _roles(identity, user, own, ("member", "reader"))
    write_credentials()


def _user(identity: Any, name: str, project: Any) -> Any:
    return _ensure(
        identity.find_user,
        identity.create_user,
        name,
        password=config.PASSWORD,
        domain_id="default",
        default_project_id=project.id,
    )


def _roles(
    identity: Any, user: Any, project: Any, names: tuple[str, ...]
) -> None:
    for name in names:
        role = identity.find_role(name)
        identity.assign_project_role_to_user(project, user, role)


def _endpoints(identity: Any, name: str, kind: str, url: str) -> None:
    entry = _ensure(
        identity.find_service, identity.create_service, name, type=kind
    )
    known = {
        each.interface: each
        for each in identity.endpoints(service_id=entry.id)
    }
    urls = {"public": mode.public(url), "internal": url}
    for interface, wanted in urls.items():
        endpoint = known.get(interface)
        if endpoint is None:
            identity.create_endpoint(
                service_id=entry.id,
                interface=interface,
                region_id=config.REGION,
                url=wanted,
            )
        elif endpoint.url != wanted:
            identity.update_endpoint(endpoint, url=wanted)


def fill_network() -> None:
    """The external network that clusters get their addresses from."""
    network = connect("admin").network
    public = _ensure(
        network.find_network,
        network.create_network,
        "public",
        is_router_external=True,
        is_shared=True,
        provider_network_type="flat",
        provider_physical_network="public",
    )
    cidr = mode.NETWORK if mode.chosen() else _PUBLIC
    subnet = network.find_subnet("public")
    if subnet is not None and subnet.cidr != cidr:
        _delete_unused(network, subnet)
        subnet = None
    if subnet is None:
        network.create_subnet(
            name="public",
            network_id=public.id,
            cidr=cidr,
            ip_version=4,
            is_dhcp_enabled=False,
        )


def _delete_unused(network: Any, subnet: Any) -> None:
    """Delete the subnet of the other kind of servers.

    :raises LabError: clusters use it
    """
    try:
        network.delete_subnet(subnet)
    except exceptions.ConflictException as error:
        raise errors.LabError(
            f"routers or floating IPs use the network {subnet.cidr}",
            hint="Delete all clusters before you change between servers that"
            " are simulated and machines that run, or wipe the lab.",
        ) from error


def fill_images() -> None:
    """Images without bytes to speak of: the lab knows them by name."""
    image = connect("admin").image
    systems = _SYSTEMS if mode.chosen() else {}
    for name, properties in {**IMAGES, **systems}.items():
        _ensure(
            image.find_image,
            image.create_image,
            name,
            disk_format="raw",
            container_format="bare",
            visibility="public",
            data=b"the lab knows it by name",
            **properties,
        )


def fill_compute() -> None:
    """Flavors, key pairs, compute hosts in availability zones."""
    admin = connect("admin")
    _until_computes_are_known(admin)
    compute: Any = admin.compute
    for zone, host in zip(config.ZONES[1:], config.HOSTS[1:], strict=True):
        _place(compute, zone, host)
    for name, (vcpus, ram) in FLAVORS.items():
        flavor = _ensure(
            compute.find_flavor,
            compute.create_flavor,
            name,
            vcpus=vcpus,
            ram=ram,
            disk=20,
        )
        if name.endswith(".nohost"):
            compute.create_flavor_extra_specs(flavor, _NO_HOST)
    for user in USERS:
        own = connect(user).compute
        _ensure(own.find_keypair, own.create_keypair, user)


def _until_computes_are_known(
    admin: openstack.connection.Connection,
) -> None:
    """Wait until Placement has all computes.

    A compute registers itself there a moment after Nova's API answers. Nova
    can put only registered computes into a zone.
    """
    placement: Any = admin.placement

    def known() -> bool:
        listed = placement.get("/resource_providers").json()
        names = {each["name"] for each in listed["resource_providers"]}
        return names.issuperset(config.HOSTS)

    _until(known, "Nova's computes are not in Placement")


def _place(compute: Any, zone: str, host: str) -> None:
    """Put a compute into a zone."""
    aggregate = _ensure(
        compute.find_aggregate,
        compute.create_aggregate,
        zone,
        availability_zone=zone,
    )
    if host in (aggregate.hosts or ()):
        return

    def placed() -> bool:
        try:
            compute.add_host_to_aggregate(aggregate, host)
        except exceptions.NotFoundException:
            # The scheduler has yet to find it.
            return False
        return True

    _until(placed, f"Nova does not know the compute {host}")


def _until(done: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise errors.LabError(problem)
        time.sleep(1)


def fill_volumes() -> None:
    """A volume type that templates may name."""
    volumes = connect("admin").block_storage
    _ensure(volumes.find_type, volumes.create_type, VOLUME_TYPE)


def write_credentials() -> None:
    """Files for the command line and for openstacksdk."""
    _openrc(layout.OPENRC, "demo")
    _openrc(layout.ADMIN_OPENRC, "admin")
    clouds = {
        name: {
            "auth": {
                "auth_url": config.KEYSTONE,
                "username": name,
                "password": config.PASSWORD,
                "project_name": name,
                "user_domain_id": "default",
                "project_domain_id": "default",
            },
            "region_name": config.REGION,
        }
        for name in ("admin", *USERS)
    }
    layout.CLOUDS_YAML.write_text(yaml.safe_dump({"clouds": clouds}))


def _openrc(path: pathlib.Path, user: str) -> None:
    variables = {
        **config.credentials(user),
        "PATH": f"{layout.BIN}:{layout.VENV / 'bin'}:$PATH",
        # Workload clusters' endpoints are on loopback too.
        "NO_PROXY": "127.0.0.0/8,localhost",
        "no_proxy": "127.0.0.0/8,localhost",
    }
    lines = (f'export {name}="{value}"\n' for name, value in variables.items())
    path.write_text("".join(lines))
