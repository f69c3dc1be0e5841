# SPDX-License-Identifier: Apache-2.0

"""One machine: its fault, its deletion, its node, and its facts.

A fault is that of the lowest object that has one. A condition that only says
that a controller waits for another one is none.

Sources: Cluster API 1.8 to 1.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import re

from magnum_capi_helm.model import versions
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import messages
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
#: Seconds until a node of a new machine has to be ready.
_TO_START = 1800.0
#: Seconds that a node may be not ready once it has joined.
_TO_SETTLE = 300.0
_GONE = ("NodeDeleted", "NodeNotFound")
#: Reasons of both sets where the node itself says Unknown, not Cluster API.
_NODE_UNKNOWN = ("NodeReadyUnknown", "NodeConditionsFailed")
#: A node that has just registered.
_NOT_YET = "not yet reported"
_LINE = re.compile(r"Node\.(?!Ready\b)(\w+): (.*)")


def is_settled(machine: view.Object) -> bool:
    """Return whether a machine is ready and is not being deleted."""
    both = conditions.merged(machine)["Ready"], node_condition(machine)
    ready = all(each.well for each in both if each)
    return _has_node(machine) and ready and not view.deleting(machine)


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
        if len({each[:2] for each in numbers if each}) > 1:
            return (
                f"machine {name} runs Kubernetes {runs}, not {wanted}: its "
                "image has another version than its property kube_version"
            )
    return ""


def branches(
    machines: Iterable[view.Object], objects: view.View
) -> list[tree.Branch]:
    """Return the branches of machines; the oldest come first.

    :param machines: by name
    """
    by_age = sorted(machines, key=view.created_at)
    return [branch(each, objects) for each in by_age]


def branch(machine: view.Object, objects: view.View) -> tree.Branch:
    """Return the branch of a machine, with its server and its node."""
    name, deleting = view.name_of(machine), view.deleting(machine)
    server = infrastructure.server(objects, machine)
    parts = tuple(filter(None, (server, _node(machine, objects.clock))))
    reason = _paused_reason(machine, objects)
    if deleting:
        reason = reason or _deletion_reason(machine, objects)
    else:
        reason = reason or _reason(machine, objects, server)
    is_ready = not deleting and not reason
    state = tree.State.READY if is_ready else tree.State.NOT_READY
    return tree.Branch(
        *("Machine", name, state, _note(machine), reason, parts),
        title=f"machine {name}",
        entries=tuple(_node_entries(machine, objects.clock)),
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


def _paused_reason(machine: view.Object, objects: view.View) -> tree.Reason:
    either = (machine, objects.infra_machine(machine))
    if not any(map(conditions.paused, either)):
        return tree.NONE
    text = "the operator has paused it: nothing is changed"
    return tree.Reason(text, tree.Rank.BLOCKED)


def _reason(
    machine: view.Object, objects: view.View, server: tree.Branch | None
) -> tree.Reason:
    """Return a machine's own fault, else what Cluster API waits for.

    Its conditions repeat the fault of its server.
    """
    reason = next(filter(None, _faults(machine, objects, server)), tree.NONE)
    condition = conditions.merged(machine)["Ready"]
    if reason or condition.well:
        return reason
    message = conditions.words(condition)
    if message and not view.spec_of(machine).get("providerID"):
        # Cluster API also lists what depends on a server.
        return tree.Reason(f"no server yet: {message.partition('; ')[0]}")
    phase = str(view.status_of(machine).get("phase") or "")
    return tree.Reason(message or phase or "Cluster API has reported nothing")


def _faults(
    machine: view.Object, objects: view.View, server: tree.Branch | None
) -> Iterator[tree.Reason]:
    """Yield a machine's faults, those of the lowest object first."""
    if server is None or not server.reason:
        yield infrastructure.error(objects.infra_machine(machine))
        yield conditions.first_error(machine, "server")
    rank = tree.Rank.HEALTH_CHECK
    yield conditions.first_error(machine, "health_check", rank)
    yield _unjoined_reason(machine, objects)


def _unjoined_reason(machine: view.Object, objects: view.View) -> tree.Reason:
    """Tell that a server runs without a node that Cluster API sees.

    Its cloud-init or kubeadm has failed, and the console has the cause. Or the
    cloud controller manager has not written the node's providerID, by which
    Cluster API finds a node: it needs the pods' network. Cluster API waits
    until its health check replaces the machine.
    """
    since = conditions.infrastructure_since(machine)
    joined = view.status_of(machine).get("nodeRef")
    if joined or not since or not objects.clock.has_passed(since + _TO_JOIN):
        return tree.NONE
    server = view.name_of(objects.infra_machine(machine))
    server = server or view.name_of(machine)
    return tree.Reason(
        f"its server has run for {_TO_JOIN / 60:.0f} minutes, and Cluster API "
        f"sees no node of it: `openstack console log show {server}` may say "
        "why; if `kubectl get nodes` lists the node, the cloud controller "
        "manager or the pods' network does not run",
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
    names = sorted(map(view.name_of, machines))
    count, first = len(names), ", ".join(names[:3])
    text = f"{count} machine{'s' * (count > 1)} still to be deleted: {first}"
    reasons = [
        (part.reason.rank, view.name_of(each), part.reason)
        for each in machines
        for part in tree.walk(branch(each, objects))
        if part.reason
        and (view.deleting(each) or part.reason.rank < tree.Rank.BLOCKED)
    ]
    if reasons:
        _, name, reason = min(reasons, key=lambda each: each[:2])
        text += f"; machine {name}: {reason.text}{reason.ending}"
    return text


def node_condition(machine: view.Object) -> conditions.Condition:
    """Return the condition of a Machine for the state of its node."""
    by_type = conditions.merged(machine)
    return by_type["NodeReady"] or by_type["NodeHealthy"]


def _node_name(machine: view.Object) -> str:
    """Return the name of a Machine's node, or of the Machine."""
    ref = view.status_of(machine).get("nodeRef") or {}
    return str(ref.get("name") or view.name_of(machine))


def _has_node(machine: view.Object) -> bool:
    return bool(view.status_of(machine).get("nodeRef"))


def _is_silent(machine: view.Object) -> bool:
    """Return whether the kubelet stopped posting the status of its node.

    Kubernetes sets Ready to Unknown then, and Cluster API repeats it
    (``machine_controller_status.go`` of 1.13). If Cluster API can't reach the
    cluster, its own conditions are Unknown too, for another reason.
    """
    condition = node_condition(machine)
    return (
        condition.status == "Unknown"
        and condition.reason in _NODE_UNKNOWN
        and _NOT_YET not in condition.message
    )


def is_starting(machine: view.Object, clock: view.Clock) -> bool:
    """Return whether a node is not ready because its machine is new."""
    condition = node_condition(machine)
    if condition.well or condition.reason in _GONE or _is_silent(machine):
        return False
    if clock.has_passed(view.created_at(machine) + _TO_START):
        return False
    if not condition or not _has_node(machine):
        return True
    return not clock.has_passed(condition.since + _TO_SETTLE)


def _node(machine: view.Object, clock: view.Clock) -> tree.Branch | None:
    """Return the branch of a node, or None before the machine has one.

    ``NodeHealthy`` also has the pressures of a node that is Ready.
    """
    name = _node_name(machine)
    if view.deleting(machine):
        return tree.Branch("Node", name) if _has_node(machine) else None
    healthy = conditions.merged(machine)["NodeHealthy"]
    error = conditions.error(healthy, tree.Rank.NODE)
    if error and not is_starting(machine, clock):
        return tree.grow("Node", name, error)
    condition = node_condition(machine)
    if not _has_node(machine):
        return None
    if condition.well and not error:
        return tree.grow("Node", name, tree.NONE)
    words = error.text or conditions.words(condition)
    text = words or "not seen by Cluster API"
    state = tree.State.NOT_READY if condition.bad else tree.State.UNKNOWN
    rank = tree.Rank.NODE if _is_silent(machine) else tree.Rank.NOTE
    return tree.Branch("Node", name, state, reason=tree.Reason(text, rank))


def _node_entries(
    machine: view.Object, clock: view.Clock
) -> Iterator[tree.Entry]:
    """Yield what the health map says about a node.

    The lines of ``NodeHealthy`` are ``* Node.TYPE: message``
    (``machine_controller_status.go`` of 1.13).
    """
    if view.deleting(machine):
        return
    condition = node_condition(machine)
    value, health = condition.status or "Unknown", tree.UNKNOWN
    starting = not condition.well and is_starting(machine, clock)
    if starting or condition.well:
        value, health = "starting" if starting else value, tree.HEALTHY
    elif condition.bad or _is_silent(machine):
        health = tree.UNHEALTHY
    name = _node_name(machine)
    yield tree.Entry(f"{name}.Ready", value, health)
    healthy = conditions.merged(machine)["NodeHealthy"]
    if healthy.bad and not starting:
        for kind, text in _LINE.findall(healthy.message):
            words = messages.plain(text)
            yield tree.Entry(f"{name}.{kind}", words, tree.UNHEALTHY)


def addresses(machines: Iterable[view.Object]) -> tuple[str, ...]:
    """Return one address of each machine that stays, internal if it can."""
    staying = [each for each in machines if not view.deleting(each)]
    return tuple(filter(None, map(_address, staying)))


def _address(machine: view.Object) -> str:
    listed = view.status_of(machine).get("addresses") or []
    by_type = {e.get("type"): e.get("address") for e in reversed(listed)}
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
        texts, key=lambda e: versions.number(e) or (0, 0, 0), default=None
    )


def runtime(machines: Iterable[view.Object]) -> str | None:
    """Return the container runtime that the first node reports."""
    infos = (view.status_of(each).get("nodeInfo") or {} for each in machines)
    names = (str(e.get("containerRuntimeVersion") or "") for e in infos)
    return messages.first(names) or None
