# SPDX-License-Identifier: Apache-2.0

"""What Cluster API says of a control plane, or of a MachineDeployment.

Most messages of these conditions only count machines, or wait for something
that is on its way. They are left out: Magnum's own count says the same. What
remains tells of a problem, or why machines are replaced.

Source: ``controlplane/kubeadm/internal/controllers/status.go`` and
``internal/controllers/machinedeployment/machinedeployment_status.go`` of
Cluster API 1.9 to 1.14, and for the old set ``machinedeployment_sync.go``,
``machineset_controller.go`` and ``workload_cluster_conditions.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import re

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import view

#: Types of both sets; those that know the cause come before the summaries.
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
#: They say why machines are replaced.
_CHANGES = ("RollingOut", "MachinesSpecUpToDate", "MachinesUpToDate")
_DELETION = ("Deleting",)

#: Lines that wait, behind the path of their condition. A line with one of
#: these words tells a problem; names of machines may contain any word.
_WAITS = re.compile(
    r"(?:Machines? [^:]+: )?"
    r"(?!.*(?i:fail|error|not found|forbidden|exceeded|denied|invalid"
    r"|refused))"
    r"(?:(?:Control plane components|\S+): )*"
    r"(?:Waiting ?[Ff]or.*"
    r"|Control plane not yet initialized"
    r"|Condition (?:\S+ )?not yet reported"
    r"|\S+ status\.\S+ is false"
    r"|Machine (?:is deleting|deletion in progress).*)"
)
#: Lines that count.
_PROGRESS = re.compile(
    r"Scaling (?:up|down)(?: control plane| MachineSet)?"
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


def problem(obj: view.Object | None) -> str:
    """Return what keeps a group's controller from its work, as it says.

    :returns: empty where it says nothing, or only how far it is
    """
    if not conditions.current(obj or {}):
        return ""
    if view.deleting(obj):
        return _said(obj, _DELETION)
    return _said(obj, _PROBLEMS)


def change(obj: view.Object | None) -> str:
    """Return why a group's machines are replaced, or an empty string."""
    if not conditions.current(obj or {}) or view.deleting(obj):
        return ""
    return _said(obj, _CHANGES)


def _said(obj: view.Object | None, names: Sequence[str]) -> str:
    """The first message that tells anything; Unknown comes after bad."""
    new, old = conditions.new(obj), conditions.old(obj)
    # The old set repeats most of the new one.
    known = {**old, **new}
    found = [known[name] for name in names if name in known]
    bad = [each for each in found if each.bad]
    unknown = [each for each in found if not (each.bad or each.well)]
    for condition in (*bad, *unknown):
        if text := "\n".join(_telling(condition.message)):
            return plain_words.plain(text)
    return ""


def _telling(message: str) -> Iterator[str]:
    """The lines of a message that are no progress, below their headings."""
    headings: list[tuple[int, str]] = []
    for line in message.splitlines():
        level = len(line) - len(line.lstrip())
        level += len(_BULLET) * line.lstrip().startswith(_BULLET)
        headings = [each for each in headings if each[0] < level]
        if line.endswith(":"):
            headings.append((level, line))
        elif line and not _is_progress(line.strip().removeprefix(_BULLET)):
            yield from (heading for _, heading in headings)
            headings = []
            yield line


def _is_progress(line: str) -> bool:
    return bool(_WAITS.fullmatch(line) or _PROGRESS.fullmatch(line))
