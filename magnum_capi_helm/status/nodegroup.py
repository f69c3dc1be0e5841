# SPDX-License-Identifier: Apache-2.0

"""The state of one group of machines, and the reason if it is not done.

A group is a KubeadmControlPlane or a MachineDeployment. Both are done when the
controller has seen the newest spec, and wanted = existing = up to date =
ready, with no machine on its way in or out.

Most messages of a group's conditions only count machines, or wait for an
object that is on its way. The driver leaves them out: its own count says the
same. The rest names a problem, or why machines are replaced. Source:
``controlplane/kubeadm/internal/controllers/status.go`` and
``internal/controllers/machinedeployment/machinedeployment_status.go`` of
Cluster API 1.9 to 1.14, and for the v1beta1 set ``machinedeployment_sync.go``,
``machineset_controller.go`` and ``workload_cluster_conditions.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import re
from typing import NamedTuple

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import view

_MOVING = ("RollingOut", "ScalingUp", "ScalingDown", "Remediating")
_MOVING_REASONS = ("Scaling", "RollingUpdate")

_PROBLEMS = (
    "CertificatesAvailable",
    "MachinesCreated",
    "ScalingUp",
    "ScalingDown",
    "Remediating",
    "MachineSetReady",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "MachinesReady",
    "Available",
    "Initialized",
    "Resized",
    "Paused",
    "Ready",
)
_CHANGES = ("RollingOut", "MachinesSpecUpToDate", "MachinesUpToDate")
_DELETION = ("Deleting",)

_PROGRESS = re.compile(
    r"(?:Machines? [^:]+: )?"
    r"(?!.*(?i:fail|error|not found|forbidden|exceeded|denied|invalid"
    r"|refused))"
    r"(?:(?:Control plane components|\S+): )*"
    r"(?:Waiting ?[Ff]or.*"
    r"|Control plane not yet initialized"
    r"|Condition (?:\S+ )?not yet reported"
    r"|\S+ status\.\S+ is false"
    r"|Machine (?:is deleting|deletion in progress).*"
    # Of a deletion; else the condition of the machine itself is told.
    r"|Node \S+ has been deleted)"
    r"|Scaling (?:up|down)(?: control plane| MachineSet)?"
    r"(?: from \d+)? to \d+ replicas(?: \(actual \d+\))?"
    r"|\d+ available replicas, at least \d+ required(?: \(.*\))?"
    r"|Minimum availability requires \d+ replicas, current \d+ available"
    r"|Rolling \d+ replicas with outdated spec \(.*\)"
    r"|Rolling out \d+ not up-to-date replicas"
    r"|Deleting \d+ (?:Machine|MachineSet)s?"
    r"|Deletion completed"
    r"|\d+ of \d+ completed"
    r"|MachineSet not found"
    r"|.*\"ControlPlane(?:IsStable|VersionSkew)\" preflight check failed.*"
    r"|Following Machines are reporting .* info: .*"
)
_BULLET = "* "


class Replicas(NamedTuple):
    """Counters of a group; a missing counter is 0."""

    wanted: int
    existing: int
    up_to_date: int
    ready: int


def replicas(obj: view.Object | None) -> Replicas:
    """Return the counters of a KubeadmControlPlane or MachineDeployment."""
    status = view.status_of(obj)
    counters = {
        "upToDateReplicas": status.get("updatedReplicas"),
        **status,
        **(status.get("v1beta2") or {}),
    }
    names = ("replicas", "upToDateReplicas", "readyReplicas")
    existing, up_to_date, ready = (int(counters.get(e) or 0) for e in names)
    wanted = int(view.spec_of(obj).get("replicas") or 0)
    return Replicas(wanted, existing, up_to_date, ready)


def waiting_reason(
    obj: view.Object | None,
    count: int | None,
    required: Sequence[str] | None = None,
) -> str:
    """Return why a group is not done, or an empty string.

    :param count: machines that the rows want; None: the autoscaler chooses
    :param required: conditions of a control plane that must be true where
        they exist; None: the group has workers
    """
    reason = _count_reason(obj, count)
    if not reason and required is not None:
        reason = _condition_reason(obj, required)
    return with_message(obj, reason)


def with_message(obj: view.Object | None, reason: str) -> str:
    """Return a reason together with Cluster API's message about the group."""
    if not reason:
        return ""
    if problem := problem_message(obj):
        return f"{problem} ({reason})"
    change = "" if view.deleting(obj) else _message(obj, _CHANGES)
    return f"{reason}: {change}" if change else reason


def _count_reason(obj: view.Object | None, count: int | None) -> str:
    """Return which number of the group is not the wanted one."""
    if obj is None:
        return "not created yet"
    if view.deleting(obj):
        return "being deleted"
    numbers = replicas(obj)
    settled = len(set(numbers)) == 1
    wanted = numbers.wanted if count is None else count
    progress = f"{min(numbers.ready, wanted)} of {wanted} machines ready"
    if not conditions.is_current(obj) or numbers.wanted != wanted:
        if settled and numbers.wanted == wanted:
            return "Cluster API has not seen the latest change yet"
        return progress
    if numbers.existing > wanted:
        surplus = numbers.existing - wanted
        return f"{surplus} machine{'s' * (surplus > 1)} still to be removed"
    if numbers.up_to_date < min(wanted, numbers.ready):
        return f"{numbers.up_to_date} of {wanted} machines up to date"
    if not settled:
        return progress
    for condition in conditions.listed(conditions.v1beta2(obj), _MOVING):
        if condition.bad:
            return f"{progress}, {condition.type}"
    return ""


def _condition_reason(obj: view.Object | None, required: Sequence[str]) -> str:
    """Return which condition of a control plane is not well."""
    available = conditions.available(obj)
    if available is None or not available.well:
        return "not available yet"
    for condition in conditions.listed(conditions.merged(obj), required):
        if not condition.well:
            return f"{condition.type} is {condition.status}"
    return ""


def problem_message(obj: view.Object | None) -> str:
    """Return the problem that Cluster API reports of a group.

    :returns: empty where it reports none, or only progress
    """
    return _message(obj, _DELETION if view.deleting(obj) else _PROBLEMS)


def _message(obj: view.Object | None, types: Sequence[str]) -> str:
    """Return the first message that is not progress; bad before Unknown."""
    if not conditions.is_current(obj):
        return ""
    present = conditions.listed(conditions.merged(obj), types)
    not_well = [each for each in present if not each.well]
    not_well.sort(key=lambda each: not each.bad)
    texts = ("\n".join(_without_progress(e.message)) for e in not_well)
    return messages.plain(messages.first(texts))


def _without_progress(message: str) -> Iterator[str]:
    """Yield the lines of a message that are not progress.

    A heading comes along if any line below it does.
    """
    headings: list[tuple[int, str]] = []
    for line in message.splitlines():
        level = len(line) - len(line.lstrip())
        level += len(_BULLET) * line.lstrip().startswith(_BULLET)
        headings = [each for each in headings if each[0] < level]
        if line.endswith(":"):
            headings.append((level, line))
        elif line and not _PROGRESS.fullmatch(
            line.strip().removeprefix(_BULLET)
        ):
            yield from (heading for _, heading in headings)
            headings = []
            yield line


def is_moving(obj: view.Object | None) -> bool:
    """Return whether machines of a group are on their way in or out."""
    numbers = replicas(obj)
    moving = conditions.listed(conditions.v1beta2(obj), _MOVING)
    old = conditions.v1beta1(obj).values()
    return (
        not conditions.is_current(obj)
        or not numbers.wanted == numbers.existing == numbers.up_to_date
        or any(each.bad for each in moving)
        or any(each.reason.startswith(_MOVING_REASONS) for each in old)
    )
