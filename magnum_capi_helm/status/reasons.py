# SPDX-License-Identifier: Apache-2.0

"""Why something is not ready: the words of the lowest object that knows."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import view

#: Reasons by which a controller only says that it waits for another.
_WAITING = (
    "Waiting",
    "Pending",
    "InstanceNotReady",
    "Provisioning",
    "NodeProvisioning",
    "Deleting",
)
#: The new set has one reason for whatever is wrong below, and for waiting.
_SUMMARY = "NotReady"
_WAITING_WORDS = ("Waiting for", " is false", " to exist", "not yet")
#: The provider leaves the message of these empty.
_MUTE = {
    "InstanceStateError": "instance is in error state",
    "InstanceDeleted": "instance deleted",
}

_INFRASTRUCTURE = (
    "InstanceReady",
    "APIServerIngressReadyCondition",
    "FloatingAddressFromPoolReady",
    "NetworkReady",
    "RouterReady",
    "SecurityGroupsReady",
    "APIEndpointReady",
    "BastionReady",
    "Ready",
)
_MACHINE = ("InfrastructureReady", "BootstrapConfigReady", "BootstrapReady")
_NODE = ("NodeHealthy", "HealthCheckSucceeded", "OwnerRemediated")
#: Steps of a machine's deletion, and the words where Cluster API has none.
#: The old set has one condition for each step, and leaves some mute.
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
_MUTE_STEPS = ("Deletion started", "Deletion completed")
_BLOCKED = "cannot evict pod"
#: Finalizers of Cluster API and its providers are below this domain.
_OWN_FINALIZER = "cluster.x-k8s.io"
_SERVER_ERROR = "the server went into the state ERROR"
_JOINT = "; "


@dataclasses.dataclass(frozen=True)
class Waiting:
    """The objects that a deletion waits for, and the reasons.

    A deletion makes progress when ``left`` changes. ``why`` also changes
    without progress.

    :param left: in words; the same text for the same objects, without "; "
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


def of_infrastructure(obj: view.Object | None) -> str:
    """Return the last error of CAPO with a server, or with the network.

    Its ``failureMessage`` stays after the fault is mended, in some versions
    for ever: what is there all the same has no fault.
    """
    status = view.status_of(obj)
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    failure = status.get("failureMessage") or old.get("failureMessage")
    if failure and not provisioned(obj) and not view.deleting(obj):
        return plain_words.plain(str(failure))
    return _first_error(obj, _INFRASTRUCTURE)


def of_network(obj: view.Object | None) -> str:
    """Return why CAPO can't make a cluster's network, or an empty string.

    CAPO makes no machines until it has set ``status.ready``, and never takes
    it back (``reconcileNormal`` in openstackcluster_controller.go of 0.14.6).
    A later error, which its conditions keep until its next success, stops no
    machine: Cluster API repeats it in its own condition of the Cluster.
    """
    status = view.status_of(obj)
    initialization = status.get("initialization") or {}
    if status.get("ready") or initialization.get("provisioned"):
        return ""
    return of_infrastructure(obj)


def provisioned(obj: view.Object | None) -> bool:
    """By whichever field the provider's version has for it."""
    status = view.status_of(obj)
    ready = conditions.of(obj).get("Ready")
    if ready is not None:
        return ready.well
    initialization = status.get("initialization") or {}
    return bool(status.get("ready") or initialization.get("provisioned"))


def of_server(server: view.Object | None, fault: view.Fault | None) -> str:
    """Return what is wrong with the server behind a machine.

    CAPO writes no message for a server that Nova put into ERROR, and does not
    touch the OpenStackMachine (``reconcileNormal`` in
    openstackserver_controller.go of 0.11 to 0.14): only Nova knows why.

    :param fault: the answer of Nova; None: Nova was not asked
    """
    why = _first_error(server, _INFRASTRUCTURE)
    if fault is not None and view.deleting(server):
        fault = None if 0 < fault.since < _deleted_at(server) else fault
    if fault is None:
        return why
    if fault.message:
        return plain_words.plain(fault.message)
    if fault.unread:
        unread = f"Nova could not be asked: {fault.unread}"
        return plain_words.cut(f"{why or _SERVER_ERROR}: {unread}")
    return why


def of_machine(machine: view.Object, seen: view.View) -> str:
    """What is wrong with a machine; empty while it is merely not ready."""
    server, infra = seen.server(machine), seen.infra_machine(machine)
    provider = of_server(server, seen.fault(server)) or of_infrastructure(
        infra
    )
    if view.deleting(machine):
        return _blocked_drain(machine) or provider
    return (
        provider
        or _first_error(machine, _MACHINE)
        or _first_error(machine, _NODE)
    )


def of_deletion(machine: view.Object, seen: view.View) -> str:
    """Return what a machine that is being deleted waits for, as it says.

    An error comes first, then finalizers that nobody below removes, then the
    step that Cluster API is at.
    """
    if not view.deleting(machine):
        return of_machine(machine, seen)
    below = (seen.server(machine), seen.infra_machine(machine), machine)
    return (
        of_machine(machine, seen)
        or next(filter(None, map(_foreign_finalizers, below)), "")
        or plain_words.plain(_step(machine))
    )


def _blocked_drain(machine: view.Object) -> str:
    """The pods that keep a node from being drained."""
    message = _step(machine)
    return plain_words.plain(message) if _BLOCKED in message else ""


def _step(machine: view.Object) -> str:
    """What Cluster API says of the step that a machine's deletion is at."""
    for known in (conditions.new(machine), conditions.old(machine)):
        for name, words in _STEPS.items():
            condition = known.get(name)
            if condition is None or not condition.bad:
                continue
            message = condition.message or words
            if message and message not in _MUTE_STEPS:
                return message
    return ""


def _foreign_finalizers(obj: view.Object | None) -> str:
    """Return the finalizers of other programs.

    They hold an object once Cluster API has removed its own.
    """
    if obj is None or not view.deleting(obj):
        return ""
    found = (obj.get("metadata") or {}).get("finalizers") or []
    if not found or any(_OWN_FINALIZER in each for each in found):
        return ""
    name = f"{obj.get('kind') or 'object'} {view.name_of(obj)}"
    return f"{name} waits for the finalizers {', '.join(found)}"


def _first_error(obj: view.Object | None, names: Sequence[str]) -> str:
    """The first condition of one of these types that tells of an error.

    Errors from before an object's deletion began do not hinder it.
    """
    sets = (conditions.new(obj), conditions.old(obj))
    since = _deleted_at(obj)
    for name in names:
        for known in sets:
            condition = known.get(name)
            if condition is None or 0 < condition.since < since:
                continue
            if why := _error(condition):
                return why
    return ""


def _deleted_at(obj: view.Object | None) -> float:
    """When the deletion of an object was asked for; 0: it was not."""
    meta = (obj or {}).get("metadata") or {}
    return conditions.moment(meta.get("deletionTimestamp"))


def _error(condition: conditions.Condition) -> str:
    message = condition.message or _MUTE.get(condition.reason, "")
    if not condition.bad or condition.reason.startswith(_WAITING):
        return ""
    if condition.reason == _SUMMARY and any(
        words in message for words in _WAITING_WORDS
    ):
        return ""
    return plain_words.plain(message)


def of_machines(
    what: str, machines: Sequence[view.Object], seen: view.View
) -> str:
    """The first machine with a fault, named, and how many share it."""
    faults = [
        (view.name_of(machine), why)
        for machine in machines
        if (why := of_machine(machine, seen))
    ]
    if not faults:
        return ""
    name, why = faults[0]
    same = sum(1 for _, other in faults if other == why) - 1
    more = f" (and {same} more machines)" if same else ""
    return f"{what}: machine {name}: {why}{more}"


def still_to_be_deleted(
    machines: Sequence[view.Object], seen: view.View
) -> Waiting:
    """Return the count of machines, three names, and the reason of one.

    An error of any machine comes before the step of another machine.
    """
    many = len(machines)
    names = ", ".join(sorted(map(view.name_of, machines))[:3])
    left = f"{many} machine{'s' * (many > 1)} still to be deleted: {names}"
    for why_of in (of_machine, of_deletion):
        for machine in sorted(machines, key=view.name_of):
            if why := why_of(machine, seen):
                return Waiting(left, f"machine {view.name_of(machine)}: {why}")
    return Waiting(left)


def of_addon(addon: view.Object, release: str) -> str:
    """What an addon says: its name without the release, phase, message."""
    status = view.status_of(addon)
    phase = status.get("phase") or "Pending"
    name = view.name_of(addon).removeprefix(f"{release}-")
    message = plain_words.plain(str(status.get("failureMessage") or ""))
    return f"addon {name}: {phase}" + (f": {message}" if message else "")
