# SPDX-License-Identifier: Apache-2.0

"""Bring Magnum's rows in line with requests that were accepted.

A request stores what it wants beside the desired state before it writes its
row (a deletion: after it), and Magnum's handlers write into rows whatever they
remember. So the Secret decides: under the Lease, before the rows are judged or
applied, the rows get what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime

from oslo_log import log

from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.operations import template_guard

LOG = log.getLogger(__name__)

#: Time until a request has decided whether its nodegroup is made.
_TO_DECIDE = datetime.timedelta(minutes=5)

_NEVER_DECIDED = (
    "the conductor stopped before it began to make the nodegroup: delete it "
    "and create it again"
)
_NOTHING_KNOWN = (
    "nothing is known of the nodegroup's machines: delete it and create it "
    "again"
)


def settle(
    held: holding.Held,
    nodegroups: Sequence[rows.NodeGroup] | None = None,
    stored: releases.StoredState | None = None,
) -> releases.StoredState:
    """Write into the rows what accepted requests decided.

    An accepted upgrade changes template, images and flavors. A new nodegroup
    whose request is stored is accepted; one that is to be deleted is being
    deleted, whatever was written since; one without any values can't be made
    any more, and must not keep the others from being made.

    :param held: with the row of the cluster, read under the Lease
    :param nodegroups: its groups, if they were read already
    :param stored: read after the rows, if it was read already
    :returns: the stored state without what the rows have now
    """
    cluster = held.cluster
    if nodegroups is None:
        nodegroups = rows.all_groups(cluster)
    stored = stored or held.read_stored()
    desired = stored.desired
    if desired and desired.moves and not _is_outdated(held, desired):
        status_writer.save_moves(cluster, nodegroups, desired.moves)
        template = desired.moves.template
        LOG.info("cluster %s has template %s", cluster.uuid, template)
        version = held.patch_stored(
            {desired_state.MOVES: None}, desired.version
        )
        desired = dataclasses.replace(desired, moves=None, version=version)
        stored = dataclasses.replace(stored, desired=desired)
    if stored.desired is not None:
        _settle_groups(held, nodegroups, stored)
    return stored


def _is_outdated(
    held: holding.Held, desired: desired_state.DesiredState
) -> bool:
    """Return whether a state is older than the held: rows don't get it."""
    revisions = held.revisions()
    try:
        template_guard.check_current(held, desired, revisions)
    except template_guard.OutdatedError:
        return True
    return False


def _settle_groups(
    held: holding.Held,
    nodegroups: Sequence[rows.NodeGroup],
    stored: releases.StoredState,
) -> None:
    cluster = held.cluster
    named = rows.wants(cluster, nodegroups).known_as(stored.groups)
    made = {
        each.uuid
        for each in (*named.groups, *named.refused)
        if each.chart_name in stored.groups
    } | stored.requests.items.keys()
    for each in nodegroups:
        if each.is_default:
            continue
        if each.uuid in stored.requests.deleted:
            status_writer.save_group(each, rows.Status.DELETE_IN_PROGRESS)
        elif each.uuid in made and rows.undecided(each):
            status_writer.save_accepted(each, cluster.stack_id)
        elif each.uuid not in made:
            _settle_without_values(held, each)


def _settle_without_values(
    held: holding.Held, nodegroup: rows.NodeGroup
) -> None:
    """Refuse a group that has neither values nor a stored request.

    One with machines stays as it is: the stored state may be an older copy.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    young = now - nodegroup.created_at <= _TO_DECIDE
    reason = ""
    if rows.undecided(nodegroup):
        reason = "" if young else _NEVER_DECIDED
    elif rows.is_member(nodegroup):
        if young and not nodegroup.stack_id:
            # Resized before its own request has decided.
            status_writer.save_group(nodegroup, rows.Status.CREATE_IN_PROGRESS)
            return
        reason = _NOTHING_KNOWN
    chart_name = names.node_group(nodegroup.name, held.release)
    if reason and not held.runtime.management.get(
        kinds.MACHINE_DEPLOYMENT,
        held.namespace,
        names.machine_deployment(held.release, chart_name),
    ):
        LOG.warning("nodegroup %s: %s", nodegroup.uuid, reason)
        status_writer.save_refused(nodegroup, reason)


def keys_of_applied(
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
