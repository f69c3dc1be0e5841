# SPDX-License-Identifier: Apache-2.0

"""One reader for both generations of Cluster API's conditions.

Cluster API up to 1.8 has the v1beta1 set alone, 1.9 and later compute both.
The v1beta2 set has no ``Ready`` on Cluster, control plane and
MachineDeployment, has conditions where True is bad, and no severity. The place
of each set depends on the version with which the object was read. Source:
Cluster API book, "v1beta1 to v1beta2" migration notes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Stops the controllers of one object, whatever its value.
PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"

#: Conditions of the v1beta2 set that are well when False.
NEGATIVE = frozenset(
    {
        "RollingOut",
        "ScalingUp",
        "ScalingDown",
        "Remediating",
        "Deleting",
        "Paused",
        "Updating",
    }
)


class Condition(NamedTuple):
    """One condition; ``status`` is True, False or Unknown, as text.

    :ivar changed: time of its last change, as Kubernetes writes it
    """

    type: str
    status: str
    reason: str = ""
    message: str = ""
    changed: str = ""

    @property
    def since(self) -> float:
        """Return when it last changed, seconds since 1970; 0: unknown."""
        return view.timestamp(self.changed)

    @property
    def well(self) -> bool:
        """Return whether it has the status of a healthy object."""
        return self.status == ("False" if self.type in NEGATIVE else "True")

    @property
    def bad(self) -> bool:
        """Return whether it is wrong; Unknown is neither well nor bad."""
        return self.status == ("True" if self.type in NEGATIVE else "False")


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
#: A condition of CAPO up to 0.14, which stays as it was, and its successor.
_SUCCESSORS = {"APIServerIngressReadyCondition": "APIServerIngressReady"}

#: By type.
Conditions: TypeAlias = dict[str, Condition]


def v1beta2(obj: view.Object | None) -> Conditions:
    """Return the conditions of the v1beta2 contract."""
    return _parsed(_holders(obj)[0])


def v1beta1(obj: view.Object | None) -> Conditions:
    """Return the conditions of the v1beta1 contract."""
    return _parsed(_holders(obj)[1])


def preferred(obj: view.Object | None) -> Conditions:
    """Return the v1beta2 set of an object that has one, else the other."""
    return v1beta2(obj) or v1beta1(obj)


def merged(obj: view.Object | None) -> Conditions:
    """Return both sets by type; the v1beta2 set wins."""
    return {**v1beta1(obj), **v1beta2(obj)}


def available(obj: view.Object | None) -> Condition | None:
    """Return the condition that sums up an object.

    It is ``Available`` of the v1beta2 set, or ``Ready`` of the v1beta1 set.
    ``Available`` of the v1beta1 set only says that a control plane was
    initialised once.
    """
    return v1beta2(obj).get("Available") or v1beta1(obj).get("Ready")


def infrastructure_since(obj: view.Object | None) -> float:
    """Return when the infrastructure became ready; 0: it is not.

    Seconds since 1970.
    """
    condition = preferred(obj).get("InfrastructureReady")
    return condition.since if condition and condition.well else 0.0


def listed(by_type: Conditions, types: Iterable[str]) -> list[Condition]:
    """Return the conditions of some types that exist, in that order."""
    return [by_type[each] for each in types if each in by_type]


def _holders(obj: view.Object | None) -> tuple[view.Object, view.Object]:
    """Return the maps with the v1beta2 and with the v1beta1 set."""
    status = view.status_of(obj)
    if "v1beta2" in status:
        return status["v1beta2"], status
    version = str((obj or {}).get("apiVersion", ""))
    if "deprecated" in status or version.endswith("/v1beta2"):
        return status, (status.get("deprecated") or {}).get("v1beta1") or {}
    return {}, status


def _parsed(holder: view.Object) -> Conditions:
    return {
        each["type"]: Condition(
            each["type"],
            str(each.get("status", "Unknown")),
            str(each.get("reason") or ""),
            str(each.get("message") or ""),
            str(each.get("lastTransitionTime") or ""),
        )
        for each in holder.get("conditions") or ()
    }


def paused(obj: view.Object | None) -> bool:
    """Return whether no controller works on an object.

    The annotation stops the controllers of any object, ``spec.paused`` those
    of a Cluster, of a MachineDeployment and of an addon.
    """
    annotated = PAUSED_ANNOTATION in view.annotations_of(obj)
    return annotated or bool(view.spec_of(obj).get("paused"))


def is_current(obj: view.Object | None) -> bool:
    """Return whether the controller has seen the newest spec of the object.

    Only kinds of Cluster API itself have ``observedGeneration``.
    """
    generation = view.metadata_of(obj).get("generation", 0)
    observed = view.status_of(obj).get("observedGeneration", 0)
    return int(observed) >= int(generation)


def words(condition: Condition | None) -> str:
    """Return the message of a condition, else its reason."""
    if condition is None:
        return ""
    return messages.plain(condition.message) or condition.reason


def error(condition: Condition | None, rank: tree.Rank) -> tree.Reason:
    """Return a fault, unless a controller only waits for another one."""
    if condition is None or not condition.bad:
        return tree.NONE
    message = condition.message or _MUTE_REASONS.get(condition.reason, "")
    is_waiting = condition.reason.startswith(_WAITING) or (
        condition.reason == _SUMMARY
        and any(each in message for each in _WAITING_WORDS)
    )
    if is_waiting:
        return tree.NONE
    text, code = messages.explained(message)
    return tree.Reason(text, rank, condition.since, code)


def first_error(
    obj: view.Object | None, types: Iterable[str], rank: tree.Rank
) -> tree.Reason:
    """Return the first condition with an error as a reason.

    An error from before the deletion of an object does not hinder it.
    """
    deleted_at = view.deleted_at(obj)
    candidates = (
        by_type[name]
        for name in types
        for by_type in (v1beta2(obj), v1beta1(obj))
        if name in by_type
        and not 0 < by_type[name].since < deleted_at
        and _SUCCESSORS.get(name) not in by_type
    )
    reasons = (error(each, rank) for each in candidates)
    return next(filter(None, reasons), tree.NONE)
