# SPDX-License-Identifier: Apache-2.0

"""Each type of condition, set in some situations of a cluster.

``tests/data/condition-types.yaml`` has the types. A type is read if what the
driver says of a cluster changes with its status, in any of the situations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import functools
import itertools
import pathlib
from typing import Any, NamedTuple

import yaml

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import health
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.unit.status import shapes

_PARTS = "The control plane or the MachineDeployment has its own, with names."
_SUMS_UP = "The control plane has a condition that sums it up, with names."
_AVAILABLE = "Available of the Cluster repeats its message."
_OTHER_PAUSE = "The driver reads the pause of the Cluster and of its groups."

#: Kind, or kind and type -> why the driver does not read it.
LEFT_OUT = {
    "KubeadmConfig": "BootstrapReady and BootstrapConfigReady of the Machine "
    "repeat its Ready.",
    "MachineHealthCheck": "The health shows each unhealthy machine.",
    "MachineSet": "MachineSetReady of the MachineDeployment repeats Ready.",
    "OpenStackFloatingIPPool": "The chart makes no object of this kind.",
    "OpenStackMachineTemplate": "The OpenStackCluster logs in with the same "
    "credential.",
    "Cluster ControlPlaneAvailable": _AVAILABLE,
    "Cluster WorkersAvailable": _AVAILABLE,
    "Cluster TopologyReconciled": "The chart makes no managed topology.",
    "Cluster Deleting": "The driver counts the remaining objects itself.",
    "Cluster Paused": "spec.paused and the annotation say it first.",
    "Cluster ControlPlaneMachinesReady": _PARTS,
    "Cluster ControlPlaneMachinesUpToDate": _PARTS,
    "Cluster WorkerMachinesReady": _PARTS,
    "Cluster WorkerMachinesUpToDate": _PARTS,
    "Cluster Remediating": _PARTS,
    "Cluster RollingOut": _PARTS,
    "Cluster ScalingDown": _PARTS,
    "Cluster ScalingUp": _PARTS,
    "Machine APIServerPodHealthy": _SUMS_UP,
    "Machine ControllerManagerPodHealthy": _SUMS_UP,
    "Machine EtcdMemberHealthy": _SUMS_UP,
    "Machine EtcdPodHealthy": _SUMS_UP,
    "Machine SchedulerPodHealthy": _SUMS_UP,
    "Machine NodeKubeadmLabelsAndTaintsSet": _SUMS_UP,
    "Machine Available": "The driver waits for Available of the group.",
    "Machine ExternallyRemediated": "The chart has no template for the "
    "remediation of machines.",
    "Machine Paused": _OTHER_PAUSE,
    "Machine UpToDate": "MachinesUpToDate of the group sums it up.",
    "Machine Updating": "Ready of the Machine repeats its message.",
}

#: Says nothing of progress.
MESSAGE = "disk on fire"
#: Read without the message, in one of the sets at least.
WITHOUT_MESSAGE = {
    "Cluster ControlPlaneInitialized": "The driver waits for the API, and "
    "does not read addons before.",
    "Cluster InfrastructureReady": "The driver looks for the reason in the "
    "OpenStackCluster.",
    "Cluster RemoteConnectionProbe": "The management cluster can't reach the "
    "Kubernetes API.",
}
_LONG_AGO = "2026-11-20T12:00:00Z"
_JUST_NOW = "2026-11-21T18:49:55Z"
_DELETED = "2026-11-21T12:00:00Z"
_NAMES = ("cp-1", "w-1")
#: Makes the objects of a cluster by kind, in a shape of Cluster API.
Situation = Callable[[str], dict[str, list[view.Object]]]


class Type(NamedTuple):
    """One type of condition of one kind, in one set."""

    kind: str
    type: str
    set: str

    @property
    def name(self) -> str:
        """Return kind and type."""
        return f"{self.kind} {self.type}"

    @property
    def left_out(self) -> str:
        """Return why the driver does not read it; empty if it does."""
        return LEFT_OUT.get(self.kind) or LEFT_OUT.get(self.name, "")

    @property
    def bad(self) -> str:
        """Return the status of a fault, or of something that goes on."""
        is_new = self.set != "v1beta1"
        is_negative = is_new and self.type in conditions.NEGATIVE
        return "True" if is_negative else "False"

    @property
    def shape(self) -> str:
        """The generation that has the set where all conditions are."""
        is_old = self.set == "v1beta1"
        return shapes.V1BETA1 if is_old else shapes.V1BETA2


@functools.cache
def file() -> Any:
    """Return the file of all types."""
    path = pathlib.Path(data.__file__).parent / "condition-types.yaml"
    return yaml.safe_load(path.read_text())


def types() -> Iterator[Type]:
    """All types of the file."""
    for part in (file(), file()["by_hand"]):
        for kinds in part["components"].values():
            for kind, named in kinds.items():
                for name, known in named.items():
                    both = known["set"] == "both"
                    sets = ("v1beta1", "v1beta2") if both else (known["set"],)
                    yield from (Type(kind, name, each) for each in sets)


def _machine(shape: str, name: str, **changes: Any) -> view.Object:
    group = None if name == "cp-1" else "default-worker"
    return shapes.machine(shape, name, group=group, **changes)


def _objects(shape: str, *, ready: bool) -> dict[str, list[view.Object]]:
    """The objects of a cluster by kind, with a machine in each group."""
    counts: dict[str, Any] = {} if ready else {"ready": 0}
    machine, server = "OpenStackMachine", "OpenStackServer"
    found = {
        "Cluster": [shapes.cluster(shape)],
        "KubeadmControlPlane": [shapes.control_plane(shape, **counts)],
        "MachineDeployment": [shapes.workers(shape, **counts)],
        "Machine": [_machine(shape, each, node=ready) for each in _NAMES],
        "OpenStackCluster": [shapes.network()],
        machine: [shapes.server(each) for each in _NAMES],
        server: [shapes.openstack_server(e, "") for e in _NAMES],
    }
    found["OpenStackCluster"][0]["status"]["ready"] = ready
    for each in found[server]:
        each["status"]["conditions"] = []
    return found


def settled(shape: str) -> dict[str, list[view.Object]]:
    """Everything is as it should be."""
    return _objects(shape, ready=True)


def starting(shape: str) -> dict[str, list[view.Object]]:
    """No API and no node yet, although the servers run."""
    found = _objects(shape, ready=False)
    for each in (*found["Cluster"], *found["Machine"]):
        _put(each, "InfrastructureReady", "True")
    _put(found["Cluster"][0], "ControlPlaneInitialized", "False")
    _drop(found["Cluster"][0], "RemoteConnectionProbe")
    return found


def joining(shape: str) -> dict[str, list[view.Object]]:
    """No API and no node yet; the servers have just become active."""
    found = starting(shape)
    for each in found["Machine"]:
        _put(each, "InfrastructureReady", "True", since=_JUST_NOW)
    return found


def leaving(shape: str) -> dict[str, list[view.Object]]:
    """All but the Cluster is being deleted."""
    found = _objects(shape, ready=True)
    for kind in ("KubeadmControlPlane", "MachineDeployment", "Machine"):
        for each in found[kind]:
            each["metadata"]["deletionTimestamp"] = _DELETED
    return found


def emptied(shape: str) -> dict[str, list[view.Object]]:
    """The machines are gone already."""
    return {**leaving(shape), "Machine": []}


SITUATIONS: tuple[Situation, ...]
SITUATIONS = (starting, joining, settled, leaving, emptied)


def _drop(obj: view.Object, name: str) -> None:
    known = obj["status"].get("conditions", [])
    obj["status"]["conditions"] = [e for e in known if e["type"] != name]


def _put(
    obj: view.Object,
    name: str,
    status: str,
    message: str = MESSAGE,
    since: str = _LONG_AGO,
) -> None:
    """Set a condition; without another time it is of long ago."""
    _drop(obj, name)
    new = {"type": name, "status": status, "reason": "Broken"}
    obj["status"]["conditions"].append(
        {**new, "message": message, "lastTransitionTime": since}
    )


def _seen(found: dict[str, list[view.Object]]) -> view.View:
    return view.View(
        release=shapes.RELEASE,
        cluster=found["Cluster"][0],
        control_plane=found["KubeadmControlPlane"][0],
        deployments=tuple(found["MachineDeployment"]),
        machines=tuple(found["Machine"]),
        revisions=(view.Revision(1, "deployed"),),
        infrastructure=found["OpenStackCluster"][0],
        infra_machines=tuple(found["OpenStackMachine"]),
        servers=tuple(found["OpenStackServer"]),
        clock=view.Clock(shapes.NOW),
    )


class Told(NamedTuple):
    """All that the driver says of a cluster."""

    verdict: cluster_status.Verdict
    health: health.Health
    tree: tree.Branch

    def texts(self) -> Iterator[str]:
        """Yield the lines that users read, the most prominent first."""
        yield self.verdict.reason
        yield from (each.reason for each in self.verdict.groups.values())
        for name, text in self.health.reason.items():
            yield f"health: {name}: {text}"
        yield from map(str, _lines(self.tree))


def _lines(branch: tree.Branch) -> Iterator[str]:
    yield f"describe: {branch.kind}: {branch.reason.text}"
    for each in branch.children:
        yield from _lines(each)


def told(
    situation: Situation, shape: str, known: Mapping[Type, tuple[str, str]]
) -> Told:
    """Return what the driver says.

    :param known: status and message of conditions
    """
    found = situation(shape)
    for each, (status, message) in known.items():
        for obj in found.get(each.kind, ()):
            _put(obj, each.type, status, message)
    seen, rows = _seen(found), shapes.ROWS
    if view.deleting(seen.deployments[0]):
        rows = dataclasses.replace(
            rows, groups=rows.groups[:1], leaving=rows.groups[1:]
        )
    expected = cluster_status.Expected(rows, shapes.REQUIRED)
    return Told(
        shapes.verdict(seen, rows, addons=frozenset()),
        health.health(seen),
        cluster_status.grow(seen, expected),
    )


def is_read(condition: Type) -> bool:
    """Whether the driver says something else if a condition is bad."""
    return any(
        told(each, condition.shape, {condition: ("True", MESSAGE)})
        != told(each, condition.shape, {condition: ("False", MESSAGE)})
        for each in SITUATIONS
    )


def first_text(condition: Type) -> str:
    """Return the most prominent line with the message; empty if none has."""
    bad = {condition: (condition.bad, MESSAGE)}
    texts = (told(each, condition.shape, bad).texts() for each in SITUATIONS)
    found = [e for e in itertools.chain(*texts) if MESSAGE in e]
    return min(found, key=_place, default="")


def _place(text: str) -> int:
    """Return 0 for a status_reason, 1 for health, 2 for describe."""
    return 2 * text.startswith("describe:") + text.startswith("health:")
