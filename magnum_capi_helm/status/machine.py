# SPDX-License-Identifier: Apache-2.0

"""One machine: its fault, its deletion, what is below it, and its facts.

A fault is that of the lowest object that has one. A condition that only says
that a controller waits for another one is none.

Sources: Cluster API 1.8 to 1.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from magnum_capi_helm.model import versions
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import node
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

_STEPS = conditions.TABLES["deletion_steps"]
#: Messages of a deletion that do not say what the deletion waits for.
_MUTE_STEPS = ("", "Deletion started", "Deletion completed")
#: Words for pods that keep a node from being drained (``ConditionMessage`` in
#: ``internal/controllers/machine/drain/drain.go`` of 1.13).
_BLOCKED_DRAIN = ("cannot evict pod", "failed to evict Pod")
#: Finalizers of Cluster API and its providers are below this domain.
_OWN_FINALIZER = "cluster.x-k8s.io"

#: Seconds after which a server that runs without a node is a problem. kubeadm
#: takes two minutes on a slow server.
_TO_JOIN = 300.0


def is_settled(machine: view.Object) -> bool:
    """Return whether a machine is ready, and stays."""
    both = conditions.merged(machine)["Ready"], node.condition_of(machine)
    has_node = bool(view.status_of(machine).get("nodeRef"))
    ready = all(each.well for each in both if each)
    return has_node and ready and not view.deleting(machine)


def has_failed_check(machine: view.Object) -> bool:
    """Return whether a MachineHealthCheck has found a machine unhealthy."""
    return conditions.merged(machine)["HealthCheckSucceeded"].bad


def unfinished_reason(machines: Iterable[view.Object]) -> str:
    """Return which machine of a group is not what its counters claim.

    A node of another minor version than its Machine comes from an image that
    is not what its property says.
    """
    for each in machines:
        status, name = view.status_of(each), view.name_of(each)
        if view.deleting(each):
            continue
        if not status.get("nodeRef"):
            return f"machine {name} has no node yet"
        wanted = str(view.spec_of(each).get("version") or "")
        info = status.get("nodeInfo") or {}
        runs = str(info.get("kubeletVersion") or wanted)
        numbers = versions.number(wanted), versions.number(runs)
        minors = [each[:2] for each in numbers if each]
        if len(set(minors)) > 1:
            return (
                f"machine {name} runs Kubernetes {runs}, not {wanted}: its "
                "image has another version than its property kube_version"
            )
    return ""


def branches(
    machines: Iterable[view.Object], objects: view.View
) -> list[tree.Branch]:
    """Return the branches of machines; the oldest come first."""
    by_age = sorted(
        machines, key=lambda each: (view.created_at(each), view.name_of(each))
    )
    return [branch(each, objects) for each in by_age]


def branch(machine: view.Object, objects: view.View) -> tree.Branch:
    """Return the branch of a machine, with its server and its node."""
    name = view.name_of(machine)
    server = infrastructure.server(objects, machine)
    parts = tuple(filter(None, (server, node.branch(machine, objects.clock))))
    if view.deleting(machine):
        reason = _deletion_reason(machine, objects)
        state = tree.State.NOT_READY
    else:
        reason = _reason(machine, objects, server)
        state = tree.State.NOT_READY if reason else tree.State.READY
    return tree.Branch(
        *("Machine", name, state, _note(machine), reason, parts),
        title=f"machine {name}",
        entries=node.entries(machine, objects.clock),
    )


def _note(machine: view.Object) -> str:
    """Return a machine's address, server and Kubernetes version."""
    server = str(view.spec_of(machine).get("providerID") or "")
    notes = [
        "being deleted" if view.deleting(machine) else "",
        *addresses([machine]),
        f"server {server.rpartition('/')[2]}" if server else "",
        version([machine]) or "",
    ]
    return ", ".join(filter(None, notes))


def _reason(
    machine: view.Object,
    objects: view.View,
    server: tree.Branch | None,
) -> tree.Reason:
    """Return a machine's own fault, else what Cluster API waits for.

    Its conditions repeat the fault of its server.
    """
    infra_machine = objects.infra_machine(machine)
    if conditions.paused(machine) or conditions.paused(infra_machine):
        text = "the operator has paused it: nothing is changed"
        return tree.Reason(text, tree.Rank.BLOCKED)
    reason = tree.NONE
    if server is None or not server.reason:
        reason = infrastructure.error(infra_machine) or conditions.first_error(
            machine, conditions.TABLES["server"], tree.Rank.CLOUD
        )
    reason = (
        reason
        or conditions.first_error(
            machine,
            conditions.TABLES["health_check"],
            tree.Rank.HEALTH_CHECK,
        )
        or _unjoined_reason(machine, objects)
    )
    condition = conditions.merged(machine)["Ready"]
    if reason or condition.well:
        return reason
    message = conditions.words(condition)
    if message and not view.spec_of(machine).get("providerID"):
        # Cluster API also lists what depends on a server.
        return tree.Reason(f"no server yet: {message.partition('; ')[0]}")
    phase = str(view.status_of(machine).get("phase") or "")
    return tree.Reason(message or phase or "Cluster API has reported nothing")


def _unjoined_reason(machine: view.Object, objects: view.View) -> tree.Reason:
    """Tell that a server runs without a node.

    Its cloud-init or kubeadm has failed, which Cluster API can't see. It waits
    until its health check replaces the machine. The console has the cause.
    """
    since = conditions.infrastructure_since(machine)
    joined = view.status_of(machine).get("nodeRef")
    if joined or not since or not objects.clock.has_passed(since + _TO_JOIN):
        return tree.NONE
    server = view.name_of(objects.infra_machine(machine))
    return tree.Reason(
        f"its server has run for {_TO_JOIN / 60:.0f} minutes and is no node "
        "yet: `openstack console log show "
        f"{server or view.name_of(machine)}` may say why",
        tree.Rank.BLOCKED,
        since,
    )


def _deletion_reason(machine: view.Object, objects: view.View) -> tree.Reason:
    """Return the obstacle to a machine's deletion.

    A fault comes first, then finalizers that no controller below removes,
    then the current step of Cluster API.
    """
    raw = _deletion_step(machine)
    step, code = messages.explained(raw)
    if any(words in raw for words in _BLOCKED_DRAIN):
        return tree.Reason(step, tree.Rank.CLOUD, code=code)
    below = (objects.server(machine), objects.infra_machine(machine), machine)
    finalizers = messages.first(map(_foreign_finalizers, below))
    return (
        infrastructure.error(objects.infra_machine(machine))
        or tree.Reason(finalizers, tree.Rank.BLOCKED)
        or tree.Reason(step)
    )


def _deletion_step(machine: view.Object) -> str:
    """Return Cluster API's message about a step of a machine's deletion."""
    for by_type in (conditions.v1beta2(machine), conditions.v1beta1(machine)):
        for condition in by_type.listed(_STEPS):
            message = condition.message or _STEPS[condition.type]
            if condition.bad and message not in _MUTE_STEPS:
                return message
    return ""


def _foreign_finalizers(obj: view.Object | None) -> str:
    """Return the finalizers of other programs.

    They hold an object once Cluster API has removed its own.
    """
    finalizers = view.metadata_of(obj).get("finalizers") or []
    is_own = any(_OWN_FINALIZER in each for each in finalizers)
    if obj is None or not view.deleting(obj) or not finalizers or is_own:
        return ""
    name = f"{obj.get('kind') or 'object'} {view.name_of(obj)}"
    return f"{name} waits for the finalizers {', '.join(finalizers)}"


def remaining(machines: Sequence[view.Object], objects: view.View) -> str:
    """Return the count of machines, three names, and the reason of one.

    A fault of any machine comes before the step of another machine. The text
    up to "; " changes only with the machines that are left.
    """
    machines = sorted(machines, key=view.name_of)
    count = len(machines)
    names = [view.name_of(each) for each in machines]
    left = f"{count} machine{'s' * (count > 1)} still to be deleted: "
    left += ", ".join(names[:3])
    reasons = [
        (name, part.reason)
        for machine, name in zip(machines, names, strict=True)
        for part in tree.walk(branch(machine, objects))
        if part.reason
        and (view.deleting(machine) or part.reason.rank < tree.Rank.BLOCKED)
    ]
    if not reasons:
        return left
    name, reason = min(reasons, key=lambda each: each[1].rank)
    return f"{left}; machine {name}: {reason.text}{reason.ending}"


def addresses(machines: Iterable[view.Object]) -> list[str]:
    """Return one address of each machine that stays, internal if it can."""
    staying = [each for each in machines if not view.deleting(each)]
    return list(filter(None, map(_address, staying)))


def _address(machine: view.Object) -> str:
    by_type = {
        each.get("type"): each.get("address")
        for each in reversed(view.status_of(machine).get("addresses") or [])
    }
    return str(by_type.get("InternalIP") or by_type.get("ExternalIP") or "")


def version(machines: Iterable[view.Object]) -> str | None:
    """Return the oldest Kubernetes on the machines' nodes, such as v1.34.2."""
    staying = [each for each in machines if not view.deleting(each)]
    return oldest(filter(None, map(_version, staying)))


def _version(machine: view.Object) -> str:
    status = view.status_of(machine)
    info = status.get("nodeInfo") or {}
    text = info.get("kubeletVersion") or view.spec_of(machine).get("version")
    if not text or not status.get("nodeRef"):
        return ""
    return f"v{str(text).removeprefix('v')}"


def oldest(texts: Iterable[str]) -> str | None:
    """Return the oldest version; v1.34.9 comes before v1.34.10."""
    return min(
        texts,
        key=lambda each: versions.number(each) or (0, 0, 0),
        default=None,
    )


def runtime(machines: Iterable[view.Object]) -> str | None:
    """Return the container runtime that the first node reports."""
    infos = (view.status_of(each).get("nodeInfo") or {} for each in machines)
    names = (str(e.get("containerRuntimeVersion") or "") for e in infos)
    return messages.first(names) or None
