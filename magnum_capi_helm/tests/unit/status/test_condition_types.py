# SPDX-License-Identifier: Apache-2.0

"""The driver reads each type of condition, or leaves it out for a reason.

``tests/data/condition-types.yaml`` has the types. A type is read if what the
driver says of a cluster changes with its status, in any of some situations.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import functools
import pathlib
from typing import Any, NamedTuple

from oslotest import base
import yaml

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import provider_objects
from magnum_capi_helm.tests.unit.status import releases
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

_LONG_AGO = "2026-11-20T12:00:00Z"
_DELETED = "2026-11-21T12:00:00Z"
_NAMES = ("cp-1", "w-1")


class Type(NamedTuple):
    """One type of condition of one kind, in one set."""

    kind: str
    type: str
    set: str

    @property
    def shape(self) -> str:
        """The generation that has the set where all conditions are."""
        is_old = self.set == "v1beta1"
        return shapes.V1BETA1 if is_old else shapes.V1BETA2


@functools.cache
def _file() -> Any:
    path = pathlib.Path(data.__file__).parent / "condition-types.yaml"
    return yaml.safe_load(path.read_text())


def types() -> Iterator[Type]:
    """All types of the file."""
    for part in (_file(), _file()["by_hand"]):
        for kinds in part["components"].values():
            for kind, named in kinds.items():
                for name, known in named.items():
                    both = known["set"] == "both"
                    sets = ("v1beta1", "v1beta2") if both else (known["set"],)
                    yield from (Type(kind, name, each) for each in sets)


def _machine(shape: str, name: str, **changes: Any) -> view.Object:
    group = None if name == "cp-1" else "default-worker"
    return core_objects.machine(shape, name, group=group, **changes)


def _objects(shape: str, *, ready: bool) -> dict[str, list[view.Object]]:
    """The objects of a cluster by kind, with a machine in each group."""
    count = None if ready else 0
    machine, server = "OpenStackMachine", "OpenStackServer"
    found = {
        "Cluster": [core_objects.cluster(shape)],
        "KubeadmControlPlane": [
            core_objects.control_plane(shape, ready=count)
        ],
        "MachineDeployment": [core_objects.workers(shape, ready=count)],
        "Machine": [_machine(shape, each, node=ready) for each in _NAMES],
        "OpenStackCluster": [provider_objects.network()],
        machine: [provider_objects.server(each) for each in _NAMES],
        server: [provider_objects.openstack_server(e, "") for e in _NAMES],
    }
    found["OpenStackCluster"][0]["status"]["ready"] = ready
    for each in found[server]:
        each["status"]["conditions"] = []
    return found


def _settled(shape: str) -> dict[str, list[view.Object]]:
    return _objects(shape, ready=True)


def _starting(shape: str) -> dict[str, list[view.Object]]:
    """No API and no node yet, although the servers run."""
    found = _objects(shape, ready=False)
    for each in (*found["Cluster"], *found["Machine"]):
        _put(each, "InfrastructureReady", "True")
    _put(found["Cluster"][0], "ControlPlaneInitialized", "False")
    _drop(found["Cluster"][0], "RemoteConnectionProbe")
    return found


def _leaving(shape: str) -> dict[str, list[view.Object]]:
    """All but the Cluster is being deleted."""
    found = _objects(shape, ready=True)
    for kind in ("KubeadmControlPlane", "MachineDeployment", "Machine"):
        for each in found[kind]:
            each["metadata"]["deletionTimestamp"] = _DELETED
    return found


def _emptied(shape: str) -> dict[str, list[view.Object]]:
    """The machines are gone already."""
    return {**_leaving(shape), "Machine": []}


def _drop(obj: view.Object, name: str) -> None:
    known = obj["status"].get("conditions", [])
    obj["status"]["conditions"] = [e for e in known if e["type"] != name]


def _put(obj: view.Object, name: str, status: str) -> None:
    """Set a condition of long ago, with a message that is no progress."""
    _drop(obj, name)
    new = {"type": name, "status": status, "reason": "Broken"}
    obj["status"]["conditions"].append(
        {**new, "message": "disk on fire", "lastTransitionTime": _LONG_AGO}
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


def _told(seen: view.View) -> tuple[object, ...]:
    """All that the driver says of a cluster."""
    rows = shapes.ROWS
    if view.deleting(seen.deployments[0]):
        rows = dataclasses.replace(
            rows, groups=rows.groups[:1], leaving=rows.groups[1:]
        )
    expected = cluster_status.Expected(rows, releases.REQUIRED)
    return (
        releases.verdict(seen, rows, addons=frozenset()),
        health.health(seen),
        cluster_status.grow(seen, expected),
    )


def is_read(condition: Type) -> bool:
    """Whether the driver says something else if a condition is bad."""
    for situation in (_settled, _starting, _leaving, _emptied):
        told = []
        for status in ("True", "False"):
            found = situation(condition.shape)
            for each in found.get(condition.kind, ()):
                _put(each, condition.type, status)
            told.append(_told(_seen(found)))
        if told[0] != told[1]:
            return True
    return False


class ConditionTypesTest(base.BaseTestCase):
    maxDiff = None

    def test_each_type_is_read_or_left_out_for_a_reason(self) -> None:
        read: set[str] = set()
        unread: set[str] = set()
        for each in types():
            name = f"{each.kind} {each.type}"
            name = each.kind if each.kind in LEFT_OUT else name
            (read if is_read(each) else unread).add(name)
        self.assertEqual(sorted(LEFT_OUT), sorted(unread))
        self.assertEqual(set(), read & unread)

    def test_types_that_are_well_when_false_are_those_of_the_sources(
        self,
    ) -> None:
        self.assertEqual(set(_file()["negative"]), conditions.NEGATIVE)

    def test_no_type_of_the_old_set_is_well_when_false(self) -> None:
        old = {each.type for each in types() if each.set == "v1beta1"}
        self.assertEqual(set(), old & conditions.NEGATIVE)


class AddonTest(base.BaseTestCase):
    def test_each_phase_but_deployed_is_a_reason(self) -> None:
        for phase in _file()["addons"]["phases"]:
            addon = provider_objects.addon("cni-calico", phase)
            seen = releases.complete(shapes.V1BETA2, addons=(addon,))
            reason = releases.verdict(
                seen, addons=frozenset({view.name_of(addon)})
            ).reason
            told = f"addon cni-calico: {phase}"
            self.assertEqual("" if phase == "Deployed" else told, reason)

    def test_one_note_of_the_addon_provider_is_read(self) -> None:
        notes = dict.fromkeys(_file()["addons"]["annotations"], '{"spec": 1}')
        addon = {"metadata": {"annotations": notes}}
        self.assertEqual({"spec": 1}, view.handled_of(addon))
