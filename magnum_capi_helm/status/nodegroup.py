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
from magnum_capi_helm.status import node
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

_TABLES = conditions.TABLES
_MOVING_REASONS = ("Scaling", "RollingUpdate")

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
    status = view.status_of(obj)
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    counters = {**status, **(status.get("v1beta2") or {})}
    new = [
        counters.get("upToDateReplicas"),
        status.get("updatedReplicas"),
        old.get("updatedReplicas"),
    ]
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


def control_plane(
    objects: view.View,
    row: requested_groups.Group | None,
    required: Sequence[str],
) -> tree.Branch:
    """Return the branch of the control plane.

    :param required: conditions that must be true where they exist
    """
    name = names.control_plane(objects.release)
    obj, machines = objects.control_plane, objects.control_plane_machines()
    group = _Group("KubeadmControlPlane", name, obj, machines, row)
    text = waiting_reason(obj, row.count if row else None, required)
    branch = _branch(objects, group, text)
    if conditions.available(obj):
        return branch
    unknown = tree.Entry("controlplane", "unknown", tree.UNKNOWN)
    return dataclasses.replace(branch, entries=(unknown,))


def workers(
    objects: view.View, name: str, row: requested_groups.Group | None
) -> tree.Branch:
    """Return the branch of a group of workers.

    :param name: the chart's name of the group
    """
    group = _workers(objects, name, row)
    count = row.count if row and name not in objects.autoscaled() else None
    text = waiting_reason(group.obj, count)
    return _branch(objects, group, text)


def leaving(objects: view.View, row: requested_groups.Group) -> tree.Branch:
    """Return the branch of a group that is being deleted."""
    group = _workers(objects, row.chart_name, row)
    obj, machines = group.obj, group.machines
    if obj is not None and not (view.deleting(obj) and machines):
        text = with_message(obj, "still to be removed")
    else:
        text = machine.remaining(machines, objects)
    branch = _branch(objects, group, text)
    # The reason has the fault of a machine.
    children = tuple(map(tree.quiet, branch.children))
    return dataclasses.replace(branch, children=children)


def _workers(
    objects: view.View, name: str, row: requested_groups.Group | None
) -> _Group:
    full_name = names.machine_deployment(objects.release, name)
    obj, machines = objects.deployment(name), objects.machines_of(name)
    return _Group("MachineDeployment", full_name, obj, machines, row)


def _branch(objects: view.View, group: _Group, text: str) -> tree.Branch:
    """Return the branch of a group.

    Faults of the machines of a settled group are notes.

    :param text: why it is not done
    """
    text = text or machine.unfinished_reason(group.machines)
    is_problem = bool(problem_message(group.obj))
    rank = tree.Rank.BLOCKED if is_problem else tree.Rank.PROGRESS
    branch = tree.grow(
        group.kind,
        group.name,
        tree.Reason(text, rank),
        _note(group),
        (
            *_health_checks(objects, group),
            *machine.branches(group.machines, objects),
        ),
        title=f"nodegroup {group.row.name}" if group.row else "",
        entries=_entries(objects, group),
    )
    return branch if text and group.row else tree.quiet(branch)


def _health_checks(objects: view.View, group: _Group) -> Iterator[tree.Branch]:
    """Yield a health check that lets no machine be replaced.

    The chart gives it the name of its group.
    """
    for each in objects.health_checks:
        reason = conditions.first_error(
            each, ("RemediationAllowed",), tree.Rank.HEALTH_CHECK
        )
        if reason and view.name_of(each) == group.name:
            yield tree.grow("MachineHealthCheck", group.name, reason)


def _note(group: _Group) -> str:
    """Return Magnum's name of a group, and its count of machines."""
    note, obj = "no nodegroup of Magnum's", group.obj
    if group.row:
        note = f"nodegroup {group.row.name}"
    if obj is None:
        return note
    numbers = replicas(obj)
    note = f"{note}, {numbers.ready} of {numbers.wanted} ready"
    if view.AUTOSCALER_ANNOTATION not in view.annotations_of(obj):
        return note
    minimum, maximum = view.autoscaler_bounds(obj)
    return f"{note}, autoscaled from {minimum} to {maximum}"


def _entries(objects: view.View, group: _Group) -> tuple[tree.Entry, ...]:
    """Return what the health map says about a group that is not available.

    A group whose machines are on their way is not unhealthy.
    """
    obj = group.obj
    condition = conditions.available(obj)
    if not condition or condition.well or view.deleting(obj):
        return ()
    key = f"nodegroup.{objects.short_name(view.name_of(obj))}"
    if obj is objects.control_plane:
        key = "controlplane"
    message = messages.plain(condition.message) or "not available"
    if not condition.bad:
        return (tree.Entry(key, f"unknown: {message}", tree.UNKNOWN),)
    if key == "controlplane" and _has_failed(objects):
        return (tree.Entry(key, message, tree.UNHEALTHY),)
    if is_moving(obj) or any(
        view.deleting(each) or node.is_starting(each, objects.clock)
        for each in group.machines
    ):
        return (tree.Entry(key, f"changing: {message}", tree.UNKNOWN),)
    return (tree.Entry(key, message, tree.UNHEALTHY),)


def _has_failed(objects: view.View) -> bool:
    """Return whether a control plane that once ran can't serve.

    It has no API server or no etcd quorum. A change of machines takes either
    away for a moment (``setAvailableCondition`` in
    ``controlplane/kubeadm/internal/controllers/status.go`` of 1.9 to 1.14).
    """
    by_type = conditions.v1beta2(objects.control_plane)
    started, serves = by_type["Initialized"], by_type["Available"]
    if not (started.well and serves.bad and serves.since):
        return False
    moment = max(serves.since + _TO_RECOVER, started.since + _TO_START)
    return objects.clock.has_passed(moment)


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
    for condition in conditions.v1beta2(obj).listed(_TABLES["moving"]):
        if condition.bad:
            return f"{progress}, {condition.type}"
    return ""


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
    moving = conditions.v1beta2(obj).listed(_TABLES["moving"])
    old = conditions.v1beta1(obj).values()
    return (
        not conditions.is_current(obj)
        or not numbers.wanted == numbers.existing == numbers.up_to_date
        or any(each.bad for each in moving)
        or any(each.reason.startswith(_MOVING_REASONS) for each in old)
    )
