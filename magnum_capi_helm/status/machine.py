# SPDX-License-Identifier: Apache-2.0

"""One machine: its fault, its deletion, and what is below it.

A fault is that of the lowest object that has one. A condition that only says
that a controller waits for another one is none.

Sources: Cluster API 1.8 to 1.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from magnum_capi_helm.model import versions
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import machine_facts
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import node
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

_SERVER = ("InfrastructureReady", "BootstrapConfigReady", "BootstrapReady")
_HEALTH_CHECK = ("OwnerRemediated", "HealthCheckSucceeded")
#: Steps of a machine's deletion, and the words where Cluster API has none.
#: The v1beta1 set has one condition for each step, and leaves some mute.
_STEPS = {
    "Deleting": "",
    "PreDrainDeleteHookSucceeded": "Waiting for pre-drain hooks to succeed",
    "DrainingSucceeded": "",
    "VolumeDetachSucceeded": "Waiting for Node volumes to be detached",
    "PreTerminateDeleteHookSucceeded": (
        "Waiting for pre-terminate hooks to succeed"
    ),
}
#: Messages of a deletion that do not say what the deletion waits for.
_MUTE_STEPS = ("", "Deletion started", "Deletion completed")
#: Words for pods that keep a node from being drained (``ConditionMessage`` in
#: ``internal/controllers/machine/drain/drain.go`` of 1.13).
_BLOCKED_DRAIN = ("cannot evict pod", "failed to evict Pod")
#: Finalizers of Cluster API and its providers are below this domain.
_OWN_FINALIZER = "cluster.x-k8s.io"
_JOINT = "; "

#: Seconds after which a server that runs without a node is a problem. kubeadm
#: takes two minutes on a slow server.
_TO_JOIN = 300.0


def is_settled(machine: view.Object) -> bool:
    """Return whether a machine is ready, and stays."""
    both = (
        conditions.preferred(machine).get("Ready"),
        node.condition_of(machine),
    )
    has_node = bool(view.status_of(machine).get("nodeRef"))
    ready = all(each is None or each.well for each in both)
    return has_node and ready and not view.deleting(machine)


def has_failed_check(machine: view.Object) -> bool:
    """Return whether a MachineHealthCheck has found a machine unhealthy."""
    condition = conditions.merged(machine).get("HealthCheckSucceeded")
    return condition is not None and condition.bad


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
    machines: Iterable[view.Object], objects: view.View, clock: view.Clock
) -> list[tree.Branch]:
    """Return the branches of machines; the oldest come first."""
    by_age = sorted(
        machines, key=lambda each: (view.created_at(each), view.name_of(each))
    )
    return [branch(each, objects, clock) for each in by_age]


def branch(
    machine: view.Object, objects: view.View, clock: view.Clock
) -> tree.Branch:
    """Return the branch of a machine, with its server and its node."""
    name = view.name_of(machine)
    server = infrastructure.server(objects, machine)
    parts = tuple(filter(None, (server, node.branch(machine, clock))))
    reason = _paused_reason(machine, objects)
    if view.deleting(machine):
        reason = reason or _deletion_reason(machine, objects)
        state = tree.State.NOT_READY
    else:
        reason = reason or _reason(machine, objects, clock, server)
        state = tree.State.NOT_READY if reason else tree.State.READY
    return tree.Branch(
        *("Machine", name, state, _note(machine), reason, parts),
        title=f"machine {name}",
        entries=node.entries(machine, clock),
    )


def _note(machine: view.Object) -> str:
    """Return a machine's address, server and Kubernetes version."""
    server = str(view.spec_of(machine).get("providerID") or "")
    notes = [
        "being deleted" if view.deleting(machine) else "",
        *machine_facts.addresses([machine]),
        f"server {server.rpartition('/')[2]}" if server else "",
        machine_facts.version([machine]) or "",
    ]
    return ", ".join(filter(None, notes))


def _paused_reason(machine: view.Object, objects: view.View) -> tree.Reason:
    either = (machine, objects.infra_machine(machine))
    if not any(map(conditions.paused, either)):
        return tree.NONE
    text = "the operator has paused it: nothing is changed"
    return tree.Reason(text, tree.Rank.BLOCKED)


def _reason(
    machine: view.Object,
    objects: view.View,
    clock: view.Clock,
    server: tree.Branch | None,
) -> tree.Reason:
    """Return a machine's own fault, else what Cluster API waits for.

    Its conditions repeat the fault of its server.
    """
    reason = tree.NONE
    if server is None or not server.reason:
        reason = infrastructure.error(
            objects.infra_machine(machine)
        ) or conditions.first_error(machine, _SERVER, tree.Rank.CLOUD)
    reason = (
        reason
        or conditions.first_error(
            machine, _HEALTH_CHECK, tree.Rank.HEALTH_CHECK
        )
        or _unjoined_reason(machine, objects, clock)
    )
    condition = conditions.merged(machine).get("Ready")
    if reason or (condition is not None and condition.well):
        return reason
    message = conditions.words(condition)
    if message and not view.spec_of(machine).get("providerID"):
        # Cluster API also lists what depends on a server.
        return tree.Reason(f"no server yet: {message.partition('; ')[0]}")
    phase = str(view.status_of(machine).get("phase") or "")
    return tree.Reason(message or phase or "Cluster API has reported nothing")


def _unjoined_reason(
    machine: view.Object, objects: view.View, clock: view.Clock
) -> tree.Reason:
    """Tell that a server runs without a node.

    Its cloud-init or kubeadm has failed, which Cluster API can't see. It waits
    until its health check replaces the machine. The console has the cause.
    """
    since = conditions.infrastructure_since(machine)
    joined = view.status_of(machine).get("nodeRef")
    if joined or not since or not clock.has_passed(since + _TO_JOIN):
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
        for condition in conditions.listed(by_type, _STEPS):
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


class Waiting(NamedTuple):
    """The objects that a deletion waits for, and the reasons.

    A deletion makes progress when ``left`` changes. ``why`` also changes
    without progress.

    :ivar left: in words; the same text for the same objects, without "; "
    """

    left: str
    why: str = ""

    @property
    def text(self) -> str:
        """Return both, for ``status_reason``."""
        return _JOINT.join(filter(None, (self.left, self.why)))

    def has_left_of(self, text: str) -> bool:
        """Return whether a text of an earlier step has the same ``left``."""
        return f"{text}{_JOINT}".startswith(f"{self.left}{_JOINT}")


def remaining(
    machines: Sequence[view.Object], objects: view.View, clock: view.Clock
) -> Waiting:
    """Return the count of machines, three names, and the reason of one.

    A fault of any machine comes before the step of another machine.
    """
    machines = sorted(machines, key=view.name_of)
    count = len(machines)
    names = [view.name_of(each) for each in machines]
    left = f"{count} machine{'s' * (count > 1)} still to be deleted: "
    left += ", ".join(names[:3])
    reasons = [
        (name, part.reason)
        for machine, name in zip(machines, names, strict=True)
        for part in tree.walk(branch(machine, objects, clock))
        if part.reason
        and (view.deleting(machine) or part.reason.rank < tree.Rank.BLOCKED)
    ]
    if not reasons:
        return Waiting(left)
    name, reason = min(reasons, key=lambda each: each[1].rank)
    return Waiting(left, f"machine {name}: {reason.text}{reason.ending}")
