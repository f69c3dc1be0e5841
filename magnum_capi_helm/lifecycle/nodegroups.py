# SPDX-License-Identifier: Apache-2.0

"""Update and deletion of nodegroups, and what all their requests share.

A request is accepted with the row that says so. Applying it is tried once;
with the Lease busy, or the management cluster away, the polls do it.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import topic
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import nodegroup_rows
from magnum_capi_helm.lifecycle import nodegroup_settings
from magnum_capi_helm.lifecycle import reconcile
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import deferred
from magnum_capi_helm.operations import faults
from magnum_capi_helm.operations import late_requests
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import maintenance
from magnum_capi_helm.planes import origin

LOG = log.getLogger(__name__)

_GOING_ON = "Change of nodegroups of cluster %s goes on with the polls: %s"


def doomed(rt: runtime.Runtime, cluster: Any) -> bool:
    """Whether the cluster is being deleted.

    Its own row does not say so: Magnum's handlers of nodegroups put
    UPDATE_IN_PROGRESS over everything.
    """
    if rows.doomed(cluster):
        return True
    if not cluster.stack_id:
        return False
    return late_requests.deleted(rt, operation.scope_of(cluster))


def update(
    rt: runtime.Runtime, context: Any, cluster: Any, nodegroup: Any
) -> None:
    """Apply the bounds, labels and taints of a group.

    :param nodegroup: with the new fields, not saved
    :raises CapiHelmError: it was refused; the fields are as they were
    """
    with timing.measured():
        _update(rt, context, cluster, nodegroup)


def _update(
    rt: runtime.Runtime, context: Any, cluster: Any, nodegroup: Any
) -> None:
    stored = rows.fresh_group(nodegroup)
    if stored is None:
        return
    _catch_up(nodegroup, stored)
    with _put_back(nodegroup, stored):
        going = rows.leaving(stored) or doomed(rt, cluster)
        if not going:
            maintenance.refuse(cluster)
            _park_change(rt, cluster, nodegroup, stored)
    if going:
        # Refusing would write UPDATE_FAILED, as if it lived on.
        _restore(nodegroup, stored)
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    status_writer.save_group(nodegroup, rows.Status.UPDATE_IN_PROGRESS)
    status_writer.await_polls(context, cluster)
    apply(rt, context, cluster)


def _catch_up(nodegroup: Any, stored: Any) -> None:
    """Take what the user left alone from the row as it is by now.

    Magnum's API read it when it took the request; another one may have been
    served since, and its fields are not to be set back.
    """
    changed = nodegroup.obj_what_changed()
    for name in nodegroup_settings.FIELDS:
        if hasattr(stored, name) and name not in changed:
            setattr(nodegroup, name, getattr(stored, name))
            nodegroup.obj_reset_changes([name])


@contextlib.contextmanager
def _put_back(nodegroup: Any, stored: Any) -> Any:
    """After a refusal Magnum saves the object: let it save the old fields."""
    try:
        yield
    except errors.CapiHelmError:
        _restore(nodegroup, stored)
        raise


def _restore(nodegroup: Any, stored: Any) -> None:
    for name in nodegroup_settings.FIELDS:
        if hasattr(stored, name):
            setattr(nodegroup, name, getattr(stored, name))


def base_of(
    rt: runtime.Runtime, cluster: Any
) -> tuple[state_secret.Kept, desired_state.Intent]:
    """What a request about a group changes, and what was wanted of that.

    :raises CapiHelmError: there is no release, or not where it was made
    """
    if not cluster.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)
    origin.check(rt, rows.all_groups(cluster))
    found = state_secret.base(rt, operation.scope_of(cluster))
    if found.wanted is None:
        raise operation.InterruptedCreateError
    return found, found.wanted


def _park_change(
    rt: runtime.Runtime, cluster: Any, nodegroup: Any, stored: Any
) -> None:
    scope = operation.scope_of(cluster)
    base, known = base_of(rt, cluster)
    change = nodegroup_settings.change(
        cluster,
        nodegroup,
        stored,
        known=known,
        item=_item(cluster, stored, known, base.parked),
        pending=base.parked.change_of(rows.group(stored, scope[1])),
    )
    group = rows.group(nodegroup, scope[1])
    changes = {**base.parked.changes}
    if change:
        changes[group.uuid, group.settings_id] = change
    parked = dataclasses.replace(base.parked, changes=changes)
    rows_now, _ = rows.read(cluster)
    operation.check_request(
        lambda: rt,
        cluster,
        rows_now.with_group(group),
        dataclasses.replace(base, parked=parked),
    )
    if change:
        key = desired_state.change_key(group)
        labels = location.object_labels(cluster, scope[1])
        state_secret.park(rt, scope, labels, {key: encoding.plain(change)})


def _item(
    cluster: Any,
    nodegroup: Any,
    known: desired_state.Intent,
    parked: desired_state.Parked,
) -> topic.Values:
    """The group's item of ``nodeGroups``; empty where there is none yet."""
    items = {
        str(each["name"]): each
        for each in known.values.get("nodeGroups") or []
    }
    rows_now, _ = rows.read(cluster)
    for group in rows_now.known_as(items).groups:
        if group.uuid == nodegroup.uuid and group.chart_name in items:
            return dict(items[group.chart_name])
    return parked.items.get(nodegroup.uuid, {})


def delete(
    get_runtime: Callable[[], runtime.Runtime],
    context: Any,
    cluster: Any,
    nodegroup: Any,
) -> None:
    """Begin to delete a group; its row goes when its machines have gone.

    :raises NotSupported: it is one of the default groups, the management
        cluster is frozen, or machines of other groups would be replaced
    """
    if nodegroup.is_default:
        raise errors.NotSupported(
            "deleting a default nodegroup is not supported by the driver "
            f"{names.DRIVER}"
        )
    if rows.fresh_group(nodegroup) is None:
        return
    if not cluster.stack_id:
        nodegroup.destroy()
        return
    with timing.measured():
        _delete(get_runtime, context, cluster, nodegroup)


def _delete(
    get_runtime: Callable[[], runtime.Runtime],
    context: Any,
    cluster: Any,
    nodegroup: Any,
) -> None:
    if not rows.doomed(cluster):
        maintenance.refuse(cluster)
        rows_now, _ = rows.read(cluster)
        group = rows.group(nodegroup, cluster.stack_id)
        operation.check_request(
            get_runtime, cluster, rows_now.with_leaving(group)
        )
    status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
    status_writer.await_polls(context, cluster)
    with faults.logged(LOG, _GOING_ON, cluster.uuid):
        _mark(get_runtime(), cluster, nodegroup)
        apply(get_runtime(), context, cluster)


def _mark(rt: runtime.Runtime, cluster: Any, nodegroup: Any) -> None:
    """Let nothing that Magnum writes into the row bring the group back."""
    scope = operation.scope_of(cluster)
    origin.check_there(rt, scope)
    state_secret.park(
        rt,
        scope,
        location.object_labels(cluster, scope[1]),
        {
            desired_state.item_key(nodegroup.uuid): None,
            desired_state.deleted_key(nodegroup.uuid): encoding.plain(True),
        },
    )


def apply(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Try to apply what was accepted; the polls go on where this ends."""
    with (
        timing.measured() as measured,
        faults.logged(LOG, _GOING_ON, cluster.uuid),
    ):
        _apply(rt, context, cluster)
        LOG.info(
            "changed nodegroups of release %s: %s", cluster.stack_id, measured
        )


def _apply(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    with (
        deferred.queued(rt, cluster, reconcile.go_on),
        rt.leases.hold(*scope, labels) as hold,
    ):
        row = rows.fresh(context, cluster)
        hold.orphaned = row is None
        if row is None or hold.marked_deleted:
            return
        nodegroup_rows.settle(rt, row)
        rows_now, nodegroups = rows.read(row)
        if rows_now.doomed:
            return
        if _differs(rt, row, rows_now, scope):
            operation.apply(rt, row, rows_now, hold)
        elif rows_now.leaving:
            now = time.monotonic()
            seen = rt.snapshots.get(scope, not_before=now).decode()
            named = rows_now.known_as(seen.group_names())
            nodegroup_rows.bury(rt, row, nodegroups, named, seen)


def _differs(
    rt: runtime.Runtime,
    cluster: Any,
    rows_now: requested_groups.Rows,
    scope: snapshot.Scope,
) -> bool:
    """Whether the rows want anything that was not wanted before."""
    known = state_secret.read(rt, scope).wanted
    if known is not None:
        return known.fingerprint != rows_now.fingerprint()
    revisions = releases.revisions(rt.management, *scope)
    adopted = state_secret.base(rt, scope, revisions).wanted
    planned = operation.planned(rt, cluster, rows_now, scope, revisions)
    return adopted is None or adopted.values != planned.values
