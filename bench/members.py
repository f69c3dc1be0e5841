# SPDX-License-Identifier: Apache-2.0

"""Names and states of the clusters of a population. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dataclasses
from typing import Any
import uuid

from bench import template

SETTLED = "settled"
SCALING = "scaling"
ILL_WORKER = "ill-worker"
ILL_CONTROL_PLANE = "ill-control-plane"
STATES = (SETTLED, SCALING, ILL_WORKER, ILL_CONTROL_PLANE)

#: Projects, that is, namespaces.
PROJECTS = 20
#: One in so many clusters has an ill worker, and one an ill control plane.
_ILL_EVERY = 50
_ILL = {3: ILL_WORKER, 7: ILL_CONTROL_PLANE}

#: CAPO writes these before the machine has a bootstrap Secret
#: (``getOrCreateMachineServer`` follows in openstackmachine_controller.go).
_FIRST_CONDITIONS = tuple(
    {
        "type": kind,
        "status": "False",
        "severity": "Info",
        "reason": "WaitingForBootstrapData",
        "lastTransitionTime": "2026-11-21T22:59:23Z",
    }
    for kind in ("Ready", "InstanceReady")
)
#: The addon that takes longest.
_LAST_ADDON = "-csi-cinder"

_SPACE = uuid.UUID("b3c1c0de-0000-4000-8000-000000000000")


@dataclasses.dataclass(frozen=True)
class Member:
    """One cluster of the population."""

    number: int

    @property
    def identity(self) -> template.Identity:
        """Its names: the same in each run."""
        cluster = str(uuid.uuid5(_SPACE, f"cluster {self.number}"))
        project = uuid.uuid5(_SPACE, f"project {self.number % PROJECTS}").hex
        return template.Identity(
            release=f"{self.name}-{cluster.replace('-', '')[-12:]}",
            cluster=cluster,
            project=project,
            user=uuid.uuid5(_SPACE, f"user {project}").hex,
        )

    @property
    def name(self) -> str:
        """Magnum's name."""
        return f"bench{self.number:04d}"

    @property
    def namespace(self) -> str:
        """Return the namespace of its objects."""
        return f"magnum-{self.identity.project}"


def state(number: int, in_progress: int) -> str:
    """Return the state of a cluster; the first ones are in progress."""
    if number < in_progress:
        return SCALING
    return _ILL.get(number % _ILL_EVERY, SETTLED)


def under_way(objects: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The objects of a cluster that scales, with one addon being upgraded.

    1.4.0 calls a group done while its new machine has no node yet, since
    Cluster API 1.11 says ``Running`` then; for an addon it waits, too.

    The recorded moment is one before CAPO's first look at a new machine. The
    bench stays there for minutes, where only a mute CAPO would.
    """
    for each in objects:
        if each["metadata"]["name"].endswith(_LAST_ADDON):
            each["status"]["phase"] = "Upgrading"
        if each["kind"] == "OpenStackMachine" and "status" not in each:
            each["status"] = {"conditions": list(_FIRST_CONDITIONS)}
        yield each
