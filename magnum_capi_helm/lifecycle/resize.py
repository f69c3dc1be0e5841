# SPDX-License-Identifier: Apache-2.0

"""Resize a nodegroup: the control plane or workers.

1. Magnum has saved the new node_count, and restores the old one if the driver
   raises.
2. Refuse a resize of a cluster without a release or on a frozen management
   cluster, a size that the control plane can't have, a count outside the
   bounds, unknown nodes to remove, a count beyond the quota, and more
   machines than can join.
3. Refuse it if other machines would be replaced.
4. Mark the machines that the user wants to lose. Pass the count to the
   MachineDeployment, if the autoscaler owns its count.
5. Save UPDATE_IN_PROGRESS. From here on nothing is raised.
6. Take the Lease, read the rows again, store the desired state, run helm.
7. The polls finish what is left, and take back marks that are not needed any
   more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import contextlib
import dataclasses

from oslo_log import log

from magnum_capi_helm.chart import patches
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
NodeGroup = rows.NodeGroup
Object = view.Object
Operation = cluster_operation.Operation

#: A Machine with this annotation goes first when its group shrinks (Cluster
#: API's ``machineset_deletion_order.go``). The mark alone removes nothing, so
#: it needs no Lease; but it has to be there before the count falls.
_ANNOTATION = "cluster.x-k8s.io/delete-machine"
#: Its value where we set it; others may set it by hand.
_OURS = "magnum"
#: Nodes that a text names at most.
_SHOWN = 20


def update(operation: Operation, *, rollback: bool) -> None:
    """Apply ``node_count`` of a cluster: a resize of default-worker.

    :raises NotSupported: it was refused; nothing was written
    """
    if rollback:
        raise errors.NotSupported(
            "rollback of a failed update is not supported by the driver "
            f"{names.DRIVER}, which goes on trying: update without it, and "
            "go back with another node_count"
        )
    resize(operation, operation.cluster.default_ng_worker, ())


def resize(
    operation: Operation, nodegroup: NodeGroup, nodes_to_remove: Sequence[str]
) -> None:
    """Apply the node_count that Magnum saved.

    Resizing to the current count applies the desired state again.

    :raises CapiHelmError: it was refused; nothing was written
    """
    operation.check_changeable()
    rows_now, _ = operation.read_rows()
    stored = None
    with contextlib.suppress(errors.CapiHelmError):
        # Labels that an operator changed are there, and in no row.
        stored = operation.read_stored()
    desired = stored.desired if stored else None
    if nodegroup.role == "master":
        count = nodegroup.node_count
        _check_control_plane(operation, count, nodes_to_remove, desired)
    else:
        _check_bounds(nodegroup)
        _check_growth(nodegroup, rows_now, stored)
    machines, autoscaled = _look_up(
        operation, nodegroup, nodes_to_remove, desired
    )
    operation.check_replacement(rows_now, stored, always=True)
    # Neither needs the Lease: a mark changes nothing by itself, and the count
    # of an autoscaled group is in no manifest.
    with (
        call.without_lease("marks and counts of autoscaled groups"),
        _marked(operation, machines),
    ):
        if autoscaled:
            change = {"spec": {"replicas": nodegroup.node_count}}
            operation.patch(kinds.MACHINE_DEPLOYMENT, autoscaled, change)
    operation.start_update(nodegroup)
    operation.run(Operation.lock_and_apply, "Resize")


def _check_control_plane(
    operation: Operation,
    count: int,
    nodes_to_remove: Sequence[str],
    desired: desired_state.DesiredState | None,
) -> None:
    if nodes_to_remove:
        raise errors.NotSupported(
            "nodes_to_remove for the control plane is not supported by the "
            f"driver {names.DRIVER}: Cluster API chooses the machine whose "
            "loss etcd bears best"
        )
    cluster_spec.check_control_plane_size(count, "node_count")
    if count == 1:
        return
    desired = desired or operation.read_stored().desired
    applied = desired.values if desired else {}
    if paths.value_at(applied, paths.API_BALANCER) is False:
        raise errors.InvalidInput(
            f"node_count={count}: the cluster has no load balancer for its "
            "API (master_lb_enabled), so its control plane is one machine; "
            "make a cluster with one"
        )


def _check_bounds(nodegroup: NodeGroup) -> None:
    """Check the group's own bounds, which Magnum checks in a resize alone."""
    count = nodegroup.node_count
    minimum, maximum = nodegroup.min_node_count, nodegroup.max_node_count
    if count < (minimum or 0) or (maximum and count > maximum):
        allowed = f"{minimum or 0} {f'to {maximum}' if maximum else 'or more'}"
        raise errors.InvalidInput(
            f"node_count={count}: nodegroup "
            f"{errors.shown(nodegroup.name)} takes {allowed} nodes; "
            "change its bounds first"
        )


def _check_growth(
    nodegroup: NodeGroup,
    rows_now: requested_groups.Rows,
    stored: cluster_release.StoredState | None,
) -> None:
    """Refuse more machines of an image that is too old for new ones.

    In an upgrade, the machines wait for the step that brings their version.
    """
    if stored is None or stored.desired is None:
        return
    coming = upgrade_steps.at_next_workers(stored.plan, stored.desired.values)
    items = values.items_by_name(coming)
    for group in rows_now.named_as(items).workers:
        item = items.get(group.chart_name, {})
        grows = group.count > int(item.get(paths.COUNT, group.count))
        if group.uuid == nodegroup.uuid and grows:
            kubelet = upgrade_rules.kubelet(coming, group.chart_name)
            newest = upgrade_rules.control_plane_version(coming)
            upgrade_rules.check_growth(group.name, kubelet, newest)


def _look_up(
    operation: Operation,
    nodegroup: NodeGroup,
    nodes_to_remove: Sequence[str],
    desired: desired_state.DesiredState | None,
) -> tuple[Sequence[str], str]:
    """Return the Machines to mark, and the MachineDeployment to scale.

    Live objects are read only if something depends on them.

    :raises InvalidInput: unknown nodes, bounds of the autoscaler, or quota
    :raises CapiHelmError: the objects are needed and can't be read
    """
    needed = bool(nodes_to_remove) or (
        bool(patches.scaled(desired.values))
        if desired
        else requested_labels.autoscales(operation.cluster)
    )
    if not needed and quota.off():
        return (), ""
    if needed:
        operation.check_answering()
    try:
        observed = operation.observe(addons=False)
    except errors.CapiHelmError:
        if needed:
            raise
        return (), ""
    named = {each.uuid: each for each in observed.rows.groups}
    group = named.get(nodegroup.uuid) or rows.group(
        nodegroup, operation.release
    )
    live = (
        observed.view.control_plane
        if group.control_plane
        else observed.view.deployment(group.chart_name)
    )
    replicas = int(view.spec_of(live).get("replicas") or 0)
    own = desired.labels if desired else None
    _check_quota(operation, nodegroup, nodegroup.node_count - replicas, own)
    return (
        chosen_machines(nodes_to_remove, observed.view, group)
        if nodes_to_remove
        else (),
        _autoscaled(observed.view, group),
    )


def _autoscaled(objects: view.View, group: requested_groups.Group) -> str:
    """Return the MachineDeployment whose count the autoscaler owns, or "".

    :raises InvalidInput: the autoscaler would not keep the new count
    """
    live = objects.deployment(group.chart_name)
    if live is None or group.chart_name not in objects.autoscaled():
        return ""
    minimum, maximum = view.autoscaler_bounds(live)
    if not minimum <= group.count <= maximum:
        raise errors.InvalidInput(
            f"node_count={group.count}: the autoscaler keeps nodegroup "
            f"{errors.shown(group.name)} between {minimum} and {maximum} "
            "nodes; change its bounds first"
        )
    return view.name_of(live)


def _check_quota(
    operation: Operation,
    nodegroup: NodeGroup,
    growth: int,
    own: Mapping[str, str] | None,
) -> None:
    """Check whether the project's quota has room for more machines.

    A resize never fails because the quota, or the group, can't be read.

    :param own: labels of the cluster's user, if an operator changed them
    :raises InvalidInput: ``[capi_helm] quota_check`` refuses it
    """
    if quota.off() or growth <= 0:
        return
    try:
        cloud = catalogue.Cloud(operation.session())
        cluster, chart = operation.cluster, requested_labels.configured_chart()
        outline = resolve_cluster.outline(
            cluster, chart, operation.release, own
        )
        group = groups.resolve(cluster, nodegroup, cloud, outline)
    except errors.CapiHelmError as error:
        uuid = operation.cluster.uuid
        LOG.debug("Quota of cluster %s not checked: %s", uuid, error)
        return
    if group.role == "master":
        outline = dataclasses.replace(outline, control_plane=group)
    quota.check_group(cloud, outline, group, growth)


# Nodes to remove


def chosen_machines(
    nodes: Sequence[str], objects: view.View, group: requested_groups.Group
) -> list[str]:
    """Return the names of the Machines that the user wants to lose.

    :param nodes: IDs of servers, names of nodes or of Machines
    :param group: with the new count and the name of its live objects
    :raises InvalidInput: one is not in the group, or they are too many
    """
    machines = [
        each
        for each in objects.machines_of(group.chart_name)
        if not view.deleting(each)
    ]
    by_name = {
        name: view.name_of(each)
        for each in machines
        for name in _names_of(each)
    }
    subject = f"nodegroup {errors.shown(group.name)}"
    if strange := [each for each in nodes if each not in by_name]:
        shown = ", ".join(map(errors.shown, strange))
        raise errors.InvalidInput(
            f"nodes_to_remove: {subject} has no {shown}; its nodes are "
            f"{_listed(machines)}"
        )
    chosen = [by_name[each] for each in nodes]
    if twice := [each for each in chosen if chosen.count(each) > 1]:
        raise errors.InvalidInput(
            f"nodes_to_remove names {twice[0]} more than once"
        )
    live = view.spec_of(objects.deployment(group.chart_name))
    now = int(live.get("replicas") or 0)
    left = now - len(chosen)
    if group.count > left:
        raise errors.InvalidInput(
            f"nodes_to_remove: {subject} has {now} nodes, and without those "
            f"that are to go node_count is at most {left}, not {group.count}"
        )
    return chosen


def _names_of(machine: Object) -> Iterator[str]:
    """Yield each name that a user may give to a node."""
    yield view.name_of(machine)
    if node := view.status_of(machine).get("nodeRef"):
        yield str(node["name"])
    if provider := view.spec_of(machine).get("providerID"):
        # openstack:///<id>, or openstack://<region>/<id>
        yield str(provider).rpartition("/")[2]


def _listed(machines: Sequence[Object]) -> str:
    shown = [list(_names_of(each))[:2][-1] for each in machines]
    return errors.shortened(shown, _SHOWN) or "none"


@contextlib.contextmanager
def _marked(operation: Operation, machines: Sequence[str]) -> Iterator[None]:
    """Mark Machines for deletion; take the marks back if the block raises.

    :raises CapiHelmError: a Machine could not be marked
    """
    try:
        for name in machines:
            operation.annotate(kinds.MACHINE, name, {_ANNOTATION: _OURS})
        yield
    except errors.CapiHelmError:
        # A later resize that removes no node takes a mark away that stays.
        stays = "Machine %s stays marked to go: %s"
        for name in machines:
            with magnum_errors.logged(LOG, stays, name):
                operation.annotate(kinds.MACHINE, name, {_ANNOTATION: None})
        raise


def withdraw_marks(held: holding.Held, machines: Iterable[Object]) -> None:
    """Remove the marks that are left when an operation is complete.

    A count that was raised again before it was applied must not delete those
    Machines at the next occasion.
    """
    for each in machines:
        if view.annotations_of(each).get(_ANNOTATION) == _OURS:
            name = view.name_of(each)
            held.annotate(kinds.MACHINE, name, {_ANNOTATION: None})
