# SPDX-License-Identifier: Apache-2.0

"""One reader for both generations of Cluster API's conditions.

Cluster API up to 1.8 has the v1beta1 set alone, 1.9 and later compute both.
The v1beta2 set has no ``Ready`` on Cluster, control plane and
MachineDeployment, has conditions where True is bad, and no severity. The place
of each set depends on the version with which the object was read. Source:
Cluster API book, "v1beta1 to v1beta2" migration notes.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.status import view

TRUE = "True"
FALSE = "False"

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


@dataclasses.dataclass(frozen=True)
class Condition:
    """One condition; ``status`` is True, False or Unknown, as text.

    :param since: time of its last change, seconds since 1970; 0: unknown
    """

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: float = dataclasses.field(default=0.0, compare=False)

    @property
    def well(self) -> bool:
        """Return whether it has the status of a healthy object."""
        return self.status == (FALSE if self.type in NEGATIVE else TRUE)

    @property
    def bad(self) -> bool:
        """Return whether it is wrong; Unknown is neither well nor bad."""
        return self.status == (TRUE if self.type in NEGATIVE else FALSE)


def v1beta2(obj: view.Object | None) -> dict[str, Condition]:
    """Return the conditions of the v1beta2 contract, by type."""
    status = view.status_of(obj)
    if "v1beta2" in status:
        return _parsed(status["v1beta2"])
    if "deprecated" in status or _read_as_v1beta2(obj):
        return _parsed(status)
    return {}


def v1beta1(obj: view.Object | None) -> dict[str, Condition]:
    """Return the conditions of the v1beta1 contract, by type."""
    status = view.status_of(obj)
    if "deprecated" in status:
        return _parsed(status["deprecated"].get("v1beta1") or {})
    if _read_as_v1beta2(obj):
        return {}
    return _parsed(status)


def preferred(obj: view.Object | None) -> dict[str, Condition]:
    """Return the v1beta2 set of an object that has one, else the other."""
    return v1beta2(obj) or v1beta1(obj)


def merged(obj: view.Object | None) -> dict[str, Condition]:
    """Return both sets by type; the v1beta2 set wins."""
    return {**v1beta1(obj), **v1beta2(obj)}


def available(obj: view.Object | None) -> Condition | None:
    """Return the condition that sums up an object.

    It is ``Available`` of the v1beta2 set, or ``Ready`` of the v1beta1 set.
    ``Available`` of the v1beta1 set only says that a control plane was
    initialised once.
    """
    return v1beta2(obj).get("Available") or v1beta1(obj).get("Ready")


def _read_as_v1beta2(obj: view.Object | None) -> bool:
    return str((obj or {}).get("apiVersion", "")).endswith("/v1beta2")


def _parsed(holder: view.Object) -> dict[str, Condition]:
    return {
        each["type"]: Condition(
            type=each["type"],
            status=str(each.get("status", "Unknown")),
            reason=str(each.get("reason") or ""),
            message=str(each.get("message") or ""),
            since=view.timestamp(each.get("lastTransitionTime")),
        )
        for each in holder.get("conditions") or []
    }


def paused(cluster: view.Object | None) -> bool:
    """Return whether Cluster API was told to leave a cluster alone."""
    return bool(
        view.spec_of(cluster).get("paused")
    ) or PAUSED_ANNOTATION in view.annotations_of(cluster or {})


def is_current(obj: view.Object) -> bool:
    """Return whether the controller has seen the newest spec of the object.

    Only kinds of Cluster API itself have ``observedGeneration``.
    """
    generation = (obj.get("metadata") or {}).get("generation", 0)
    observed = view.status_of(obj).get("observedGeneration", 0)
    return int(observed) >= int(generation)
