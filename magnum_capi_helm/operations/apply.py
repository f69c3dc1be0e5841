# SPDX-License-Identifier: Apache-2.0

"""Make the release match the rows, or the objects the release.

It is level-triggered: it does the same whoever calls it and however often. A
request calls it once; when that did not get through, or the conductor died,
the polls call it again.

helm refuses to work on a release whose newest revision is pending. The holder
of the Lease can't know which helm began that revision, or whether it still
works on it: values do not tell, because ``helm upgrade --reuse-values`` at a
shell copies them. So it waits as long as a helm may take, from its first look.
Of its own helms a conductor knows the end, and gives up at once the revision
that one leaves pending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import contextlib
import math
import time

from oslo_log import log

from magnum_capi_helm.chart import patches
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import repair as repairs
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
Held = holding.Held
Revisions = cluster_release.Revisions

#: Seconds that a run of helm needs at least.
_LEAST = 15.0
#: The driver never rolls back.
_OWN = ("pending-install", "pending-upgrade")


def install(held: Held, desired: desired_state.DesiredState) -> bool:
    """Install the release of a cluster that has nothing yet.

    Nothing is read: the create made the Lease a moment ago, so there is
    neither a revision nor a machine.

    :param desired: as it was stored
    :returns: whether helm ran; no: the cluster is being deleted
    :raises NoTurn: no helm process is free; nothing was written
    :raises CapiHelmError: as helm or the management cluster says
    """
    if held.deleting:
        return False
    with held.runtime.turns.turn():
        rows_now, _ = held.read_rows()
        counts = _counts_to_set(held, desired, rows_now)
        _upgrade(held, desired, (), counts, None)
    return True


def to_release(
    held: Held, *, changes_only: bool = False, deadline: float | None = None
) -> bool:
    """Make the release match the rows.

    :param changes_only: run helm only if the rows want something else
        than was last stored
    :param deadline: on the monotonic clock; if helm does not have
        seconds enough until then, nothing is changed
    :returns: whether helm ran
    :raises NoTurn: no helm process is free; nothing was written
    :raises WouldReplace: machines would be replaced unasked; nothing was
        written
    :raises InterruptedCreateError: there is no desired state and no
        release
    :raises HelmBusy: a helm of another process may still be at work
    :raises CapiHelmError: as helm or the management cluster says
    """
    if held.deleting:
        return False
    with held.runtime.turns.turn():
        return _to_release(held, changes_only, deadline)


def _to_release(
    held: Held, changes_only: bool, deadline: float | None
) -> bool:
    listed = held.revisions()
    # An absence is believed after a fresh answer alone.
    identity.check(held.runtime, held.nodegroups, cached=bool(listed))
    stored = held.settle(held.read_stored(listed))
    revisions = give_up_dead(held, listed)
    rows_now, _ = held.read_rows()
    planned = stored.desired_for(held.cluster, rows_now, revisions)
    if changes_only and not stored.differs(planned):
        return False
    latest = math.inf if deadline is None else deadline - _LEAST
    if time.monotonic() > latest:
        return False
    _guard(held, planned, rows_now, revisions)
    if time.monotonic() > latest:
        return False
    counts = _counts_to_set(held, planned, rows_now)
    changed = planned is not stored.desired
    if changed:
        applied = None
        if stored.requests.keys:
            applied = _applied_keys(held, rows_now, planned, stored.requests)
        held.store(planned, applied)
    migrated = _upgrade(held, planned, revisions, counts, deadline)
    # Asked for once more, or after a failure: helm alone does not look.
    # Nor does it see that two versions of an API spell a field in two
    # ways.
    harmful = any(each.harmful for each in revisions)
    if revisions and (not changed or migrated or harmful):
        repairs.repair(held, held.revisions())
    return True


def _applied_keys(
    held: Held,
    rows_now: requested_groups.Rows,
    desired: desired_state.DesiredState,
    requests: desired_state.PendingRequests,
) -> dict[str, None]:
    """Return the keys of stored requests that are no longer needed.

    :param desired: with all requests applied
    :returns: the keys, each to be removed
    """
    # Read after the Secret: a new group has its row before its request is
    # stored.
    alive = {each.uuid for each in rows.all_groups(held.cluster)}
    gone = requests.keys_of(set(requests.keys.values()) - alive)
    existing = values.group_names(desired.values)
    taken = {
        key
        for each in rows_now.named_as(existing).workers
        if each.chart_name in existing
        for key in (
            desired_state.item_key(each.uuid),
            desired_state.change_key(each),
        )
    }
    return dict.fromkeys(gone | (taken & requests.keys.keys()))


def _guard(
    held: Held,
    planned: desired_state.DesiredState,
    rows_now: requested_groups.Rows,
    revisions: Revisions,
) -> None:
    """Refuse as :func:`template_guard.check` does.

    Polls try again and again: each new refusal is logged once, and
    ``Runtime.withheld`` keeps it for the status.
    """
    withheld, scope = held.runtime.withheld, held.scope
    try:
        template_guard.check(held, planned, rows_now, revisions)
    except (errors.WouldReplace, template_guard.OutdatedError) as error:
        if withheld.get(scope) != str(error):
            LOG.warning("Release %s stays as it is: %s", scope[1], error)
        withheld[scope] = str(error)
        raise
    withheld.pop(scope, None)


def uninstall(held: Held) -> None:
    """Run ``helm uninstall``, which reads the newest revision.

    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    helm, (namespace, name) = held.runtime.helm, held.scope
    _run(held, lambda: helm.uninstall(name, namespace), lambda each: each[-1])


def repair(held: Held) -> None:
    """Make live objects equal to the manifest of the newest revision.

    :raises OutdatedError: the stored state is older than the release
    :raises CapiHelmError: as :func:`repair.repair`
    """
    revisions = held.revisions()
    desired = held.read_stored(revisions).accepted()
    template_guard.check_current(held, desired, revisions)
    repairs.repair(held, revisions)


# helm


def _upgrade(
    held: Held,
    desired: desired_state.DesiredState,
    revisions: Revisions,
    counts: Mapping[str, int],
    deadline: float | None,
) -> bool:
    """Run ``helm upgrade --install``.

    If helm fails, the revision that it began is given up.

    :param revisions: those before it
    :param counts: from :func:`_counts_to_set`
    :param deadline: on the monotonic clock; None: helm's own alone
    :returns: whether API versions in helm's record were changed
    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    rt, (namespace, name) = held.runtime, held.scope
    helm = held.prepared(rt.helm.upgrade, desired, counts)

    def run() -> float:
        within = deadline and max(deadline - time.monotonic(), 1.0)
        return helm(within=within, convert=rt.converter.groups)

    try:
        seconds, migrated = _run(held, run, cluster_release.last_deployed)
    except errors.HelmError as error:
        if not isinstance(error, errors.HelmBusy):
            _give_up_own(held, revisions)
        if isinstance(error, errors.Unconvertible):
            # It names the field, which helm 4 does not.
            held.render(desired)
        raise
    LOG.info("release %s in %s: helm %.3f s", name, namespace, seconds)
    return migrated


def _counts_to_set(
    release: cluster_release.Release,
    desired: desired_state.DesiredState,
    rows_now: requested_groups.Rows,
) -> dict[str, int]:
    """Return the counts that helm sets in autoscaled groups, by their names.

    Only those that no autoscaler chose: of groups that are new to it, and
    outside of bounds.

    :raises ManagementError: the live counts can't be read
    """
    existing = values.group_names(desired.values)
    asked, counts = rows_now.named_as(existing).counts(), {}
    for each in patches.scaled(values.in_effect(desired.values)):
        name = str(each["name"])
        deployment = release.deployment(name)
        live = None
        if view.AUTOSCALER_ANNOTATION in view.annotations_of(deployment):
            live = view.spec_of(deployment).get("replicas")
        count = patches.set_count(each, asked.get(name), live)
        if count is not None:
            counts[name] = count
    return counts


# Pending revisions


def give_up_dead(held: Held, revisions: Revisions) -> Revisions:
    """Mark a pending newest revision as failed if its helm is dead.

    :returns: the revisions, read again if one was given up
    :raises HelmBusy: a helm may still work on it
    """
    newest = revisions[-1] if revisions else None
    if newest is None or not newest.pending:
        return revisions
    rt, scope = held.runtime, held.scope
    age = rt.ages.age(scope, "pending revision", newest)
    if age < rt.pending_deadline:
        raise errors.HelmBusy(
            f"helm: revision {newest.version} of {scope[1]} is {newest.status}"
        )
    LOG.warning(
        "Giving up revision %d of %s: it is %s and nobody works on it",
        newest.version,
        scope[1],
        newest.status,
    )
    helm_records.give_up(rt.management, *scope, newest.version)
    return held.revisions()


def _give_up_own(held: Held, before: Revisions) -> None:
    """Mark the revision as failed that an ended helm has left pending.

    If it can't be seen now, :func:`give_up_dead` waits for it.
    """
    with contextlib.suppress(errors.CapiHelmError):
        for each in set(held.revisions()) - set(before):
            if each.status in _OWN:
                version = each.version
                helm_records.give_up(held.management, *held.scope, version)


def _run(
    held: Held,
    helm: Callable[[], float],
    compared: Callable[[Sequence[view.Revision]], view.Revision],
) -> tuple[float, bool]:
    """Run helm, once more after the versions in its record were changed."""
    converter, labels = held.runtime.converter, held.object_labels
    try:
        return converter.run(helm), False
    except errors.ReleaseStranded:
        if not (revisions := held.revisions()):
            raise
        record = held.record(compared(revisions).version)
        if not (record and converter.migrate(record, held.release, labels)):
            raise
    return converter.run(helm), True
