# SPDX-License-Identifier: Apache-2.0

"""A new nodegroup.

Everything that can be refused is looked at with the user's own eyes, before
anything is written. What the chart needs to make the group is then parked,
the row says that it is being made, and whoever holds the Lease next makes
it: polls have no user's token and ask OpenStack nothing.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import placement
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import nodegroups
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import maintenance
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested

LOG = log.getLogger(__name__)

#: Seconds to wait for the Lease where only the user can do what needs it,
#: and seconds between two tries.
_PATIENCE = 60.0
_PAUSE = 1.0


def create(
    rt: runtime.Runtime, context: Any, cluster: Any, nodegroup: Any
) -> None:
    """Make a new group.

    :param nodegroup: Magnum's row of it, saved and not decided about
    :raises CapiHelmError: it was refused; nothing was written
    """
    with timing.measured() as measured:
        _create(rt, context, cluster, nodegroup, measured)


def _create(
    rt: runtime.Runtime,
    context: Any,
    cluster: Any,
    nodegroup: Any,
    measured: timing.Spent,
) -> None:
    if nodegroups.doomed(rt, cluster):
        # Refusing would leave a failed cluster that nobody deletes.
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    maintenance.refuse(cluster)
    item = _item(rt, context, cluster, nodegroup)
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    key = desired_state.item_key(nodegroup.uuid)
    state_secret.park(rt, scope, labels, {key: encoding.plain(item)})
    row = rows.fresh_group(nodegroup)
    if row is None:
        # Deleted by the user meanwhile; what was parked goes with the next
        # change of the release.
        return
    if rows.leaving(row) or nodegroups.doomed(rt, cluster):
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    status_writer.save_accepted(nodegroup, scope[1])
    LOG.info(
        "took on nodegroup %s of release %s: %s",
        nodegroup.uuid,
        scope[1],
        measured,
    )
    status_writer.await_polls(context, cluster)
    nodegroups.apply(rt, context, cluster)


def _item(
    rt: runtime.Runtime, context: Any, cluster: Any, nodegroup: Any
) -> dict[str, Any]:
    """The group's item of ``nodeGroups``, with every reference looked up."""
    scope = operation.scope_of(cluster)
    base, known = nodegroups.base_of(rt, cluster)
    session = sessions.user_session(context)
    cloud = catalogue.Cloud(session)
    requested.check_unknown_of_group(cluster, nodegroup)
    asked = requested.living_labels(cluster, known.labels)
    group = groups.resolve(cluster, nodegroup, cloud, scope[1], asked)
    _check_name(rt, cluster, nodegroup, base)
    outline = resolve_cluster.outline(cluster, asked, known.chart, scope[1])
    values.check_group(
        resolve_cluster.living(cluster, outline, known.values), group
    )
    quota.check_group(cloud, outline, group)
    item = values.node_group(outline, group)
    _check_machines(rt, cluster, nodegroup, base, item)
    ids = _server_groups(rt, cluster, session, group)
    group = dataclasses.replace(
        group, server_group_id=ids.get(group.name, group.server_group_id)
    )
    return values.node_group(outline, group)


def _check_machines(
    rt: runtime.Runtime,
    cluster: Any,
    nodegroup: Any,
    base: state_secret.Kept,
    item: dict[str, Any],
) -> None:
    """Refuse a group if machines of another one would be replaced for it.

    :param item: of ``nodeGroups``
    """
    rows_now, _ = rows.read(cluster)
    new = rows.group(nodegroup, operation.scope_of(cluster)[1])
    items = {**base.parked.items, new.uuid: item}
    parked = dataclasses.replace(base.parked, items=items)
    operation.check_request(
        lambda: rt,
        cluster,
        rows_now.with_group(dataclasses.replace(new, made=True)),
        dataclasses.replace(base, parked=parked),
    )


def _check_name(
    rt: runtime.Runtime, cluster: Any, nodegroup: Any, base: state_secret.Kept
) -> None:
    """Refuse a group that would take over another one's machines.

    1.4.0 gave names to groups by another rule, and two rows one name.
    """
    scope = operation.scope_of(cluster)
    now = time.monotonic()
    seen = rt.snapshots.get(scope, not_before=now).decode()
    existing = base.groups | seen.group_names()
    new = rows.group(nodegroup, scope[1])
    rows_now, _ = rows.read(cluster)
    taken_on = rows_now.with_group(
        dataclasses.replace(new, made=True)
    ).known_as(existing)
    if _name_of(taken_on, new.uuid) in existing:
        raise errors.InvalidInput(
            f"nodegroup name {new.name!r}: machines of another nodegroup have "
            "that name on the management cluster; choose another name"
        )


def _name_of(rows_now: requested_groups.Rows, uuid: str) -> str:
    return next(
        each.chart_name for each in rows_now.groups if each.uuid == uuid
    )


def _server_groups(
    rt: runtime.Runtime,
    cluster: Any,
    session: Any,
    group: cluster_spec.NodeGroup,
) -> dict[str, str]:
    """The group's Nova server group, if it wants one.

    Only the user can make it, so this waits for the Lease.

    :raises LeaseHeld: for as long as anybody can wait
    """
    policies = placement.server_groups((group,))
    if not policies:
        return {}
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with rt.leases.hold(*scope, labels):
                return server_groups.ensure(
                    rt.management, scope, labels, session, policies
                )
        except errors.LeaseHeld:
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)
