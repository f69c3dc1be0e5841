# SPDX-License-Identifier: Apache-2.0

"""When the certificates of a control plane expire, and how they are renewed.

kubeadm makes them for a year. Cluster API reads when they expire and tells it
on each Machine (``status.certificatesExpiryDate``); it renews them by making
new machines, when ``rolloutBefore`` of the KubeadmControlPlane says so, or for
all machines that are older than its ``rolloutAfter``. In v1beta2 the two are
``rollout.before`` and ``rollout.after``.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

#: Days ahead of which people are told; of those that Cluster API is to renew,
#: which it has to do before.
_WARNED = 30
_LATE = 7
_DAY = 86400.0
_YEAR = 365 * _DAY


def expiry(seen: view.View) -> float | None:
    """When the first of them expire, seconds since 1970; None: not known."""
    return min(filter(None, map(_reported, _machines(seen))), default=None)


def due(seen: view.View) -> float | None:
    """As :func:`expiry`, with a guess where Cluster API does not say."""
    return min(
        (
            _reported(each) or made + _YEAR
            for each in _machines(seen)
            if (made := _made(each))
        ),
        default=None,
    )


def warning(seen: view.View, now: float) -> str:
    """What people have to know by now; empty: nothing."""
    dates = [
        str(view.status_of(each)["certificatesExpiryDate"])
        for each in _machines(seen)
        if _reported(each)
    ]
    first = min(dates, key=conditions.moment, default="")
    expires = conditions.moment(first)
    days = _LATE if renewed_by_cluster_api(seen.control_plane) else _WARNED
    if not near(expires or None, days, now):
        return ""
    verb = "expire" if expires > now else "expired"
    return (
        f"those of the control plane {verb} on {first[:10]}: an upgrade, or "
        "the operator, renews them"
    )


def near(expires: float | None, days: int, now: float) -> bool:
    """Whether certificates expire within so many days."""
    return expires is not None and expires - now <= days * _DAY


def renewed_by_cluster_api(plane: view.Object | None) -> bool:
    """Whether it was told to renew them in time by itself."""
    spec = view.spec_of(plane)
    before = (spec.get("rollout") or {}).get("before")
    found = before or spec.get("rolloutBefore") or {}
    return bool(found.get("certificatesExpiryDays"))


def rolled_after(plane: view.Object | None, now: float) -> float:
    """When all machines were last asked to be newer, seconds since 1970.

    :param now: what is planned for later does not count
    :returns: 0 where that never was
    """
    spec = view.spec_of(plane)
    after = (spec.get("rollout") or {}).get("after")
    found = conditions.moment(after or spec.get("rolloutAfter"))
    return found if found <= now else 0.0


def outdated(seen: view.View, now: float) -> list[str]:
    """Names of machines that are still to be replaced for that."""
    after = rolled_after(seen.control_plane, now)
    return [
        view.name_of(each)
        for each in seen.control_plane_machines()
        if _made(each) < after
    ]


def rollout(plane: view.Object, moment: str) -> dict[str, Any]:
    """The merge patch that has all machines older than that replaced.

    :param plane: as it was read: it is patched in the same version
    :param moment: as Kubernetes writes it
    """
    if str(plane.get("apiVersion", "")).endswith("/v1beta1"):
        return {"spec": {"rolloutAfter": moment}}
    return {"spec": {"rollout": {"after": moment}}}


def _machines(seen: view.View) -> list[view.Object]:
    every = seen.control_plane_machines()
    return [each for each in every if not view.deleting(each)]


def _reported(machine: view.Object) -> float:
    status = view.status_of(machine)
    return conditions.moment(status.get("certificatesExpiryDate"))


def _made(machine: view.Object) -> float:
    meta = machine.get("metadata") or {}
    return conditions.moment(meta.get("creationTimestamp"))
