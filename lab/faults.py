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


def _cores(cloud: Any, project: str, left: int | None) -> None:
    """Limit them to those that are in use; without it there is no limit."""
    quota = cloud.compute.get_quota_set(project, usage=True)
    number = -1 if left is None else quota.usage["cores"] + left
    cloud.compute.update_quota_set(project, cores=number)


def _neutron(resource: str) -> Fault:
    """Return the fault of a quota; without it the quota has no limit."""

    def quota(cloud: Any, project: str, left: int | None) -> None:
        number = -1
        if left is not None:
            quotas = cloud.network.get_quota(project, details=True)
            number = quotas[resource]["used"] + left
        cloud.network.update_quota(project, **{resource: number})

    return quota


# Things that are gone


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
    "cores": _cores,
    "networks": _neutron("networks"),
    "ports": _neutron("ports"),
    "octavia": _worker_fails,
    "octavia-stuck": _worker_halts,
    "port-policy": _port_policy,
    "flavor": _flavor,
    "volume-type": _volume_type,
}
