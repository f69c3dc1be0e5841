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
#: A flavor that does not exist while the fault is on.
FLAVOR = "m1.worker.gone"
#: A volume type that no backend offers while the fault is on.
VOLUME_TYPE = "nowhere"


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


def _nova(resource: str) -> Fault:
    return _quota(
        f"Nova's quota of {resource}",
        lambda cloud, project: cloud.compute.get_quota_set(
            project, usage=True
        ).usage[resource],
        lambda cloud, project, number: cloud.compute.update_quota_set(
            project, **{resource: number}
        ),
    )


def _neutron(resource: str) -> Fault:
    return _quota(
        f"Neutron's quota of {resource}",
        lambda cloud, project: cloud.network.get_quota(project, details=True)[
            resource
        ]["used"],
        lambda cloud, project, number: cloud.network.update_quota(
            project, **{resource: number}
        ),
    )


# Things that are gone


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
    "cores": _nova("cores"),
    "networks": _neutron("networks"),
    "ports": _neutron("ports"),
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
    "flavor": Fault(
        f"the flavor {FLAVOR} is deleted",
        _delete_flavor,
        _make_flavor,
    ),
    "volume-type": Fault(
        f"no backend offers the volume type {VOLUME_TYPE}",
        _withdraw_backend,
        _offer_backend,
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
