# SPDX-License-Identifier: Apache-2.0

"""Replacement of machines: renewal of certificates, progress of an update.

kubeadm makes the certificates of a control plane for a year. Cluster API reads
when they expire and writes it to each Machine
(``status.certificatesExpiryDate``). It renews them by making new machines,
when ``rolloutBefore`` of the KubeadmControlPlane says so, or for all machines
that are older than its ``rolloutAfter``. In v1beta2 the two are
``rollout.before`` and ``rollout.after``.

A helm revision begins an update, and so does ``rolloutAfter``, which a CA
rotation sets. Old machines are those that were made before it. Cluster API
makes all later machines from the wanted templates. The driver compares
creation times, all of which come from the API server's clock: helm creates the
record of a revision before it applies any object (``performUpgrade`` in
``pkg/action/upgrade.go``).

Cluster API's own counter is not used: a MachineDeployment sums up what its
MachineSets reported before (``setReplicas`` in
``machinedeployment_status.go``), so just after a change ``upToDateReplicas``
counts old machines, and the best count would be too high from the start.

Progress is more new machines with a ready node, or fewer old machines, than
at any look before. A machine that is replaced again and again changes
neither best count. Each conductor has to know the best counts, also after a
restart: the driver keeps them in an annotation of the Cluster, which every
poll reads anyway.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from magnum_capi_helm.status import machine
from magnum_capi_helm.status import view

#: Days before the expiry of certificates that nothing renews.
_WARN_BEFORE = 30
#: The same of those that Cluster API renews in time.
_WARN_LATE = 7
_DAY = 86400.0


def expiry_warning(objects: view.View) -> str:
    """Return a warning about certificates that expire soon, or nothing."""
    automatic = _days_before(objects.control_plane)
    days = _WARN_LATE if automatic else _WARN_BEFORE
    first, now = _first_date(objects), objects.clock.now
    if not first or view.timestamp(first) - now > days * _DAY:
        return ""
    verb = "expire" if view.timestamp(first) > now else "expired"
    return (
        f"those of the control plane {verb} on {first[:10]}: an upgrade, or "
        "the operator, renews them"
    )


def has_version(objects: view.View) -> bool:
    """Return whether all machines of the control plane have its version.

    Its counters can be those of the version before: Cluster API writes
    ``observedGeneration`` even if it could not count. Its webhook compares
    with the wanted version, so nothing else holds a step that comes too early.
    """
    wanted = view.spec_of(objects.control_plane).get("version")
    machines = objects.control_plane_machines()
    return all(view.spec_of(e).get("version") == wanted for e in machines)


def due_machines(objects: view.View, control_plane: view.Object) -> list[str]:
    """Return the machines that Cluster API renews at once.

    :param control_plane: with ``rolloutBefore``, still to be applied
    """
    until = objects.clock.now + _DAY * _days_before(control_plane)
    dates = {
        view.name_of(each): view.timestamp(_date(each))
        for each in objects.control_plane_machines()
    }
    return [name for name, date in dates.items() if 0 < date <= until]


def _days_before(control_plane: view.Object | None) -> int:
    """Return the days of ``rolloutBefore``; 0: none."""
    policy = _rollout(control_plane, "before") or {}
    return int(policy.get("certificatesExpiryDays") or 0)


def renewal_time(control_plane: view.Object | None) -> float:
    """Return ``rolloutAfter``: Cluster API replaces older machines; 0: none.

    Seconds since 1970. A time that is still to come is planned for later.
    """
    return view.timestamp(_rollout(control_plane, "after"))


def _rollout(control_plane: view.Object | None, key: str) -> Any:
    """Return ``rollout.KEY`` of v1beta2, or ``rolloutKEY`` of v1beta1."""
    spec = view.spec_of(control_plane)
    rollout = spec.get("rollout") or {}
    return rollout.get(key) or spec.get(f"rollout{key.title()}")


def outdated_machines(objects: view.View) -> list[str]:
    """Return the names of machines that ``rolloutAfter`` replaces."""
    after = renewal_time(objects.control_plane)
    if not objects.clock.has_passed(after):
        return []
    machines = objects.control_plane_machines()
    return [view.name_of(e) for e in machines if view.created_at(e) < after]


def renewal_patch(
    control_plane: view.Object, moment: str | None
) -> dict[str, Any]:
    """Return the merge patch that replaces all machines older than a moment.

    :param control_plane: or a MachineDeployment; the patch is for its API
        version
    :param moment: as Kubernetes writes it; None: no machine
    """
    if str(control_plane.get("apiVersion", "")).endswith("/v1beta1"):
        return {"spec": {"rolloutAfter": moment}}
    return {"spec": {"rollout": {"after": moment}}}


def _first_date(objects: view.View) -> str:
    """Return the first valid date that a machine reports, or nothing."""
    dates = (
        _date(each)
        for each in objects.control_plane_machines()
        if not view.deleting(each)
    )
    return min(filter(view.timestamp, dates), key=view.timestamp, default="")


def _date(obj: view.Object) -> str:
    return str(view.status_of(obj).get("certificatesExpiryDate") or "")


PROGRESS_ANNOTATION = "magnum.openstack.org/progress"


class Progress(NamedTuple):
    """The best counts so far of one update.

    :ivar revision: of the helm release
    :ivar began: when the update began, seconds since 1970, by the clock of
        the API server; with ``revision``, it identifies the update
    :ivar new: most new machines that had a ready node at once
    :ivar old: fewest old machines that were left
    :ivar time: when the counts were reached, seconds since 1970
    """

    revision: int
    began: int
    new: int
    old: int
    time: int

    def patch(self) -> dict[str, Any]:
        """Return the merge patch that writes the progress on the Cluster."""
        notes = {PROGRESS_ANNOTATION: json.dumps(self._asdict())}
        return {"metadata": {"annotations": notes}}


def stored_progress(cluster: view.Object | None) -> Progress | None:
    """Return the annotation's, or None if there is no valid one."""
    notes = view.annotations_of(cluster)
    noted = view.parsed(notes.get(PROGRESS_ANNOTATION, ""))
    try:
        return Progress(*(int(noted[name]) for name in Progress._fields))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def latest_progress(objects: view.View) -> Progress | None:
    """Return the best counts of now: the stored ones without progress.

    :returns: None where there is no release
    """
    revision, now = objects.newest, objects.clock.now
    if revision is None:
        return None
    renewed = renewal_time(objects.control_plane)
    renewed = renewed if renewed <= now else 0.0
    began = int(max(revision.created, renewed))
    ages = [(view.created_at(each) < began, each) for each in objects.machines]
    old = sum(is_old for is_old, _ in ages)
    new = sum(not is_old and _has_ready_node(each) for is_old, each in ages)
    best = stored_progress(objects.cluster)
    update = (revision.version, began)
    if best is None or (best.revision, best.began) != update:
        # The first look only sets the starting counts.
        return Progress(
            *update, new, old, int(max(revision.modified, renewed))
        )
    if new <= best.new and old >= best.old:
        return best
    return Progress(*update, max(new, best.new), min(old, best.old), int(now))


def _has_ready_node(obj: view.Object) -> bool:
    return machine.node_condition(obj).well and not view.deleting(obj)
