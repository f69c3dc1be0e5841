# SPDX-License-Identifier: Apache-2.0

"""``fault``: faults of the cloud itself, made and ended in real services.

The tests call the same functions. A quota gets the limit that its project uses
now.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import dataclasses
from typing import Any

import openstack.config
import openstack.connection

from lab import errors
from lab import layout

#: Octavia's worker fails in the project that this file names.
_OCTAVIA = layout.CLOUD / "octavia" / "fail"
#: An image that fits no flavor while the fault is on.
LARGE_IMAGE = "ubuntu-large"
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


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of the cloud.

    ``on``: makes it, for a project, with so many objects that still fit
    ``off``: ends it, for a project
    """

    text: str
    on: Callable[[Any, str, int], None]
    off: Callable[[Any, str], None]


def make(name: str, project: str = "demo", left: int = 0) -> None:
    """Make a fault.

    :param project: by name
    :param left: how many more objects a quota allows
    """
    cloud = connect()
    FAULTS[name].on(cloud, _project(cloud, project), left)


def end(name: str, project: str = "demo") -> None:
    """End a fault, or do nothing if there is none."""
    cloud = connect()
    FAULTS[name].off(cloud, _project(cloud, project))


def _project(cloud: Any, name: str) -> str:
    return str(cloud.identity.find_project(name, ignore_missing=False).id)


# Quotas


def _quota(
    text: str,
    used: Callable[[Any, str], int],
    limit: Callable[[Any, str, int], object],
) -> Fault:
    """Return the fault of a quota; without it the quota has no limit."""

    def on(cloud: Any, project: str, left: int) -> None:
        limit(cloud, project, used(cloud, project) + left)

    def off(cloud: Any, project: str) -> None:
        limit(cloud, project, -1)

    return Fault(text, on, off)


def _quota_set(service: str, resource: str, text: str = "") -> Fault:
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

    name = {"compute": "Nova", "block_storage": "Cinder"}[service]
    return _quota(f"{name}'s quota of {text or resource}", used, limit)


def _neutron(resource: str, text: str = "") -> Fault:
    return _quota(
        f"Neutron's quota of {text or resource}",
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


# Things that do not fit


def _enlarge_image(cloud: Any, _project: str, _left: int) -> None:
    _set_image(cloud, _LARGE)


def _shrink_image(cloud: Any, _project: str) -> None:
    _set_image(cloud, 0)


def _set_image(cloud: Any, minimum: int) -> None:
    image = cloud.image.find_image(LARGE_IMAGE) or cloud.image.create_image(
        LARGE_IMAGE,
        disk_format="raw",
        container_format="bare",
        visibility="public",
        data=b"no machine boots",
        os_distro="ubuntu",
        kube_version=_KUBERNETES,
    )
    cloud.image.update_image(image, min_disk=minimum)


def _withdraw_backend(cloud: Any, _project: str, _left: int) -> None:
    _set_backend(cloud, "none")


def _offer_backend(cloud: Any, _project: str) -> None:
    _set_backend(cloud, "lab")


def _set_backend(cloud: Any, backend: str) -> None:
    volumes = cloud.block_storage
    kind = volumes.find_type(VOLUME_TYPE) or volumes.create_type(
        name=VOLUME_TYPE
    )
    # Cinder refuses to change a type while a volume has it.
    if (kind.extra_specs or {}).get("volume_backend_name") != backend:
        volumes.update_type_extra_specs(kind, volume_backend_name=backend)


def _fill_pool(cloud: Any, _project: str, _left: int) -> None:
    """Leave one address: a router takes it, and a floating IP gets none."""
    _set_pool(cloud, _ADDRESSES[0])


def _widen_pool(cloud: Any, _project: str) -> None:
    _set_pool(cloud, _ADDRESSES[1])


def _set_pool(cloud: Any, last: str) -> None:
    network = cloud.network
    pools = [{"start": _ADDRESSES[0], "end": last}]
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


# Octavia's worker


def _break_worker(_cloud: Any, project: str, _left: int) -> None:
    _OCTAVIA.write_text(project)


def _mend_worker(_cloud: Any, _project: str) -> None:
    _OCTAVIA.unlink(missing_ok=True)


FAULTS = {
    "instances": _quota_set("compute", "instances", "servers"),
    "cores": _quota_set("compute", "cores"),
    "volumes": _quota_set("block_storage", "volumes"),
    "gigabytes": _quota_set("block_storage", "gigabytes"),
    "networks": _neutron("networks"),
    "routers": _neutron("routers"),
    "security-groups": _neutron("security_groups", "security groups"),
    "ports": _neutron("ports"),
    "floating-ips": _neutron("floating_ips", "floating IPs"),
    "load-balancers": _quota(
        "Octavia's quota of load balancers",
        _octavia,
        lambda cloud, project, number: cloud.load_balancer.update_quota(
            project, load_balancers=number
        ),
    ),
    "octavia": Fault(
        "new load balancers, and new parts of them, go into ERROR",
        _break_worker,
        _mend_worker,
    ),
    "image": Fault(
        f"the image {LARGE_IMAGE} is too large for each flavor",
        _enlarge_image,
        _shrink_image,
    ),
    "volume-type": Fault(
        f"no backend offers the volume type {VOLUME_TYPE}",
        _withdraw_backend,
        _offer_backend,
    ),
    "pool": Fault(
        f"the external network {NETWORK} has an address for one router only",
        _fill_pool,
        _widen_pool,
    ),
}


def run(options: argparse.Namespace) -> None:
    """Run the command line's ``fault``."""
    if options.name is None:
        for name, fault in FAULTS.items():
            print(f"{name:16} {fault.text}")
        return
    if options.name not in FAULTS:
        raise errors.LabError(
            f"there is no fault {options.name!r}",
            hint=f"Choose one of {', '.join(FAULTS)}.",
        )
    if not layout.CLOUDS_YAML.exists():
        raise errors.LabError(
            "there is no cloud yet", hint="Run 'python3 -m lab up' first."
        )
    if options.state == "on":
        make(options.name, options.project, options.left)
    else:
        end(options.name, options.project)
    print(f"{options.name} is {options.state}.")
