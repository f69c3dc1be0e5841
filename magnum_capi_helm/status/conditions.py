# SPDX-License-Identifier: Apache-2.0

"""One reader for both generations of Cluster API's conditions.

Cluster API up to 1.8 has the old set alone, 1.9 and later compute both. The
new set has no ``Ready`` on Cluster, control plane and MachineDeployment, has
conditions where True is bad, and no severity. Where each set is found
depends on the version the object was read with; it is told apart by what is
there. Source: Cluster API book, "v1beta1 to v1beta2" migration notes.
"""

from __future__ import annotations

import calendar
import dataclasses
import re

from magnum_capi_helm.status import view

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

TRUE = "True"
FALSE = "False"

#: Stops the controllers of one object, whatever its value.
PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"

#: Conditions of the new set that are well when False.
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

    :param since: when it became what it is, seconds since 1970; 0: unknown
    """

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: float = dataclasses.field(default=0.0, compare=False)

    @property
    def well(self) -> bool:
        """The status that a healthy object shows."""
        return self.status == (FALSE if self.type in NEGATIVE else TRUE)

    @property
    def bad(self) -> bool:
        """Known to be wrong; Unknown is neither well nor bad."""
        return self.status == (TRUE if self.type in NEGATIVE else FALSE)


def of(obj: view.Object | None) -> dict[str, Condition]:
    """The object's conditions by type: the new set where it has one."""
    return new(obj) or old(obj)


def available(obj: view.Object | None) -> Condition | None:
    """The condition that sums up an object.

    ``Available`` of the new set; ``Ready`` of the old one, whose own
    ``Available`` only says that a control plane was initialised once.
    """
    return new(obj).get("Available") or old(obj).get("Ready")


def new(obj: view.Object | None) -> dict[str, Condition]:
    """The conditions of Cluster API's v1beta2 contract; maybe none."""
    status = view.status_of(obj)
    if "v1beta2" in status:
        return _parsed(status["v1beta2"])
    if "deprecated" in status or _read_as_v1beta2(obj):
        return _parsed(status)
    return {}


def old(obj: view.Object | None) -> dict[str, Condition]:
    """The conditions of the v1beta1 contract; maybe none."""
    status = view.status_of(obj)
    if "deprecated" in status:
        return _parsed(status["deprecated"].get("v1beta1") or {})
    if _read_as_v1beta2(obj):
        return {}
    return _parsed(status)


def _read_as_v1beta2(obj: view.Object | None) -> bool:
    return str((obj or {}).get("apiVersion", "")).endswith("/v1beta2")


def _parsed(holder: view.Object) -> dict[str, Condition]:
    return {
        each["type"]: Condition(
            type=each["type"],
            status=str(each.get("status", "Unknown")),
            reason=str(each.get("reason") or ""),
            message=str(each.get("message") or ""),
            since=moment(each.get("lastTransitionTime")),
        )
        for each in holder.get("conditions") or []
    }


def paused(cluster: view.Object | None) -> bool:
    """Whether Cluster API was told to leave a cluster alone."""
    return bool(
        view.spec_of(cluster).get("paused")
    ) or PAUSED_ANNOTATION in view.annotations_of(cluster or {})


def moment(text: object) -> float:
    """A time as Kubernetes writes it, in seconds since 1970; 0: none."""
    if _MOMENT.fullmatch(str(text)) is None:
        return 0.0
    found = [int(each) for each in re.findall(r"\d+", str(text))]
    return float(calendar.timegm((*found[:6], 0, 0, 0)))


def current(obj: view.Object) -> bool:
    """Whether the controller has seen the newest spec of the object.

    Only kinds of Cluster API itself have ``observedGeneration``.
    """
    generation = (obj.get("metadata") or {}).get("generation", 0)
    observed = view.status_of(obj).get("observedGeneration", 0)
    return int(observed) >= int(generation)
