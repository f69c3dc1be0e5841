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
    cloud.image.update_image(_image(cloud, LARGE_IMAGE), min_disk=minimum)


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


# Things that are gone


def _hide_image(cloud: Any, _project: str, _left: int) -> None:
    image = _image(cloud, HIDDEN_IMAGE)
    cloud.image.update_image(image, visibility="private")


def _show_image(cloud: Any, _project: str) -> None:
    image = _image(cloud, HIDDEN_IMAGE)
    cloud.image.update_image(image, visibility="public")


def _delete_flavor(cloud: Any, _project: str, _left: int) -> None:
    cloud.compute.delete_flavor(FLAVOR)


def _make_flavor(cloud: Any, _project: str) -> None:
    """Make it, or make it again with the same ID."""
    if cloud.compute.find_flavor(FLAVOR) is None:
        cloud.compute.create_flavor(
            name=FLAVOR, id=FLAVOR, vcpus=2, ram=4096, disk=20
        )


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


def _halt_worker(_cloud: Any, _project: str, _left: int) -> None:
    _STUCK.touch()


def _wake_worker(_cloud: Any, _project: str) -> None:
    _STUCK.unlink(missing_ok=True)


# Neutron's policy


def _forbid_ports(_cloud: Any, _project: str, _left: int) -> None:
    _POLICY.write_text('"delete_port": "role:admin"\n')


def _allow_ports(_cloud: Any, _project: str) -> None:
    # A policy that was read stays in force without its file.
    if _POLICY.exists():
        _POLICY.write_text("{}\n")


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
    "octavia-stuck": Fault(
        "load balancers, and parts of them, stay PENDING in all projects",
        _halt_worker,
        _wake_worker,
    ),
    "port-policy": Fault(
        "Neutron's policy lets administrators alone delete ports",
        _forbid_ports,
        _allow_ports,
    ),
    "hidden-image": Fault(
        f"the image {HIDDEN_IMAGE} is hidden",
        _hide_image,
        _show_image,
    ),
    "flavor": Fault(
        f"the flavor {FLAVOR} is deleted",
        _delete_flavor,
        _make_flavor,
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
