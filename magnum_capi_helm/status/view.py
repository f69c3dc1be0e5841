# SPDX-License-Identifier: Apache-2.0

"""All that was read about one release at one moment."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import re
from typing import Any, TypeAlias

from magnum_capi_helm.model import names

Object: TypeAlias = dict[str, Any]

#: Label that the chart puts on everything it renders.
_CHART = "helm.sh/chart"
CHART_CLUSTER_LABEL = "capi.stackhpc.com/cluster"
#: Label that Cluster API puts on machines and what belongs to them.
CLUSTER_NAME_LABEL = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
#: What the chart writes on a MachineDeployment whose group autoscales.
AUTOSCALER_ANNOTATION = (
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)
AUTOSCALER_MINIMUM = (
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
)
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"


@dataclasses.dataclass(frozen=True)
class Revision:
    """A revision of a helm release.

    :param status: helm's word: deployed, superseded, failed, pending-...
    :param modified: when its record was last written, seconds since 1970, by
        the clock of the host that ran helm
    :param created: when helm made its record, before it applied any object;
        seconds since 1970, by the clock of the API server
    :param repaired: it failed, and what it left behind was put right
    """

    version: int
    status: str
    modified: float = 0.0
    repaired: bool = False
    created: float = dataclasses.field(default=0.0, compare=False)

    @property
    def pending(self) -> bool:
        """helm began it and did not say how it ended."""
        return self.status.startswith("pending-")

    @property
    def harmful(self) -> bool:
        """It may have changed objects, and no later manifest knows of it."""
        return self.status == "failed" and not self.repaired


@dataclasses.dataclass(frozen=True)
class Fault:
    """The answer of Nova about one server.

    :param message: Nova's ``fault.message``; empty: the server has no fault
    :param since: when the fault came, seconds since 1970; 0: unknown
    :param unread: why Nova did not answer; empty: it did
    """

    message: str = ""
    since: float = 0.0
    unread: str = ""


@dataclasses.dataclass(frozen=True)
class View:
    """Objects of one release. Absent is None or empty, never unreadable.

    :param infrastructure: OpenStackCluster; read only when something is
        not ready
    :param infra_machines: OpenStackMachines; likewise
    :param servers: OpenStackServers, which CAPO makes since 0.11; likewise
    :param faults: by Nova's id of a server, what Nova says of it
    :param addons: HelmRelease and Manifests objects
    :param addons_known: no: they were not read, since what is below them is
        not ready
    :param revisions: of the helm release, the newest last
    """

    release: str
    cluster: Object | None = None
    control_plane: Object | None = None
    deployments: tuple[Object, ...] = ()
    machines: tuple[Object, ...] = ()
    addons: tuple[Object, ...] = ()
    addons_known: bool = True
    revisions: tuple[Revision, ...] = ()
    infrastructure: Object | None = None
    infra_machines: tuple[Object, ...] = ()
    servers: tuple[Object, ...] = ()
    faults: Mapping[str, Fault] = dataclasses.field(default_factory=dict)

    @property
    def newest(self) -> Revision | None:
        """The newest revision of the helm release."""
        return self.revisions[-1] if self.revisions else None

    def group_names(self) -> frozenset[str]:
        """The chart's names of the node groups that have anything left."""
        prefix = f"{self.release}-"
        owners = [name_of(each) for each in self.deployments]
        owners += [
            labels_of(each)[DEPLOYMENT_LABEL]
            for each in self.machines
            if DEPLOYMENT_LABEL in labels_of(each)
        ]
        return frozenset(each.removeprefix(prefix) for each in owners)

    def autoscaled(self) -> frozenset[str]:
        """Groups whose count the autoscaler owns, by chart name."""
        prefix = f"{self.release}-"
        return frozenset(
            name_of(each).removeprefix(prefix)
            for each in self.deployments
            if AUTOSCALER_ANNOTATION in annotations_of(each)
        )

    def deployment(self, group: str) -> Object | None:
        """The MachineDeployment of a node group."""
        wanted = names.machine_deployment(self.release, group)
        for each in self.deployments:
            if name_of(each) == wanted:
                return each
        return None

    def control_plane_machines(self) -> list[Object]:
        """Machines of the control plane, by name."""
        return _sorted(
            each
            for each in self.machines
            if CONTROL_PLANE_LABEL in labels_of(each)
        )

    def machines_of(self, group: str) -> list[Object]:
        """Machines of a node group, by name."""
        wanted = names.machine_deployment(self.release, group)
        return _sorted(
            each
            for each in self.machines
            if labels_of(each).get(DEPLOYMENT_LABEL) == wanted
        )

    def infra_machine(self, machine: Object) -> Object | None:
        """The OpenStackMachine behind a Machine."""
        ref = (machine.get("spec") or {}).get("infrastructureRef") or {}
        for each in self.infra_machines:
            if name_of(each) == ref.get("name"):
                return each
        return None

    def server(self, machine: Object) -> Object | None:
        """The OpenStackServer of a Machine.

        CAPO gives it the name of the OpenStackMachine
        (``getOrCreateMachineServer`` in openstackmachine_controller.go).
        """
        ref = spec_of(machine).get("infrastructureRef") or {}
        for each in self.servers:
            if name_of(each) == ref.get("name"):
                return each
        return None

    def fault(self, server: Object | None) -> Fault | None:
        """The answer of Nova about an OpenStackServer; None: not asked."""
        return self.faults.get(str(status_of(server).get("instanceID")))


def _sorted(machines: Any) -> list[Object]:
    return sorted(machines, key=name_of)


def name_of(obj: Object) -> str:
    """The object's name."""
    return str((obj.get("metadata") or {}).get("name", ""))


def labels_of(obj: Object) -> dict[str, str]:
    """The object's labels."""
    return (obj.get("metadata") or {}).get("labels") or {}


def chart_version(cluster: Object | None) -> str:
    """The version of the chart that made a Cluster; empty: not known.

    A label can't have a plus sign: charts write an underscore for it.
    """
    label = labels_of(cluster or {}).get(_CHART, "")
    found = re.search(r"-(\d+\..*)", label)
    return found[1].replace("_", "+") if found else ""


def annotations_of(obj: Object) -> dict[str, str]:
    """The object's annotations."""
    return (obj.get("metadata") or {}).get("annotations") or {}


def autoscaler_bounds(deployment: Object) -> tuple[int, int]:
    """Least and most machines of a group that the autoscaler owns."""
    found = annotations_of(deployment)
    maximum = found[AUTOSCALER_ANNOTATION]
    return int(found.get(AUTOSCALER_MINIMUM) or 0), int(maximum)


def deleting(obj: Object | None) -> bool:
    """Whether the object is on its way out."""
    meta = (obj or {}).get("metadata") or {}
    return bool(meta.get("deletionTimestamp"))


def spec_of(obj: Object | None) -> Object:
    """The object's spec, or nothing."""
    return (obj or {}).get("spec") or {}


def status_of(obj: Object | None) -> Object:
    """The object's status, or nothing."""
    return (obj or {}).get("status") or {}
