# SPDX-License-Identifier: Apache-2.0

"""Expiry and renewal of a control plane's certificates.

kubeadm makes them for a year. Cluster API reads when they expire and writes it
to each Machine (``status.certificatesExpiryDate``). It renews them by making
new machines, when ``rolloutBefore`` of the KubeadmControlPlane says so, or for
all machines that are older than its ``rolloutAfter``. In v1beta2 the two are
``rollout.before`` and ``rollout.after``.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.status import view

#: Days before the expiry of certificates that only the driver renews.
_WARN_BEFORE = 30
#: The same of those that Cluster API renews in time.
_WARN_LATE = 7
_DAY = 86400.0
_YEAR = 365 * _DAY


def expiry(objects: view.View) -> float | None:
    """Return when the first certificate expires, as Cluster API reports it.

    :returns: seconds since 1970; None: not reported
    """
    dates = map(_reported_expiry, _machines(objects))
    return min(filter(None, dates), default=None)


def estimated_expiry(objects: view.View) -> float | None:
    """Return the expiry; without a report, a year after the creation."""
    dates = [
        _reported_expiry(each) or view.created_at(each) + _YEAR
        for each in _machines(objects)
        if view.created_at(each)
    ]
    return min(dates, default=None)


def warning(objects: view.View, now: float) -> str:
    """Return a warning about certificates that expire soon, or nothing."""
    automatic = renewed_by_cluster_api(objects.control_plane)
    days = _WARN_LATE if automatic else _WARN_BEFORE
    dates = filter(view.timestamp, map(_reported_date, _machines(objects)))
    first = min(dates, key=view.timestamp, default="")
    expires = view.timestamp(first)
    if not expires_within(expires or None, days, now):
        return ""
    verb = "expire" if expires > now else "expired"
    return (
        f"those of the control plane {verb} on {first[:10]}: an upgrade, or "
        "the operator, renews them"
    )


def expires_within(expires: float | None, days: int, now: float) -> bool:
    """Return whether certificates expire within so many days."""
    return expires is not None and expires - now <= days * _DAY


def renewed_by_cluster_api(control_plane: view.Object | None) -> bool:
    """Return whether Cluster API was told to renew them by itself."""
    policy = _rollout(control_plane, "before") or {}
    return bool(policy.get("certificatesExpiryDays"))


def renewal_time(control_plane: view.Object | None) -> float:
    """Return the creation time from which on machines may stay; 0: any.

    Seconds since 1970. A time that is still to come is planned for later.
    """
    return view.timestamp(_rollout(control_plane, "after"))


def _rollout(control_plane: view.Object | None, key: str) -> Any:
    """Return ``rollout.KEY`` of v1beta2, or ``rolloutKEY`` of v1beta1."""
    spec = view.spec_of(control_plane)
    rollout = spec.get("rollout") or {}
    return rollout.get(key) or spec.get(f"rollout{key.title()}")


def outdated(objects: view.View, clock: view.Clock) -> list[str]:
    """Return the names of machines that a renewal still has to replace."""
    after = renewal_time(objects.control_plane)
    if not clock.has_passed(after):
        return []
    machines = objects.control_plane_machines()
    return [view.name_of(e) for e in machines if view.created_at(e) < after]


def renewal_patch(control_plane: view.Object, moment: str) -> dict[str, Any]:
    """Return the merge patch that replaces all machines older than a moment.

    :param control_plane: the patch is for the same API version
    :param moment: as Kubernetes writes it
    """
    if str(control_plane.get("apiVersion", "")).endswith("/v1beta1"):
        return {"spec": {"rolloutAfter": moment}}
    return {"spec": {"rollout": {"after": moment}}}


def _machines(objects: view.View) -> list[view.Object]:
    machines = objects.control_plane_machines()
    return [each for each in machines if not view.deleting(each)]


def _reported_date(machine: view.Object) -> str:
    return str(view.status_of(machine).get("certificatesExpiryDate") or "")


def _reported_expiry(machine: view.Object) -> float:
    return view.timestamp(_reported_date(machine))
