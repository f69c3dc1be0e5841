# SPDX-License-Identifier: Apache-2.0

"""The objects of one release, as they were read at one moment.

Objects are the dictionaries that Kubernetes sends.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Mapping
import dataclasses
import functools
import json
import math
import re
from typing import Any, NamedTuple, TypeAlias

from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups

Object: TypeAlias = dict[str, Any]

CHART_CLUSTER_LABEL = "capi.stackhpc.com/cluster"
CLUSTER_NAME_LABEL = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
_AUTOSCALER = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
AUTOSCALER_ANNOTATION = f"{_AUTOSCALER}-max-size"
AUTOSCALER_MINIMUM = f"{_AUTOSCALER}-min-size"
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
#: A note that the addon provider's library, kopf, writes.
_HANDLED = "addons.stackhpc.com/last-handled-configuration"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Clock:
    """The time of a verdict, and the end of its validity.

    A verdict asks the clock whether a moment has passed. The verdict is valid
    until the first of these moments that is still to come.

    :param now: seconds since 1970
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.valid_until = math.inf

    def has_passed(self, moment: float) -> bool:
        """Return whether a moment has passed; remember one to come."""
        if moment <= self.now:
            return True
        self.valid_until = min(self.valid_until, moment)
        return False


@dataclasses.dataclass(frozen=True)
class Revision:
    """A revision of a helm release.

    :param status: helm's word: deployed, superseded, failed, pending-...
    :param modified: latest known write of its record, seconds since 1970: the
        host that ran helm wrote it, or the API server's creation time
    :param created: time when helm made its record, before it applied any
        object; seconds since 1970, by the clock of the API server
    :param repaired: it failed, and its remains were put right
    """

    version: int
    status: str
    modified: float = 0.0
    repaired: bool = False
    created: float = dataclasses.field(default=0.0, compare=False)

    @property
    def pending(self) -> bool:
        """Return whether helm has begun but not ended it."""
        return self.status.startswith("pending-")

    @property
    def harmful(self) -> bool:
        """Return whether it may have changed objects unknown to helm.

        A failed revision changes objects, and no later manifest has them.
        """
        return self.status == "failed" and not self.repaired


class Fault(NamedTuple):
    """The answer of a service about one object.

    :ivar message: the fault in its words; empty: there is none
    :ivar since: time of the fault, seconds since 1970; 0: unknown
    :ivar unread: why the service did not answer; empty: it did
    """

    message: str = ""
    since: float = 0.0
    unread: str = ""


@dataclasses.dataclass(frozen=True)
class View:
    """Objects of one release. Absent is None or empty, never unreadable.

    :param health_checks: MachineHealthChecks; read only when a machine has
        failed its check
    :param infrastructure: OpenStackCluster; read only when something is
        not ready
    :param infra_machines: OpenStackMachines; likewise, and without active
        servers of settled machines
    :param servers: OpenStackServers, which CAPO makes since 0.11; likewise
    :param faults: answers of OpenStack about objects, by their names
    :param addons: HelmRelease and Manifests objects
    :param addons_known: False: the addons were not read, because an object
        below them is not ready
    :param revisions: of the helm release, the newest last
    :param clock: the moment at which the objects were read
    """

    release: str
    cluster: Object | None = None
    control_plane: Object | None = None
    deployments: tuple[Object, ...] = ()
    machines: tuple[Object, ...] = ()
    health_checks: tuple[Object, ...] = ()
    addons: tuple[Object, ...] = ()
    addons_known: bool = True
    revisions: tuple[Revision, ...] = ()
    infrastructure: Object | None = None
    infra_machines: tuple[Object, ...] = ()
    servers: tuple[Object, ...] = ()
    faults: Mapping[str, Fault] = dataclasses.field(default_factory=dict)
    clock: Clock = dataclasses.field(default_factory=Clock, compare=False)

    @property
    def newest(self) -> Revision | None:
        """Return the newest revision of the helm release."""
        return self.revisions[-1] if self.revisions else None

    def group_names(self) -> frozenset[str]:
        """Return the chart's names of groups that have any object left."""
        owners = map(name_of, self.deployments)
        names = {*owners, *map(_deployment_name, self.machines)} - {""}
        return frozenset(map(self.short_name, names))

    @property
    def hibernated(self) -> bool:
        """Return whether the workers of the cluster are away."""
        notes = annotations_of(self.cluster)
        return requested_groups.HIBERNATED_ANNOTATION in notes

    def named(self, rows: requested_groups.Rows) -> requested_groups.Rows:
        """Return the rows with the groups' names on the management cluster.

        Counts stay those of the rows.
        """
        known = rows.named_as(self.group_names())
        return dataclasses.replace(known, hibernated=self.hibernated)

    def autoscaled(self) -> frozenset[str]:
        """Return the groups whose count the autoscaler owns, by chart name."""
        return frozenset(
            self.short_name(name_of(each))
            for each in self.deployments
            if AUTOSCALER_ANNOTATION in annotations_of(each)
        )

    def short_name(self, name: str) -> str:
        """Return the name of an object without the name of the release."""
        return name.removeprefix(f"{self.release}-")

    def deployment(self, group: str) -> Object | None:
        """Return the MachineDeployment of a group."""
        name = names.machine_deployment(self.release, group)
        return _named(self.deployments, name)

    def control_plane_machines(self) -> list[Object]:
        """Return the machines of the control plane, by name."""
        machines = self.machines
        mine = [e for e in machines if CONTROL_PLANE_LABEL in labels_of(e)]
        return sorted(mine, key=name_of)

    def machines_of(self, group: str) -> list[Object]:
        """Return the machines of a group, by name."""
        owner = names.machine_deployment(self.release, group)
        mine = [e for e in self.machines if _deployment_name(e) == owner]
        return sorted(mine, key=name_of)

    def infra_machine(self, machine: Object) -> Object | None:
        """Return the OpenStackMachine behind a Machine."""
        return _named(self.infra_machines, infrastructure_name(machine))

    def server(self, machine: Object) -> Object | None:
        """Return the OpenStackServer of a Machine.

        CAPO gives it the name of the OpenStackMachine
        (``getOrCreateMachineServer`` in openstackmachine_controller.go), which
        stands for it while CAPO is mute.
        """
        name = infrastructure_name(machine)
        return _named((*self.servers, *self.mute_machines()), name)

    def mute_machines(self) -> tuple[Object, ...]:
        """Return the OpenStackMachines of which CAPO has said nothing.

        CAPO logs in before it writes a condition, or makes an OpenStackServer
        (``Reconcile`` in openstackmachine_controller.go).
        """
        with_server = set(map(name_of, self.servers))
        return tuple(
            each
            for each in self.infra_machines
            if not (status_of(each) or deleting(each))
            and name_of(each) not in with_server
        )

    def fault(self, obj: Object | None) -> Fault:
        """Return the answer about an object; empty if nobody was asked."""
        return self.faults.get(name_of(obj), Fault())


def _named(objects: Iterable[Object], name: object) -> Object | None:
    return next((each for each in objects if name_of(each) == name), None)


def _deployment_name(machine: Object) -> str:
    return labels_of(machine).get(DEPLOYMENT_LABEL, "")


def infrastructure_name(machine: Object) -> str:
    """Return the name of the OpenStackMachine behind a Machine."""
    reference = spec_of(machine).get("infrastructureRef") or {}
    return str(reference.get("name") or "")


def metadata_of(obj: Object | None) -> Object:
    """Return the object's metadata, or an empty one."""
    return (obj or {}).get("metadata") or {}


def version_of(obj: Object | None) -> str:
    """Return the object's ``resourceVersion``, or ""."""
    return str(metadata_of(obj).get("resourceVersion") or "")


def name_of(obj: Object | None) -> str:
    """Return the object's name."""
    return str(metadata_of(obj).get("name", ""))


def labels_of(obj: Object | None) -> dict[str, str]:
    """Return the object's labels."""
    return metadata_of(obj).get("labels") or {}


def annotations_of(obj: Object | None) -> dict[str, str]:
    """Return the object's annotations."""
    return metadata_of(obj).get("annotations") or {}


def handled_of(addon: Object) -> Object | None:
    """Return an addon as it was when its provider last finished with it.

    It has the spec, the labels and the annotations of that time.

    :returns: None without the provider's note; empty if the note is broken
    """
    note = annotations_of(addon).get(_HANDLED)
    return None if note is None else parsed(note)


def parsed(note: str) -> Object:
    """Return an object in JSON; empty if the text is none."""
    try:
        content = json.loads(note)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def spec_of(obj: Object | None) -> Object:
    """Return the object's spec, or an empty one."""
    return (obj or {}).get("spec") or {}


def status_of(obj: Object | None) -> Object:
    """Return the object's status, or an empty one."""
    return (obj or {}).get("status") or {}


def deleting(obj: Object | None) -> bool:
    """Return whether the deletion of the object was asked for."""
    return bool(metadata_of(obj).get("deletionTimestamp"))


def deleted_at(obj: Object | None) -> float:
    """Return when the deletion was asked for; 0: it was not."""
    return timestamp(metadata_of(obj).get("deletionTimestamp"))


def was_made(obj: Object | None) -> bool:
    """Return whether CAPO has once made all of an object."""
    status = status_of(obj)
    initialization = status.get("initialization") or {}
    return bool(status.get("ready") or initialization.get("provisioned"))


def api_server_of(openstack_cluster: Object | None) -> Object:
    """Return what CAPO is to make for the Kubernetes API, as in v1beta2.

    :returns: ``floatingIP``, ``enableFloatingIP``, ``managedLoadBalancer``
    """
    spec = spec_of(openstack_cluster)
    return spec.get("apiServer") or {
        "floatingIP": spec.get("apiServerFloatingIP"),
        "enableFloatingIP": not spec.get("disableAPIServerFloatingIP"),
        "managedLoadBalancer": spec.get("apiServerLoadBalancer"),
    }


def created_at(obj: Object) -> float:
    """Return when the API server made the object, seconds since 1970."""
    return timestamp(metadata_of(obj).get("creationTimestamp"))


@functools.lru_cache(maxsize=4096)
def timestamp(text: object) -> float:
    """Return a time that Kubernetes wrote, in seconds since 1970; 0: none."""
    if _TIME.fullmatch(str(text)) is None:
        return 0.0
    fields = [int(each) for each in re.findall(r"\d+", str(text))]
    return float(calendar.timegm((*fields[:6], 0, 0, 0)))


def chart_version(cluster: Object | None) -> str:
    """Return the version of the chart that made a Cluster, or nothing.

    A label can't have a plus sign: charts write an underscore for it.
    """
    label = labels_of(cluster).get("helm.sh/chart", "")
    version = re.search(r"-(\d+\..*)", label)
    return version[1].replace("_", "+") if version else ""


def autoscaler_bounds(deployment: Object | None) -> tuple[int, int]:
    """Return the autoscaler's minimum and maximum of a group that it owns."""
    annotations = annotations_of(deployment)
    minimum = annotations.get(AUTOSCALER_MINIMUM) or 0
    return int(minimum), int(annotations[AUTOSCALER_ANNOTATION])
