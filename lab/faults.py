# SPDX-License-Identifier: Apache-2.0

"""Faults of the cloud itself, made and ended in real services.

A quota gets the limit that its project uses now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import openstack.config
import openstack.connection

from lab import layout

#: Makes a fault for a project, with so many objects that still fit. None ends
#: it, or does nothing if there is none.
Fault: TypeAlias = Callable[[Any, str, int | None], None]

#: Octavia's worker fails in the project that this file names.
_OCTAVIA = layout.CLOUD / "octavia" / "fail"
#: While this file exists, no worker of Octavia works.
_STUCK = layout.CLOUD / "octavia" / "stuck"
#: A policy of Neutron's, which it reads with each request.
_POLICY = layout.CLOUD / "neutron" / "policy.yaml"
#: An image that fits no flavor while the fault is on.
LARGE_IMAGE = "ubuntu-large"
#: An image that the administrator alone sees while the fault is on.
HIDDEN_IMAGE = "ubuntu-hidden"
#: A flavor that does not exist while the fault is on.
FLAVOR = "m1.worker.gone"
#: A volume type that no backend offers while the fault is on.
VOLUME_TYPE = "nowhere"
#: An external network that has one address while the fault is on.
NETWORK = "crowded"
_SUBNET = "127.87.0.0/24"
_ADDRESSES = ("127.87.0.10", "127.87.0.200")
_KUBERNETES = "v1.34.2"
#: GB; no flavor has so much.
_LARGE = 1000


def connect(cloud: str = "admin") -> openstack.connection.Connection:
    """Return a client for a cloud of ``clouds.yaml``."""
    config = openstack.config.OpenStackConfig(
        config_files=[str(layout.CLOUDS_YAML)]
    )
    return openstack.connection.Connection(config=config.get_one(cloud))


def make(name: str, project: str = "demo", left: int = 0) -> None:
    """Make a fault.

    :param project: by name
    :param left: how many more objects a quota allows
    """
    _call(name, project, left)


def end(name: str, project: str = "demo") -> None:
    """End a fault, or do nothing if there is none."""
    _call(name, project, None)


def _call(name: str, project: str, left: int | None) -> None:
    cloud: Any = connect()
    found = cloud.identity.find_project(project, ignore_missing=False)
    FAULTS[name](cloud, str(found.id), left)


# Quotas


def _quota(
    used: Callable[[Any, str], int], limit: Callable[[Any, str, int], object]
) -> Fault:
    """Return the fault of a quota; without it the quota has no limit."""

    def quota(cloud: Any, project: str, left: int | None) -> None:
        number = -1 if left is None else used(cloud, project) + left
        limit(cloud, project, number)

    return quota


def _quota_set(service: str, resource: str) -> Fault:
    """Return the fault of a quota of Nova or Cinder.

    :param service: the client's name for its API
    """

    def used(cloud: Any, project: str) -> int:
        quota = getattr(cloud, service).get_quota_set(project, usage=True)
        number: int = quota.usage[resource]
        return number

    def limit(cloud: Any, project: str, number: int) -> None:
        proxy = getattr(cloud, service)
        proxy.update_quota_set(project, **{resource: number})

    return _quota(used, limit)


def _neutron(resource: str) -> Fault:
    return _quota(
        lambda cloud, project: cloud.network.get_quota(project, details=True)[
            resource
        ]["used"],
        lambda cloud, project, number: cloud.network.update_quota(
            project, **{resource: number}
        ),
    )


def _octavia(cloud: Any, project: str) -> int:
    found = cloud.load_balancer.load_balancers(project_id=project)
    return sum(1 for _ in found)


# Things that do not fit, or are gone


def _large_image(cloud: Any, _project: str, left: int | None) -> None:
    minimum = 0 if left is None else _LARGE
    cloud.image.update_image(_image(cloud, LARGE_IMAGE), min_disk=minimum)


def _hidden_image(cloud: Any, _project: str, left: int | None) -> None:
    image = _image(cloud, HIDDEN_IMAGE)
    visibility = "public" if left is None else "private"
    cloud.image.update_image(image, visibility=visibility)


def _image(cloud: Any, name: str) -> Any:
    return cloud.image.find_image(name) or cloud.image.create_image(
        name,
        disk_format="raw",
        container_format="bare",
        visibility="public",
        data=b"no machine boots",
        os_distro="ubuntu",
        kube_version=_KUBERNETES,
    )


def _flavor(cloud: Any, _project: str, left: int | None) -> None:
    """Delete it, or make it again with the same ID."""
    if left is not None:
        cloud.compute.delete_flavor(FLAVOR)
    elif cloud.compute.find_flavor(FLAVOR) is None:
        cloud.compute.create_flavor(
            name=FLAVOR, id=FLAVOR, vcpus=2, ram=4096, disk=20
        )


def _volume_type(cloud: Any, _project: str, left: int | None) -> None:
    backend = "lab" if left is None else "none"
    volumes = cloud.block_storage
    kind = volumes.find_type(VOLUME_TYPE) or volumes.create_type(
        name=VOLUME_TYPE
    )
    # Cinder refuses to change a type while a volume has it.
    if (kind.extra_specs or {}).get("volume_backend_name") != backend:
        volumes.update_type_extra_specs(kind, volume_backend_name=backend)


def _pool(cloud: Any, _project: str, left: int | None) -> None:
    """Leave one address: a router takes it, and a floating IP gets none."""
    first, last = _ADDRESSES
    network = cloud.network
    pools = [{"start": first, "end": last if left is None else first}]
    external = network.find_network(NETWORK) or network.create_network(
        name=NETWORK,
        is_router_external=True,
        provider_network_type="flat",
        provider_physical_network=NETWORK,
    )
    subnet = network.find_subnet(NETWORK) or network.create_subnet(
        name=NETWORK,
        network_id=external.id,
        cidr=_SUBNET,
        ip_version=4,
        is_dhcp_enabled=False,
        allocation_pools=pools,
    )
    network.update_subnet(subnet, allocation_pools=pools)


# Octavia's worker, and Neutron's policy


def _worker_fails(_cloud: Any, project: str, left: int | None) -> None:
    if left is None:
        _OCTAVIA.unlink(missing_ok=True)
    else:
        _OCTAVIA.write_text(project)


def _worker_halts(_cloud: Any, _project: str, left: int | None) -> None:
    if left is None:
        _STUCK.unlink(missing_ok=True)
    else:
        _STUCK.touch()


def _port_policy(_cloud: Any, _project: str, left: int | None) -> None:
    """Let administrators alone delete ports."""
    if left is not None:
        _POLICY.write_text('"delete_port": "role:admin"\n')
    elif _POLICY.exists():
        # A policy that was read stays in force without its file.
        _POLICY.write_text("{}\n")


FAULTS: dict[str, Fault] = {
    "instances": _quota_set("compute", "instances"),
    "cores": _quota_set("compute", "cores"),
    "volumes": _quota_set("block_storage", "volumes"),
    "gigabytes": _quota_set("block_storage", "gigabytes"),
    "networks": _neutron("networks"),
    "routers": _neutron("routers"),
    "security-groups": _neutron("security_groups"),
    "ports": _neutron("ports"),
    "floating-ips": _neutron("floating_ips"),
    "load-balancers": _quota(
        _octavia,
        lambda cloud, project, number: cloud.load_balancer.update_quota(
            project, load_balancers=number
        ),
    ),
    "octavia": _worker_fails,
    "octavia-stuck": _worker_halts,
    "port-policy": _port_policy,
    "hidden-image": _hidden_image,
    "flavor": _flavor,
    "image": _large_image,
    "volume-type": _volume_type,
    "pool": _pool,
}
