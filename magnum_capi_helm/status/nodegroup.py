# SPDX-License-Identifier: Apache-2.0

"""Whether a group of machines is what it ought to be.

The rule for "done" is the same for control plane and workers: the controller
has seen the newest spec, and wanted = existing = up to date = ready, with
nothing on its way in or out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import dataclasses
import re

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import group_conditions
from magnum_capi_helm.status import view

#: Of the old set, which has no conditions for it.
_MOVING_REASONS = ("Scaling", "RollingUpdate")
_UNSEEN = "Cluster API has not seen the latest change yet"
_MOVING = ("RollingOut", "ScalingUp", "ScalingDown", "Remediating")


@dataclasses.dataclass(frozen=True)
class Replicas:
    """Counters of a group; what the object does not say counts as 0."""

    wanted: int
    existing: int
    up_to_date: int
    ready: int

    @property
    def settled(self) -> bool:
        """Wanted, existing, up to date and ready are one number."""
        return self.wanted == self.existing == self.up_to_date == self.ready


def replicas(obj: view.Object) -> Replicas:
    """The counters of a KubeadmControlPlane or MachineDeployment."""
    status = view.status_of(obj)
    counters = {**status, **(status.get("v1beta2") or {})}
    up_to_date = counters.get(
        "upToDateReplicas", counters.get("updatedReplicas")
    )
    return Replicas(
        wanted=int(view.spec_of(obj).get("replicas") or 0),
        existing=int(counters.get("replicas") or 0),
        up_to_date=int(up_to_date or 0),
        ready=int(counters.get("readyReplicas") or 0),
    )


def unsettled(obj: view.Object | None, count: int | None) -> str:
    """Why a group is not done, in a few words; empty when it is.

    :param count: machines that the rows want; None: the autoscaler chooses
    """
    if obj is None:
        return "not created yet"
    if view.deleting(obj):
        return "being deleted"
    numbers = replicas(obj)
    wanted = numbers.wanted if count is None else count
    progress = f"{min(numbers.ready, wanted)} of {wanted} machines ready"
    if not conditions.current(obj) or numbers.wanted != wanted:
        done = numbers.settled and numbers.wanted == wanted
        return _UNSEEN if done else progress
    if why := _miscounted(numbers, wanted, progress):
        return why
    known = conditions.new(obj)
    for name in _MOVING:
        if name in known and known[name].status == conditions.TRUE:
            return f"{progress}, {name}"
    return ""


def _miscounted(numbers: Replicas, wanted: int, progress: str) -> str:
    """Which count is not the wanted one; empty when all are."""
    if numbers.existing > wanted:
        many = numbers.existing - wanted
        return f"{many} machine{'s' * (many > 1)} still to be removed"
    if numbers.up_to_date < min(wanted, numbers.ready):
        return f"{numbers.up_to_date} of {wanted} machines up to date"
    return "" if numbers.settled else progress


def control_plane_unsettled(
    obj: view.Object | None, count: int | None, required: Sequence[str]
) -> str:
    """As :func:`unsettled`, and the control plane's own conditions.

    :param required: conditions that must be true where they exist
    """
    if why := unsettled(obj, count):
        return why
    known = {**conditions.old(obj), **conditions.new(obj)}
    available = conditions.available(obj)
    if available is None or not available.well:
        return "not available yet"
    for name in required:
        if name in known and not known[name].well:
            return f"{name} is {known[name].status}"
    return ""


def told(obj: view.Object | None, why: str) -> str:
    """Return why a group is not done, in Cluster API's words and in numbers.

    :param why: of :func:`unsettled` or :func:`control_plane_unsettled`
    """
    if not why:
        return ""
    if problem := group_conditions.problem(obj):
        return f"{problem} ({why})"
    change = group_conditions.change(obj)
    return f"{why}: {change}" if change else why


def moving(obj: view.Object) -> bool:
    """Whether machines of a group are on their way in or out."""
    numbers = replicas(obj)
    known = conditions.new(obj)
    return (
        not conditions.current(obj)
        or not numbers.wanted == numbers.existing == numbers.up_to_date
        or any(name in known and known[name].bad for name in _MOVING)
        or any(
            each.reason.startswith(_MOVING_REASONS)
            for each in conditions.old(obj).values()
        )
    )


def addresses(machines: Sequence[view.Object]) -> list[str]:
    """One address of each machine that stays: internal before external."""
    found = []
    for machine in machines:
        known = {
            each.get("type"): each.get("address")
            for each in reversed(
                view.status_of(machine).get("addresses") or []
            )
        }
        address = known.get("InternalIP") or known.get("ExternalIP")
        if address and not view.deleting(machine):
            found.append(str(address))
    return found


def version(machines: Sequence[view.Object]) -> str | None:
    """The oldest Kubernetes that runs on a group's nodes, as v1.34.2."""
    running = [
        found
        for machine in machines
        if view.status_of(machine).get("nodeRef")
        and not view.deleting(machine)
        and (found := _version_of(machine))
    ]
    return oldest(running)


def runtime(machines: Sequence[view.Object]) -> str | None:
    """What runs the containers, as the first node reports it."""
    for machine in machines:
        info = view.status_of(machine).get("nodeInfo") or {}
        if found := info.get("containerRuntimeVersion"):
            return str(found)
    return None


def _version_of(machine: view.Object) -> str:
    info = view.status_of(machine).get("nodeInfo") or {}
    found = info.get("kubeletVersion") or view.spec_of(machine).get("version")
    return f"v{str(found).removeprefix('v')}" if found else ""


def oldest(versions: Iterable[str]) -> str | None:
    """The oldest of some versions; v1.34.9 comes before v1.34.10."""
    return min(versions, key=_order, default=None)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version))
