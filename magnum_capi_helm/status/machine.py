# SPDX-License-Identifier: Apache-2.0

"""One machine: its error, its deletion, its node, and what is below it.

An error is that of the lowest object that has one: the server in Nova,
OpenStackServer, OpenStackMachine, Machine. The cluster's network has the same
kind of conditions. An error that only says that a controller waits for
another one is none.

Sources: Cluster API 1.8 to 1.14, and its provider for OpenStack (CAPO) 0.10 to
0.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from magnum_capi_helm.model import versions
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import questions
from magnum_capi_helm.status import view

#: Reasons of a controller that only waits for another one.
_WAITING = (
    "Waiting",
    "Pending",
    "InstanceNotReady",
    "Provisioning",
    "NodeProvisioning",
    "Deleting",
)
#: The v1beta2 set has one reason for any fault below, and for waiting.
_SUMMARY = "NotReady"
_WAITING_WORDS = ("Waiting for", " is false", " to exist", "not yet")
#: CAPO leaves the message of these reasons empty.
_MUTE_REASONS = {
    "InstanceStateError": "instance is in error state",
    "InstanceDeleted": "instance deleted",
}
_INFRASTRUCTURE = (
    "InstanceReady",
    "APIServerIngressReady",
    "APIServerIngressReadyCondition",
    "FloatingAddressFromPoolReady",
    "NetworkReady",
    "RouterReady",
    "SecurityGroupsReady",
    "APIEndpointReady",
    "BastionReady",
    "Ready",
)
#: A condition of CAPO up to 0.14, which stays as it was, and its successor.
_SUCCESSORS = {"APIServerIngressReadyCondition": "APIServerIngressReady"}
_MACHINE = (
    "InfrastructureReady",
    "BootstrapConfigReady",
    "BootstrapReady",
    "NodeHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
)
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
#: Seconds until a node of a new machine has to be ready.
_TO_START = 1800.0
#: Seconds that a node may be not ready once it has joined.
_TO_SETTLE = 300.0
_GONE = ("NodeDeleted", "NodeNotFound")
#: Reasons of both sets where the node itself says Unknown, not Cluster API.
_NODE_UNKNOWN = ("NodeReadyUnknown", "NodeConditionsFailed")
#: A node that has just registered.
_NOT_YET = "not yet reported"


def infrastructure_error(obj: view.Object | None) -> str:
    """Return CAPO's last error with a server, or with the network.

    CAPO keeps ``failureMessage`` after the fault is mended, in some versions
    for ever: an object that was provisioned since has no fault.
    """
    status = view.status_of(obj)
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    failure = status.get("failureMessage") or old.get("failureMessage")
    if failure and not is_provisioned(obj) and not view.deleting(obj):
        return messages.plain(str(failure))
    return _first_error(obj, _INFRASTRUCTURE)


def network_error(objects: view.View) -> str:
    """Return why CAPO can't make a cluster's network, or an empty string.

    CAPO makes no machines until it has set ``status.ready``, and never takes
    it back (``reconcileNormal`` in openstackcluster_controller.go of 0.14.6).
    A later error, which its conditions keep until its next success, stops no
    machine: Cluster API repeats it in its own condition of the Cluster.
    """
    obj = objects.infrastructure
    if view.was_made(obj):
        return ""
    fault = objects.fault(questions.about_network(obj))
    if fault is not None and fault.message:
        return messages.plain(fault.message)
    error = infrastructure_error(obj)
    if not error and fault is not None and fault.unread:
        return _unread("no load balancer yet", questions.BALANCERS, fault)
    return error


def is_provisioned(obj: view.Object | None) -> bool:
    """Return whether CAPO has made an object, in any of its versions."""
    ready = conditions.preferred(obj).get("Ready")
    return view.was_made(obj) if ready is None else ready.well


def server_error(server: view.Object | None, objects: view.View) -> str:
    """Return the error of the server behind a machine, or an empty string.

    CAPO writes no message for a server that Nova put into ERROR, and does not
    touch the OpenStackMachine (``reconcileNormal`` in
    openstackserver_controller.go of 0.11 to 0.14): only Nova knows why.
    """
    error = _first_error(server, _INFRASTRUCTURE)
    question = questions.about_server(server)
    fault = objects.fault(question)
    if (
        question is None
        or fault is None
        or 0 < fault.since < view.deleted_at(server)
    ):
        return error
    if fault.message:
        return messages.plain(fault.message)
    if fault.unread and question.service != questions.EVENTS:
        error = error or "the server went into the state ERROR"
        return _unread(error, question.service, fault)
    return error


def _unread(error: str, service: str, fault: view.Fault) -> str:
    return messages.cut(
        f"{error}: {service} could not be asked: {fault.unread}"
    )


def error(machine: view.Object, objects: view.View) -> str:
    """Return a machine's error; empty if it is merely not ready yet."""
    below = server_error(
        objects.server(machine), objects
    ) or infrastructure_error(objects.infra_machine(machine))
    if not view.deleting(machine):
        return below or _first_error(machine, _MACHINE)
    step = _deletion_step(machine)
    is_blocked = any(words in step for words in _BLOCKED_DRAIN)
    return messages.plain(step) if is_blocked else below


def deletion_reason(machine: view.Object, objects: view.View) -> str:
    """Return the obstacle to a machine's deletion, or an empty string.

    An error comes first, then finalizers that no controller below removes,
    then the current step of Cluster API. Only an error counts
    without a deletion.
    """
    reason = error(machine, objects)
    if reason or not view.deleting(machine):
        return reason
    below = (objects.server(machine), objects.infra_machine(machine), machine)
    finalizers = messages.first(map(_foreign_finalizers, below))
    return finalizers or messages.plain(_deletion_step(machine))


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


def _first_error(obj: view.Object | None, types: Iterable[str]) -> str:
    """Return the message of the first condition with an error.

    An error from before the deletion of an object does not hinder it.
    """
    deleted_at = view.deleted_at(obj)
    sets = (conditions.v1beta2(obj), conditions.v1beta1(obj))
    return messages.first(
        _error(by_type[name])
        for name in types
        for by_type in sets
        if name in by_type
        and not 0 < by_type[name].since < deleted_at
        and _SUCCESSORS.get(name) not in by_type
    )


def _error(condition: conditions.Condition) -> str:
    message = condition.message or _MUTE_REASONS.get(condition.reason, "")
    is_waiting = condition.reason.startswith(_WAITING) or (
        condition.reason == _SUMMARY
        and any(words in message for words in _WAITING_WORDS)
    )
    if is_waiting or not condition.bad:
        return ""
    return messages.plain(message)


def first_error(
    owner: str, machines: Iterable[view.Object], objects: view.View
) -> str:
    """Return the first machine with an error, and how many have the same.

    :param owner: of the machines, in words
    """
    named = [(view.name_of(each), error(each, objects)) for each in machines]
    errors = [each for each in named if each[1]]
    if not errors:
        return ""
    name, reason = errors[0]
    same = [other for _, other in errors].count(reason) - 1
    more = f" (and {same} more machines)" if same else ""
    return f"{owner}: machine {name}: {reason}{more}"


def unjoined_reason(
    machines: Iterable[view.Object], objects: view.View, clock: view.Clock
) -> str:
    """Return the first server that runs without a node, or an empty string.

    Its cloud-init or kubeadm has failed, which Cluster API can't see. It waits
    until its health check replaces the machine. The console has the cause.
    """
    for machine in machines:
        since = conditions.infrastructure_since(machine)
        joined = view.status_of(machine).get("nodeRef")
        if view.deleting(machine) or joined or not since:
            continue
        if clock.has_passed(since + _TO_JOIN):
            name = view.name_of(machine)
            server = view.name_of(objects.infra_machine(machine)) or name
            return (
                f"machine {name}: its server has run for {_TO_JOIN / 60:.0f} "
                "minutes and is no node yet: `openstack console log show "
                f"{server}` may say why"
            )
    return ""


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


def remaining(machines: Sequence[view.Object], objects: view.View) -> Waiting:
    """Return the count of machines, three names, and the reason of one.

    An error of any machine comes before the step of another machine.
    """
    machines = sorted(machines, key=view.name_of)
    count = len(machines)
    names = ", ".join(map(view.name_of, machines[:3]))
    left = f"{count} machine{'s' * (count > 1)} still to be deleted: {names}"
    reasons = (
        f"machine {view.name_of(machine)}: {reason}"
        for reason_of in (error, deletion_reason)
        for machine in machines
        if (reason := reason_of(machine, objects))
    )
    return Waiting(left, messages.first(reasons))


# Nodes


def node_condition(machine: view.Object) -> conditions.Condition | None:
    """Return the condition of a Machine for the state of its node."""
    by_type = conditions.merged(machine)
    return by_type.get("NodeReady") or by_type.get("NodeHealthy")


def node_name(machine: view.Object) -> str:
    """Return the name of a Machine's node, or of the Machine."""
    ref = view.status_of(machine).get("nodeRef") or {}
    return str(ref.get("name") or view.name_of(machine))


def is_silent(machine: view.Object) -> bool:
    """Return whether the kubelet stopped posting the status of its node.

    Kubernetes sets Ready to Unknown then, and Cluster API repeats it
    (``machine_controller_status.go`` of 1.13). If Cluster API can't reach the
    cluster, its own conditions are Unknown too, for another reason.
    """
    condition = node_condition(machine)
    return (
        condition is not None
        and condition.status == "Unknown"
        and condition.reason in _NODE_UNKNOWN
        and _NOT_YET not in condition.message
    )


def is_starting(machine: view.Object, clock: view.Clock) -> bool:
    """Return whether a node is not ready because its machine is new."""
    condition = node_condition(machine)
    if condition is not None and (condition.well or condition.reason in _GONE):
        return False
    if is_silent(machine):
        return False
    if clock.has_passed(view.created_at(machine) + _TO_START):
        return False
    if condition is None or not view.status_of(machine).get("nodeRef"):
        return True
    return not clock.has_passed(condition.since + _TO_SETTLE)


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
