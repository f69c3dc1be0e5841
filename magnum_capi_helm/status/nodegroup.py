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
import dataclasses
import re
from typing import NamedTuple

from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

_TABLES = conditions.TABLES
_MOVING_REASONS = ("Scaling", "RollingUpdate")
_PLANE = "KubeadmControlPlane"

_PROGRESS = re.compile(
    r"(?:Machines? [^:]+: )?"
    r"(?!.*(?i:fail|error|not found|forbidden|exceeded|denied|invalid"
    r"|refused))"
    r"(?:(?:Control plane components|\S+): )*"
    rf"(?:{'|'.join(_TABLES['awaited'])})|{'|'.join(_TABLES['counted'])}"
)
_BULLET = "* "
#: Seconds for which a control plane may be away while machines change, and
#: after its first start.
_TO_RECOVER, _TO_START = 60.0, 240.0


class Replicas(NamedTuple):
    """Counters of a group; a missing counter is 0."""

    wanted: int
    existing: int
    up_to_date: int
    ready: int


def replicas(obj: view.Object | None) -> Replicas:
    """Return the counters of a KubeadmControlPlane or MachineDeployment.

    The lowest count of new machines holds. ``upToDateReplicas`` sums up what
    MachineSets reported before, so just after a change it counts old machines
    (``setReplicas`` in ``machinedeployment_status.go`` of 1.14), while
    ``updatedReplicas`` counts the newest MachineSet alone.
    """
    counters = conditions.counters(obj)
    new = map(counters.get, ("upToDateReplicas", "updatedReplicas"))
    return Replicas(
        int(view.spec_of(obj).get("replicas") or 0),
        int(counters.get("replicas") or 0),
        min((int(each) for each in new if each is not None), default=0),
        int(counters.get("readyReplicas") or 0),
    )


class _Group(NamedTuple):
    """A group, and its machines.

    :ivar row: in Magnum; None: it has none
    """

    kind: str
    name: str
    obj: view.Object | None
    machines: Sequence[view.Object]
    row: requested_groups.Group | None


def _group(
    objects: view.View, name: str | None, row: requested_groups.Group | None
) -> _Group:
    if name is not None:
        full_name = names.machine_deployment(objects.release, name)
        obj, machines = objects.deployment(name), objects.machines_of(name)
        return _Group("MachineDeployment", full_name, obj, machines, row)
    full_name = names.control_plane(objects.release)
    obj, machines = objects.control_plane, objects.control_plane_machines()
    return _Group(_PLANE, full_name, obj, machines, row)


def branch(
    objects: view.View,
    name: str | None,
    row: requested_groups.Group | None,
    required: Sequence[str] | None = None,
    *,
    notes: bool = True,
) -> tree.Branch:
    """Return the branch of a group.

    :param name: the chart's name of the group; None: the control plane
    :param required: conditions of a control plane that must be true where
        they exist; None: the group has workers
    """
    group = _group(objects, name, row)
    count = row.count if row and name not in objects.autoscaled() else None
    text = waiting_reason(group.obj, count, required)
    return _grow(objects, group, text, notes=notes)


def leaving(objects: view.View, row: requested_groups.Group) -> tree.Branch:
    """Return the branch of a group that is being deleted."""
    group = _group(objects, row.chart_name, row)
    obj, machines = group.obj, group.machines
    if obj is not None and not (view.deleting(obj) and machines):
        text = with_message(obj, "still to be removed")
    else:
        text = machine.remaining(machines, objects)
    branch = _grow(objects, group, text)
    # The reason has the fault of a machine.
    children = tuple(map(tree.quiet, branch.children))
    return dataclasses.replace(branch, children=children)


def _grow(
    objects: view.View, group: _Group, text: str, *, notes: bool = True
) -> tree.Branch:
    """Return the branch of a group.

    Faults of the machines of a settled group are notes. A machine that has
    a fault explains the problem of its group.

    :param text: why it is not done
    :param notes: grow the machines of a settled group
    """
    text = text or machine.unfinished_reason(group.machines)
    parts = [*_health_checks(objects, group)]
    if text or notes:
        parts += machine.branches(group.machines, objects)
    is_problem = bool(problem_message(group.obj)) and not any(
        each.reason.rank <= tree.Rank.BLOCKED for each in parts
    )
    rank = tree.Rank.BLOCKED if is_problem else tree.Rank.PROGRESS
    reason = tree.Reason(text, rank)
    branch = tree.grow(
        *(group.kind, group.name, reason, _note(group), parts),
        title=f"nodegroup {group.row.name}" if group.row else "",
        entries=tuple(_entries(objects, group)),
    )
    return branch if text and group.row else tree.quiet(branch)


def _health_checks(objects: view.View, group: _Group) -> Iterator[tree.Branch]:
    """Yield a health check that lets no machine be replaced.

    The chart gives it the name of its group.
    """
    for each in objects.health_checks:
        rank = tree.Rank.HEALTH_CHECK
        reason = conditions.first_error(each, "remediation", rank)
        if reason and view.name_of(each) == group.name:
            yield tree.grow("MachineHealthCheck", group.name, reason)


def _note(group: _Group) -> str:
    """Return Magnum's name of a group, and its count of machines."""
    row, obj = group.row, group.obj
    note = f"nodegroup {row.name}" if row else "no nodegroup of Magnum's"
    if obj is not None:
        numbers = replicas(obj)
        note += f", {numbers.ready} of {numbers.wanted} ready"
    if view.AUTOSCALER_ANNOTATION in view.annotations_of(obj):
        minimum, maximum = view.autoscaler_bounds(obj)
        note += f", autoscaled from {minimum} to {maximum}"
    return note


def _entries(objects: view.View, group: _Group) -> Iterator[tree.Entry]:
    """Yield what the health map says about a group that is not available.

    A group whose machines are on their way is not unhealthy.
    """
    condition, is_plane = conditions.available(group.obj), group.kind == _PLANE
    key = f"nodegroup.{objects.short_name(group.name)}"
    key = "controlplane" if is_plane else key
    text = messages.plain(condition.message) or "not available"
    if not condition and is_plane:
        yield tree.Entry(key, "unknown", tree.UNKNOWN)
    if not condition or condition.well or view.deleting(group.obj):
        return
    if is_plane and _has_failed(objects):
        yield tree.Entry(key, text, tree.UNHEALTHY)
    elif not condition.bad:
        yield tree.Entry(key, f"unknown: {text}", tree.UNKNOWN)
    elif not _changes(objects, group):
        yield tree.Entry(key, text, tree.UNHEALTHY)
    else:
        yield tree.Entry(key, f"changing: {text}", tree.UNKNOWN)


def _changes(objects: view.View, group: _Group) -> bool:
    """Return whether machines of a group, or nodes, are on their way."""
    return is_moving(group.obj) or any(
        view.deleting(each) or machine.is_starting(each, objects.clock)
        for each in group.machines
    )


def _has_failed(objects: view.View) -> bool:
    """Return whether a control plane that once ran can't serve.

    It has no API server or no etcd quorum. A change of machines takes either
    away for a moment (``setAvailableCondition`` in
    ``controlplane/kubeadm/internal/controllers/status.go`` of 1.9 to 1.14).
    If etcd does not list its members, the condition is Unknown.
    """
    by_type = conditions.v1beta2(objects.control_plane)
    started, serves = by_type["Initialized"], by_type["Available"]
    is_away = serves.bad or serves.reason == "InspectionFailed"
    if not (started.well and is_away and serves.since):
        return False
    moment = max(serves.since + _TO_RECOVER, started.since + _TO_START)
    return objects.clock.has_passed(moment)


def waiting_reason(
    obj: view.Object | None, count: int | None, required: Sequence[str] | None
) -> str:
    """Return why a group is not done, or an empty string.

    :param count: machines that the rows want; None: the autoscaler chooses
    :param required: conditions of a control plane that must be true where
        they exist; None: the group has workers
    """
    if conditions.paused(obj):
        return "the operator has paused it: nothing is changed"
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
    change = "" if view.deleting(obj) else _message(obj, _TABLES["changes"])
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
    moving = _moving(obj)
    return f"{progress}, {moving[0].type}" if moving else ""


def _condition_reason(obj: view.Object | None, required: Sequence[str]) -> str:
    """Return which condition of a control plane is not well."""
    if not conditions.available(obj).well:
        return "not available yet"
    for condition in conditions.merged(obj).listed(required):
        if not condition.well:
            return f"{condition.type} is {condition.status}"
    return ""


def problem_message(obj: view.Object | None) -> str:
    """Return the problem that Cluster API reports of a group.

    :returns: empty where it reports none, or only progress
    """
    types = ["Deleting"] if view.deleting(obj) else _TABLES["problems"]
    return _message(obj, types)


def _message(obj: view.Object | None, types: Sequence[str]) -> str:
    """Return the first message that is not progress; bad before Unknown."""
    if not conditions.is_current(obj):
        return ""
    present = conditions.merged(obj).listed(types)
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


def is_settled(obj: view.Object) -> bool:
    """Return whether a group has all its machines, ready."""
    return len(set(replicas(obj))) == 1 and not is_moving(obj)


def is_moving(obj: view.Object | None) -> bool:
    """Return whether machines of a group are on their way in or out."""
    numbers = replicas(obj)
    old = conditions.v1beta1(obj).values()
    return (
        not conditions.is_current(obj)
        or not numbers.wanted == numbers.existing == numbers.up_to_date
        or bool(_moving(obj))
        or any(each.reason.startswith(_MOVING_REASONS) for each in old)
    )


def _moving(obj: view.Object | None) -> list[conditions.Condition]:
    """Return the conditions with which machines are on their way."""
    present = conditions.v1beta2(obj).listed(_TABLES["moving"])
    return [each for each in present if each.bad]
