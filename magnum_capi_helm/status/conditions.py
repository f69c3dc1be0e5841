# SPDX-License-Identifier: Apache-2.0

"""One reader for both generations of Cluster API's conditions.

Cluster API up to 1.8 has the v1beta1 set alone, 1.9 and later compute both.
The v1beta2 set has no ``Ready`` on Cluster, control plane and
MachineDeployment, has conditions where True is bad, and no severity. The place
of each set depends on the version with which the object was read. Source:
Cluster API book, "v1beta1 to v1beta2" migration notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from magnum_capi_helm.model import encoding
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Stops the controllers of one object, whatever its value.
PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"

#: Types of conditions, reasons and messages, by topic.
TABLES = encoding.package_data("status/conditions.yaml")
#: Conditions of the v1beta2 set that are well when False.
NEGATIVE = frozenset(TABLES["negative"])
_WAITING = tuple(TABLES["waiting"])


class Condition(NamedTuple):
    """One condition; ``status`` is True, False or Unknown, as text.

    It is false, and neither well nor bad, if an object does not have it.

    :ivar changed: time of its last change, as Kubernetes writes it
    """

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    changed: str = ""

    def __bool__(self) -> bool:
        return bool(self.status)

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


class Conditions(Mapping[str, Condition]):
    """Conditions by type; each is made when it is asked for.

    Most callers ask for one, and an object has a dozen.

    :param holders: maps with conditions; of two of a type, the last counts
    """

    def __init__(self, *holders: view.Object) -> None:
        self._plain: dict[str, view.Object] = {
            each["type"]: each
            for holder in holders
            for each in holder.get("conditions") or ()
        }

    def __getitem__(self, name: str) -> Condition:
        """Return a condition; one that is false, if there is none."""
        plain = self._plain.get(name)
        if plain is None:
            return Condition(name)
        get = plain.get
        return Condition(
            name,
            get("status") or "Unknown",
            get("reason") or "",
            get("message") or "",
            get("lastTransitionTime") or "",
        )

    def __contains__(self, name: object) -> bool:
        return name in self._plain

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    def bad_types(self) -> frozenset[str]:
        """Return the types that are wrong, as :attr:`Condition.bad` has it."""
        return frozenset(
            name
            for name, each in self._plain.items()
            if each.get("status") == ("True" if name in NEGATIVE else "False")
        )

    def listed(self, types: Iterable[str]) -> list[Condition]:
        """Return the conditions of some types that exist, in that order."""
        return [self[each] for each in types if each in self]


def v1beta2(obj: view.Object | None) -> Conditions:
    """Return the conditions of the v1beta2 contract."""
    return Conditions(_holders(obj)[0])


def v1beta1(obj: view.Object | None) -> Conditions:
    """Return the conditions of the v1beta1 contract."""
    return Conditions(_holders(obj)[1])


def merged(obj: view.Object | None) -> Conditions:
    """Return both sets by type; the v1beta2 set wins."""
    new, old = _holders(obj)
    return Conditions(old, new)


def available(obj: view.Object | None) -> Condition:
    """Return the condition that sums up an object.

    It is ``Available`` of the v1beta2 set, or ``Ready`` of the v1beta1 set.
    ``Available`` of the v1beta1 set only says that a control plane was
    initialised once.
    """
    return v1beta2(obj)["Available"] or v1beta1(obj)["Ready"]


def infrastructure_since(obj: view.Object | None) -> float:
    """Return when the infrastructure became ready; 0: it is not.

    Seconds since 1970.
    """
    condition = merged(obj)["InfrastructureReady"]
    return condition.since if condition.well else 0.0


def _holders(obj: view.Object | None) -> tuple[view.Object, view.Object]:
    """Return the maps with the v1beta2 and with the v1beta1 set."""
    status = view.status_of(obj)
    if "v1beta2" in status:
        return status["v1beta2"], status
    version = str((obj or {}).get("apiVersion", ""))
    if "deprecated" in status or version.endswith("/v1beta2"):
        return status, (status.get("deprecated") or {}).get("v1beta1") or {}
    return {}, status


def counters(obj: view.Object | None) -> view.Object:
    """Return the fields of a status by both contracts; v1beta2 wins.

    Such as counters of machines; conditions need more than that.
    """
    new, old = _holders(obj)
    return {**old, **new}


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


def words(condition: Condition) -> str:
    """Return the message of a condition, else its reason."""
    return messages.plain(condition.message) or condition.reason


def error(condition: Condition, rank: tree.Rank) -> tree.Reason:
    """Return a fault, unless a controller only waits for another one."""
    reason = condition.reason
    if not condition.bad or reason.startswith(_WAITING):
        return tree.NONE
    message = condition.message or TABLES["mute_reasons"].get(reason, "")
    words = TABLES["waiting_words"] if reason == "NotReady" else ()
    if any(each in message for each in words):
        return tree.NONE
    text, code = messages.explained(message)
    return tree.Reason(text, rank, condition.since, code)


def first_error(
    obj: view.Object | None, topic: str, rank: tree.Rank = tree.Rank.CLOUD
) -> tree.Reason:
    """Return the first condition of a topic with an error as a reason.

    An error from before the deletion of an object does not hinder it.
    """
    deleted_at = view.deleted_at(obj)
    # Most conditions are well: none of them is made.
    sets = [(e, e.bad_types()) for e in (v1beta2(obj), v1beta1(obj))]
    candidates = (
        by_type[name]
        for name in TABLES[topic]
        for by_type, bad in sets
        if name in bad
        and not 0 < by_type[name].since < deleted_at
        and TABLES["successors"].get(name) not in by_type
    )
    reasons = (error(each, rank) for each in candidates)
    return next(filter(None, reasons), tree.NONE)
