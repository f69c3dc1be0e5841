# SPDX-License-Identifier: Apache-2.0

"""Create, update and delete nodegroups.

1. Magnum has saved the row of a new group. It saves the fields of an updated
   group after the call, also after a refusal.
2. In a cluster that is being deleted, every group is deleted.
3. Refuse what can't be done: references, labels, bounds, quota, a name that
   another group has, a change that replaces other machines.
4. Store the request beside the desired state, in a key of its own. Polls have
   no user's token, so everything is looked up before.
5. Save the status of the group. From here on nothing is raised. A deletion
   saves the status first.
6. Take the Lease, read the rows again, store the desired state, run helm.
7. The polls finish what is left. They remove the row of a deleted group when
   its machines are gone. Step 6 does so if the group has none.

A new group is looked up in OpenStack with the user's token. An update changes
bounds, node labels and node taints; OpenStack is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import nodes
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import cluster as cluster_status

LOG = log.getLogger(__name__)
NodeGroup = rows.NodeGroup
Operation = cluster_operation.Operation
StoredState = cluster_release.StoredState

#: Seconds to wait for the Lease where only the user can do the work.
LEASE_WAIT = 60.0

#: The request, for the log.
_CHANGE = "Change of nodegroups"

#: Fields of a nodegroup's row that an update may change. Magnum before 23
#: has no labels and taints of nodes.
_FIELDS = ("min_node_count", "max_node_count", "node_labels", "node_taints")

#: Keys of an item of ``nodeGroups`` that belong to the bounds.
_BOUNDS = (*paths.AUTOSCALED, paths.COUNT)


def create(operation: Operation, nodegroup: NodeGroup) -> None:
    """Make a new group.

    :param nodegroup: Magnum's row, saved without a ``stack_id``
    :raises CapiHelmError: it was refused; nothing was written
    """
    if _cluster_is_deleted(operation):
        # Refusing would leave a failed cluster that nobody deletes.
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    operation.check_changeable()
    operation.check_answering()
    _store_item(operation, nodegroup)
    row = rows.fresh_group(nodegroup)
    if row is None:
        # The user deleted it meanwhile. The next change of the release
        # removes the stored request.
        return
    if rows.leaving(row) or _cluster_is_deleted(operation):
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    status_writer.save_accepted(nodegroup, operation.release)
    operation.start_update()
    operation.run(_apply, _CHANGE)


def _store_item(operation: Operation, nodegroup: NodeGroup) -> None:
    """Store the values of a new group, after all that could refuse it.

    Another change may be accepted meanwhile, such as an upgrade after which
    the machines of the group could not join: then all is checked again.

    :raises CapiHelmError: it is refused
    """
    key = desired_state.item_key(nodegroup.uuid)
    for last in (False, False, True):
        stored = operation.read_stored()
        change = {key: encoding.plain(_new_item(operation, nodegroup, stored))}
        try:
            operation.patch_stored(change, stored.version)
        except errors.Conflict:
            if last:
                raise
        else:
            return


def update(operation: Operation, nodegroup: NodeGroup) -> None:
    """Apply the bounds, labels and taints of a group.

    :param nodegroup: with the new fields, not saved
    :raises CapiHelmError: it was refused; the fields are as they were
    """
    saved = rows.fresh_group(nodegroup)
    if saved is None:
        return
    _refresh_unchanged(nodegroup, saved)
    try:
        if rows.leaving(saved) or _cluster_is_deleted(operation):
            # A refusal would save UPDATE_FAILED for a group that is deleted.
            _restore(nodegroup, saved)
            status = rows.Status.DELETE_IN_PROGRESS
            status_writer.save_group(nodegroup, status)
            return
        operation.check_changeable()
        operation.check_answering()
        _store_change(operation, nodegroup, saved)
    except errors.CapiHelmError:
        # After a refusal Magnum saves the object: let it save the old fields.
        _restore(nodegroup, saved)
        raise
    operation.start_update(nodegroup)
    operation.run(_apply, _CHANGE)


def delete(operation: Operation, nodegroup: NodeGroup) -> None:
    """Begin to delete a group; its row goes when its machines are gone.

    :raises NotSupported: it is a default group, or machines of other groups
        would be replaced
    :raises Frozen: the management cluster is frozen
    """
    if nodegroup.is_default:
        raise errors.NotSupported(
            "deleting a default nodegroup is not supported by the driver "
            f"{names.DRIVER}"
        )
    cluster, uuid = operation.cluster, nodegroup.uuid
    if rows.fresh_group(nodegroup) is None:
        return
    if not cluster.stack_id:
        with call.without_lease("nothing was made for the cluster"):
            rows.destroy(nodegroup)
        return
    # The rows are enough: no answer of the management cluster is needed.
    rows_now, nodegroups = operation.read_rows()
    if not rows.doomed(nodegroups):
        operation.check_changeable()
        group = rows.group(nodegroup, operation.release)
        operation.check_replacement(rows_now.with_leaving(group))
    # First, so that polls find it even if its key can't be stored. The key is
    # there for handlers that write another status over it.
    status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
    operation.start_update()

    def work(current: Operation) -> None:
        identity.check_present(current.runtime, current.scope)
        deleted = desired_state.deleted_key(uuid)
        change = {desired_state.item_key(uuid): None}
        current.patch_stored({**change, deleted: encoding.plain(True)})
        _apply(current)

    operation.run(work, _CHANGE)


def _cluster_is_deleted(operation: Operation) -> bool:
    """Return whether the whole cluster is being deleted.

    Its own row does not say so: Magnum's handlers of nodegroups write
    UPDATE_IN_PROGRESS over everything.
    """
    cluster = operation.cluster
    return rows.doomed(rows.all_groups(cluster)) or bool(
        cluster.stack_id and operation.deletion_requested()
    )


def _refresh_unchanged(nodegroup: NodeGroup, saved: NodeGroup) -> None:
    """Take the fields that the user left alone from the saved row.

    Magnum's API read the row when it took the request; another request may
    have been served since, and its fields must not be set back.
    """
    changed = nodegroup.obj_what_changed()
    for name in _FIELDS:
        if hasattr(saved, name) and name not in changed:
            setattr(nodegroup, name, getattr(saved, name))
            nodegroup.obj_reset_changes([name])


def _restore(nodegroup: NodeGroup, saved: NodeGroup) -> None:
    for name in _FIELDS:
        if hasattr(saved, name):
            setattr(nodegroup, name, getattr(saved, name))


def _store_change(
    operation: Operation, nodegroup: NodeGroup, saved: NodeGroup
) -> None:
    """Store the change of an update, if it changes any values."""
    stored = operation.read_stored()
    change = _change(operation.cluster, nodegroup, saved, stored)
    group = rows.group(nodegroup, operation.release)
    changes = dict(stored.requests.changes)
    if change:
        changes[group.uuid, group.settings_id] = change
    requests = dataclasses.replace(stored.requests, changes=changes)
    rows_now, _ = operation.read_rows()
    operation.check_replacement(
        rows_now.with_group(group),
        dataclasses.replace(stored, requests=requests),
    )
    if change:
        key = desired_state.change_key(group)
        operation.patch_stored({key: encoding.plain(change)})


def _apply(operation: Operation) -> None:
    with operation.lock() as held:
        if held.deleting or apply.to_release(held, changes_only=True):
            return
        # Nothing had to change, so a leaving group may have no objects. Polls
        # remove the rows of the others.
        if any(map(rows.leaving, held.nodegroups)):
            remove_deleted(held, held.observe())


def remove_deleted(
    held: holding.Held, observed: cluster_release.Observed
) -> None:
    """Remove the rows of deleted groups of which nothing is left.

    If the conductor dies before the request's key is removed, the next change
    of the release removes the key.

    :param observed: read under the Lease, so that the objects tell which
        groups are gone
    """
    gone = {
        each.uuid: each
        for each in observed.rows.leaving
        if cluster_status.is_gone(observed.view, each)
    }
    if not gone:
        return
    _remove_server_groups(held, gone.values())
    for nodegroup in list(held.nodegroups):
        if nodegroup.uuid in gone:
            rows.destroy(nodegroup)
            held.nodegroups.remove(nodegroup)
            LOG.info("nodegroup %s is deleted", nodegroup.uuid)
    requests = held.read_stored().requests
    if keys := requests.keys_of(gone):
        held.patch_stored(dict.fromkeys(keys))


def _remove_server_groups(
    held: holding.Held, deleted: Iterable[requested_groups.Group]
) -> None:
    """Remove the server groups of nodegroups without machines.

    If Nova refuses, the row is deleted all the same: the Secret still names
    the server group, and the deletion of the cluster removes it.
    """
    chart_names = [
        names.node_group(each.name, held.release) for each in deleted
    ]
    text = "Server groups of %s are left: %s"
    with magnum_errors.logged(LOG, text, held.release, errors.CloudError):
        server_groups.delete(held.management, held.scope, chart_names)


# Values of one group


def _new_item(
    operation: Operation, nodegroup: NodeGroup, stored: StoredState
) -> paths.Values:
    """Return the item of ``nodeGroups`` for a new group.

    :raises CapiHelmError: the group is refused
    """
    cluster, desired = operation.cluster, stored.accepted()
    session = operation.session()
    cloud = catalogue.Cloud(session)
    requested_labels.check_unknown_of_group(cluster, nodegroup)
    outline = resolve_cluster.outline(
        cluster, desired.chart, operation.release, desired.labels
    )
    group = groups.resolve(cluster, nodegroup, cloud, outline)
    rows_now, _ = rows.read(cluster)
    requested = dataclasses.replace(
        rows.group(nodegroup, operation.release), made=True
    )
    accepted = rows_now.with_group(requested)
    # 1.4.0 gave names to groups by another rule, and two rows one name.
    existing = stored.groups | operation.observe().view.group_names()
    for each in accepted.named_as(existing).groups:
        if each.uuid == nodegroup.uuid and each.chart_name in existing:
            raise errors.InvalidInput(
                f"nodegroup name {nodegroup.name!r}: machines of another "
                "nodegroup have that name on the management cluster; choose "
                "another name"
            )
    # In an upgrade, the machines wait for the step that brings their version.
    coming = upgrade_steps.at_next_workers(stored.plan, desired.values)
    values.check_group(resolve_cluster.living(cluster, outline, coming), group)
    quota.check_group(cloud, outline, group)
    item = values.node_group(outline, group)
    items = {**stored.requests.items, nodegroup.uuid: item}
    requests = dataclasses.replace(stored.requests, items=items)
    operation.check_replacement(
        accepted, dataclasses.replace(stored, requests=requests)
    )
    if server_group := _server_group(operation, session, group):
        item[paths.SERVER_GROUP] = server_group
    return item


def _server_group(
    operation: Operation, session: Any, group: cluster_spec.NodeGroup
) -> str | None:
    """Make the group's Nova server group, if it wants one.

    Only the user can make it, so this waits for the Lease.

    :raises LeaseHeld: for a minute
    """
    policies = nodes.server_groups((group,))
    if not policies:
        return None
    with operation.lock(wait=LEASE_WAIT) as held:
        return held.make_server_groups(session, policies).get(group.name)


def _change(
    cluster: rows.Cluster,
    new: NodeGroup,
    old: NodeGroup,
    stored: StoredState,
) -> paths.Values:
    """Return the keys of a group's item that change; None removes a key.

    :param new: the row with the user's changes, not saved
    :param old: the row as it is saved
    :raises InvalidInput: the user can correct it
    """
    release, desired = str(cluster.stack_id), stored.accepted()
    after, before = rows.group(new, release), rows.group(old, release)
    if after.settings == before.settings:
        return {}
    item = _item(cluster, old, stored)
    pending = stored.requests.change_of(before)
    outline = resolve_cluster.outline(
        cluster, desired.chart, release, desired.labels
    )
    minimum, maximum = _bounds(after, before, {**item, **pending})
    group = groups.outline(
        new,
        requested_labels.nodegroup_labels(cluster, outline.labels, new),
        release,
    )
    group = dataclasses.replace(group, minimum=minimum, maximum=maximum)
    made = values.node_group(outline, group)
    changed: paths.Values = paths.copied(pending)
    if (after.minimum, after.maximum) != (before.minimum, before.maximum):
        changed.update({key: made.get(key) for key in _BOUNDS})
    if after.node_labels != before.node_labels:
        key = paths.NODE_LABELS
        present = {**item.get(key, {}), **pending.get(key, {})}
        changed[key] = {**dict.fromkeys(present), **made[key]}
    if after.node_taints != before.node_taints:
        # Also if there are none.
        taints = paths.value_at(made, paths.TAINTS)
        paths.put(changed, paths.TAINTS, taints or paths.NULL)
    return changed


def _item(
    cluster: rows.Cluster, nodegroup: NodeGroup, stored: StoredState
) -> paths.Values:
    """Return the group's item of ``nodeGroups``; without one, {}."""
    items = values.items_by_name(stored.accepted().values)
    rows_now, _ = rows.read(cluster)
    for group in rows_now.named_as(items).groups:
        if group.uuid == nodegroup.uuid and group.chart_name in items:
            return dict(items[group.chart_name])
    return stored.requests.items.get(nodegroup.uuid, {})


def _bounds(
    after: requested_groups.Group,
    before: requested_groups.Group,
    item: paths.Values,
) -> tuple[int, int | None]:
    """Return the bounds of a group after an update.

    A bound that the user left alone stays as it is in the values: a label may
    have set it, and the row does not show that.
    """
    minimum, maximum = after.minimum, after.maximum
    if minimum == before.minimum:
        minimum = item.get(paths.MINIMUM) or minimum
    if maximum == before.maximum:
        maximum = item.get(paths.MAXIMUM) or maximum
    return minimum, maximum
