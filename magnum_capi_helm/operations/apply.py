# SPDX-License-Identifier: Apache-2.0

"""Make the release match the rows, or the objects the release.

It is level-triggered: it does the same whoever calls it and however often. A
request calls it once; when that did not get through, or the conductor died,
the polls call it again.
"""

from __future__ import annotations

from oslo_log import log

from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import helm_run
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.operations import repair as repairs
from magnum_capi_helm.operations import template_guard

LOG = log.getLogger(__name__)


def install(held: holding.Held, desired: desired_state.DesiredState) -> bool:
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
        rows_now, _ = rows.read(held.cluster)
        counts = helm_run.counts_to_set(held, desired, rows_now)
        helm_run.upgrade(held, desired, (), counts, None)
    return True


def to_release(
    held: holding.Held,
    *,
    changes_only: bool = False,
    deadline: float | None = None,
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
    held: holding.Held, changes_only: bool, deadline: float | None
) -> bool:
    nodegroups = rows.all_groups(held.cluster)
    listed = held.revisions()
    # An absence is believed after a fresh answer alone.
    identity.check(held.runtime, nodegroups, cached=bool(listed))
    stored = held.read_stored(listed)
    stored = held.settle(nodegroups, stored)
    revisions = helm_run.give_up_dead(held, listed)
    rows_now = rows.wants(held.cluster, nodegroups)
    planned = stored.desired_for(held.cluster, rows_now, revisions)
    if changes_only and not stored.differs(planned):
        return False
    if helm_run.is_too_late(deadline):
        return False
    _guard(held, planned, rows_now, revisions)
    if helm_run.is_too_late(deadline):
        return False
    counts = helm_run.counts_to_set(held, planned, rows_now)
    changed = planned is not stored.desired
    if changed:
        applied = _applied_keys(held, rows_now, planned, stored.requests)
        held.store(planned, applied)
    migrated = helm_run.upgrade(held, planned, revisions, counts, deadline)
    # Asked for once more, or after a failure: helm alone does not look.
    # Nor does it see that two versions of an API spell a field in two
    # ways.
    harmful = any(each.harmful for each in revisions)
    if revisions and (not changed or migrated or harmful):
        repairs.repair(held, held.revisions())
    return True


def _applied_keys(
    held: holding.Held,
    rows_now: requested_groups.Rows,
    desired: desired_state.DesiredState,
    requests: desired_state.PendingRequests,
) -> dict[str, None]:
    """Return the keys of stored requests that are no longer needed.

    :param desired: with all requests applied
    :returns: the keys, each to be removed
    """
    if not requests.keys:
        return {}
    # Read after the Secret: a new group has its row before its request is
    # stored.
    alive = {each.uuid for each in rows.all_groups(held.cluster)}
    gone = requests.keys_of(set(requests.keys.values()) - alive)
    existing = values.group_names(desired.values)
    taken = {
        key
        for each in rows_now.known_as(existing).workers
        if each.chart_name in existing
        for key in (
            desired_state.item_key(each.uuid),
            desired_state.change_key(each),
        )
    }
    return dict.fromkeys(gone | (taken & requests.keys.keys()))


def _guard(
    held: holding.Held,
    planned: desired_state.DesiredState,
    rows_now: requested_groups.Rows,
    revisions: releases.Revisions,
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


def repair(held: holding.Held) -> None:
    """Make live objects equal to the manifest of the newest revision.

    :raises OutdatedError: the stored state is older than the release
    :raises CapiHelmError: as :func:`repair.repair`
    """
    revisions = held.revisions()
    desired = held.read_stored(revisions).accepted()
    template_guard.check_current(held, desired, revisions)
    repairs.repair(held, revisions)
