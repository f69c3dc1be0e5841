# SPDX-License-Identifier: Apache-2.0

"""Cluster API's objects as each of its generations shows them.

``V1BETA1``: up to 1.8, the old conditions alone. ``BOTH``: read as v1beta1
from 1.9 on, with the new set below ``status.v1beta2``. ``V1BETA2``: read as
v1beta2 from 1.11 on, with the old set below ``status.deprecated``.
"""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any, TypeAlias

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view

V1BETA1 = "v1beta1"
BOTH = "v1beta1 with status.v1beta2"
V1BETA2 = "v1beta2"
GENERATIONS = (V1BETA1, BOTH, V1BETA2)

#: Type -> status, reason, message.
Conditions: TypeAlias = Mapping[str, tuple[str, str, str]]

#: Seconds since 1970, for what depends on the clock.
NOW = 1795287000.0
RELEASE = "demo-45f11a8de301"
NAMESPACE = "magnum-p1"
ROWS = requested_groups.Rows(
    uuid="9d0c3f7a-1b2c-4d5e-8f90-45f11a8de301",
    release=RELEASE,
    groups=tuple(
        requested_groups.Group(f"u-{name[0]}", group, group, plane, count)
        for name, plane, count in (("master", True, 1), ("worker", False, 2))
        for group in (f"default-{name}",)
    ),
)
ADDONS = frozenset({f"{RELEASE}-ccm-openstack", f"{RELEASE}-cni-calico"})

WELL = ("True", "", "")
CALM = ("False", "Not", "")


def well(names: str) -> Conditions:
    """Conditions that are well when they are true, and are."""
    return dict.fromkeys(names.split(), WELL)


def calm(names: str) -> Conditions:
    """Conditions that are well when they are false, and are."""
    return dict.fromkeys(names.split(), CALM)


def sentence(reason: str) -> str:
    """A reason without the time and the code at its end."""
    return re.sub(r"( \(since \d\d:\d\d UTC\))? \[[a-z-]+\]$", "", reason)


def conditions(found: Conditions) -> list[dict[str, str]]:
    """As an object lists them, but for those without a status."""
    return [
        {"type": name, "status": status, "reason": reason, "message": message}
        for name, (status, reason, message) in found.items()
        if status
    ]


def shown(
    shape: str,
    name: str,
    *,
    group: str = "cluster.x-k8s.io",
    spec: Mapping[str, Any],
    old: Conditions,
    new: Conditions,
    status: Mapping[str, Any] | None = None,
    old_counters: Mapping[str, int] | None = None,
    new_counters: Mapping[str, int] | None = None,
    generation: int = 2,
    observed: int | None = 2,
    metadata: Mapping[str, Any] | None = None,
) -> view.Object:
    """An object as one generation shows it."""
    found: dict[str, Any] = dict(status or {})
    if observed is not None:
        found["observedGeneration"] = observed
    of_old = {"conditions": conditions(old), **(old_counters or {})}
    of_new = {"conditions": conditions(new), **(new_counters or {})}
    if shape == V1BETA2:
        found |= {**of_new, "deprecated": {"v1beta1": of_old}}
    else:
        found |= of_old
        if shape == BOTH:
            found["v1beta2"] = of_new
    return {
        "apiVersion": f"{group}/{'v1beta2' if shape == V1BETA2 else V1BETA1}",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "generation": generation,
            **(metadata or {}),
        },
        "spec": dict(spec),
        "status": found,
    }
