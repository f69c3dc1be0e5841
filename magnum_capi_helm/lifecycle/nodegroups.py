# SPDX-License-Identifier: Apache-2.0

"""Create, update and delete nodegroups.

1. Magnum has saved the row of a new group. It saves the fields of an updated
   group after the call, also after a refusal.
2. In a cluster that is being deleted, every group is deleted.
3. Refuse what can't be done: references, labels, bounds, quota, a name that
   another group has, a change that replaces other machines.
4. Store the request beside the desired state, in a key of its own. Polls have
   no user's token, so everything is looked up before.
5. Save the status of the group. From here on nothing is raised.
6. Take the Lease, read the rows again, store the desired state, run helm.
7. The polls finish what is left. They remove the row of a deleted group when
   its machines are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.lifecycle import nodegroup_values
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import cluster as cluster_status

LOG = log.getLogger(__name__)


def create(operation: operations.Operation, nodegroup: Any) -> None:
    """Make a new group.

    :param nodegroup: Magnum's row, saved without a ``stack_id``
    :raises CapiHelmError: it was refused; nothing was written
    """
    if _deleting(operation):
        # Refusing would leave a failed cluster that nobody deletes.
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    operation.check_not_frozen()
    item = nodegroup_values.new_item(operation, nodegroup, *_base(operation))
    key = desired_state.item_key(nodegroup.uuid)
    operation.patch_stored({key: encoding.plain(item)})
    row = rows.fresh_group(nodegroup)
    if row is None:
        # The user deleted it meanwhile. The next change of the release
        # removes the stored request.
        return
    if rows.leaving(row) or _deleting(operation):
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    status_writer.save_accepted(nodegroup, operation.release)
    operation.start_update()
    _run(operation)


def update(operation: operations.Operation, nodegroup: Any) -> None:
    """Apply the bounds, labels and taints of a group.

    :param nodegroup: with the new fields, not saved
    :raises CapiHelmError: it was refused; the fields are as they were
    """
    saved = rows.fresh_group(nodegroup)
    if saved is None:
        return
    _refresh_unchanged(nodegroup, saved)
    with _restored_on_refusal(nodegroup, saved):
        deleting = rows.leaving(saved) or _deleting(operation)
        if not deleting:
            operation.check_not_frozen()
            _store_change(operation, nodegroup, saved)
    if deleting:
        # A refusal would save UPDATE_FAILED for a group that is deleted.
        _restore(nodegroup, saved)
        status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
        return
    operation.start_update(nodegroup)
    _run(operation)


def delete(operation: operations.Operation, nodegroup: Any) -> None:
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
        nodegroup.destroy()
        return
    if not rows.doomed(cluster):
        operation.check_not_frozen()
        rows_now, _ = rows.read(cluster)
        group = rows.group(nodegroup, operation.release)
        operation.check_replacement(rows_now.with_leaving(group))
    status_writer.save_group(nodegroup, rows.Status.DELETE_IN_PROGRESS)
    operation.start_update()

    def work(current: operations.Operation) -> None:
        _store_deletion(current, uuid)
        _apply(current)

    _run(operation, work)


def _deleting(operation: operations.Operation) -> bool:
    """Return whether the whole cluster is being deleted.

    Its own row does not say so: Magnum's handlers of nodegroups write
    UPDATE_IN_PROGRESS over everything.
    """
    cluster = operation.cluster
    return rows.doomed(cluster) or bool(
        cluster.stack_id and operation.deletion_requested()
    )


def _base(
    operation: operations.Operation,
) -> tuple[releases.StoredState, desired_state.DesiredState]:
    """Return the stored state that a request changes.

    :raises CapiHelmError: there is no release, or not where it was made
    """
    operation.check_release()
    stored = operation.stored()
    if stored.desired is None:
        raise releases.InterruptedCreateError
    return stored, stored.desired


def _refresh_unchanged(nodegroup: Any, saved: Any) -> None:
    """Take the fields that the user left alone from the saved row.

    Magnum's API read the row when it took the request; another request may
    have been served since, and its fields must not be set back.
    """
    changed = nodegroup.obj_what_changed()
    for name in nodegroup_values.FIELDS:
        if hasattr(saved, name) and name not in changed:
            setattr(nodegroup, name, getattr(saved, name))
            nodegroup.obj_reset_changes([name])


@contextlib.contextmanager
def _restored_on_refusal(nodegroup: Any, saved: Any) -> Iterator[None]:
    """After a refusal Magnum saves the object: let it save the old fields."""
    try:
        yield
    except errors.CapiHelmError:
        _restore(nodegroup, saved)
        raise


def _restore(nodegroup: Any, saved: Any) -> None:
    for name in nodegroup_values.FIELDS:
        if hasattr(saved, name):
            setattr(nodegroup, name, getattr(saved, name))


def _store_change(
    operation: operations.Operation, nodegroup: Any, saved: Any
) -> None:
    """Store the change of an update, if it changes any values."""
    stored, desired = _base(operation)
    change = nodegroup_values.change(
        operation.cluster, nodegroup, saved, stored, desired
    )
    group = rows.group(nodegroup, operation.release)
    changes = dict(stored.requests.changes)
    if change:
        changes[group.uuid, group.settings_id] = change
    requests = dataclasses.replace(stored.requests, changes=changes)
    rows_now, _ = rows.read(operation.cluster)
    operation.check_replacement(
        rows_now.with_group(group),
        dataclasses.replace(stored, requests=requests),
    )
    if change:
        key = desired_state.change_key(group)
        operation.patch_stored({key: encoding.plain(change)})


def _store_deletion(operation: operations.Operation, uuid: str) -> None:
    """Store that a group is deleted, whatever Magnum writes into its row."""
    identity.check_present(operation.runtime, operation.scope)
    operation.patch_stored(
        {
            desired_state.item_key(uuid): None,
            desired_state.deleted_key(uuid): encoding.plain(True),
        }
    )


def _run(operation: operations.Operation, work: Any = None) -> None:
    operation.run(
        work or _apply, "Change of nodegroups", "changed nodegroups of"
    )


def _apply(operation: operations.Operation) -> None:
    with operation.lock() as locked:
        if locked.deleting or locked.apply(changes_only=True):
            return
        if rows.read(locked.row)[0].leaving:
            remove_deleted(operation, operation.observe())


def remove_deleted(
    operation: operations.Operation, observed: operations.Observed
) -> frozenset[str]:
    """Remove the rows of deleted groups of which nothing is left.

    :param observed: read under the Lease; the release has what the rows want
    :returns: UUIDs of those groups
    """
    gone = {
        each.uuid: each
        for each in observed.rows.leaving
        if cluster_status.is_gone(observed.view, each)
    }
    if not gone:
        return frozenset()
    _remove_server_groups(operation, gone.values())
    for nodegroup in observed.nodegroups:
        if nodegroup.uuid in gone:
            nodegroup.destroy()
            LOG.info("nodegroup %s is deleted", nodegroup.uuid)
    requests = releases.read_stored(
        operation.runtime, operation.scope
    ).requests
    if keys := requests.keys_of(gone):
        operation.patch_stored(dict.fromkeys(keys))
    return frozenset(gone)


def _remove_server_groups(
    operation: operations.Operation, groups: Any
) -> None:
    """Remove the server groups of nodegroups without machines.

    A Nova that refuses keeps no row: a server group that could not be removed
    stays recorded, and goes with the cluster.
    """
    chart_names = [
        names.node_group(each.name, operation.release) for each in groups
    ]
    problem = ""
    try:
        server_groups.delete(
            operation.runtime.management, operation.scope, chart_names
        )
    except errors.CloudError as error:
        problem = str(error)
    if problem:
        LOG.warning(
            "Server groups of %s are left: %s", operation.release, problem
        )
