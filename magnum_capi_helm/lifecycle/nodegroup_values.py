# SPDX-License-Identifier: Apache-2.0

"""The values of one nodegroup: of a new one, or the change of an update.

A new group is looked up in OpenStack with the user's token. An update changes
bounds, node labels and node taints; OpenStack is not asked.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import placement
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested_labels

#: Seconds to wait for the Lease where only the user can do the work.
LEASE_WAIT = 60.0

#: Fields of a nodegroup's row that an update may change. Magnum before 23
#: has no labels and taints of nodes.
FIELDS = ("min_node_count", "max_node_count", "node_labels", "node_taints")

#: Keys of an item of ``nodeGroups`` that belong to the bounds.
_BOUNDS = ("autoscale", "machineCountMin", "machineCountMax", "machineCount")
_LABELS = "nodeLabels"
_NOT_LOOKED_UP = cluster_spec.Image("", "", "", "ubuntu")


def new_item(
    operation: operations.Operation,
    nodegroup: Any,
    stored: releases.StoredState,
    desired: desired_state.DesiredState,
) -> topic.Values:
    """Return the item of ``nodeGroups`` for a new group.

    :param desired: the desired state in ``stored``
    :raises CapiHelmError: the group is refused
    """
    cluster = operation.cluster
    session = sessions.user_session(operation.context)
    cloud = catalogue.Cloud(session)
    requested_labels.check_unknown_of_group(cluster, nodegroup)
    outline = resolve_cluster.outline(
        cluster, desired.chart, operation.release, desired.labels
    )
    group = groups.resolve(cluster, nodegroup, cloud, outline)
    _check_name(operation, nodegroup, stored)
    values.check_group(
        resolve_cluster.living(cluster, outline, desired.values), group
    )
    quota.check_group(cloud, outline, group)
    item = values.node_group(outline, group)
    _check_replacement(operation, nodegroup, stored, item)
    server_group = _server_group(operation, session, group)
    if server_group is None:
        return item
    return values.node_group(
        outline, dataclasses.replace(group, server_group_id=server_group)
    )


def _check_replacement(
    operation: operations.Operation,
    nodegroup: Any,
    stored: releases.StoredState,
    item: topic.Values,
) -> None:
    """Refuse a group if machines of another one would be replaced for it."""
    rows_now, _ = rows.read(operation.cluster)
    items = {**stored.requests.items, nodegroup.uuid: item}
    requests = dataclasses.replace(stored.requests, items=items)
    operation.check_replacement(
        rows_now.with_group(_accepted(operation, nodegroup)),
        dataclasses.replace(stored, requests=requests),
    )


def _accepted(
    operation: operations.Operation, nodegroup: Any
) -> requested_groups.Group:
    group = rows.group(nodegroup, operation.release)
    return dataclasses.replace(group, made=True)


def _check_name(
    operation: operations.Operation,
    nodegroup: Any,
    stored: releases.StoredState,
) -> None:
    """Refuse a group that would take over another one's machines.

    1.4.0 gave names to groups by another rule, and two rows one name.
    """
    existing = stored.groups | operation.observe().view.group_names()
    rows_now, _ = rows.read(operation.cluster)
    accepted = rows_now.with_group(_accepted(operation, nodegroup))
    for group in accepted.known_as(existing).groups:
        if group.uuid == nodegroup.uuid and group.chart_name in existing:
            raise errors.InvalidInput(
                f"nodegroup name {nodegroup.name!r}: machines of another "
                "nodegroup have that name on the management cluster; choose "
                "another name"
            )


def _server_group(
    operation: operations.Operation,
    session: Any,
    group: cluster_spec.NodeGroup,
) -> str | None:
    """Make the group's Nova server group, if it wants one.

    Only the user can make it, so this waits for the Lease.

    :raises LeaseHeld: for a minute
    """
    policies = placement.server_groups((group,))
    if not policies:
        return None
    with operation.lock(wait=LEASE_WAIT):
        ids = server_groups.ensure(
            operation.runtime.management,
            operation.scope,
            operation.object_labels,
            session,
            policies,
        )
    return ids.get(group.name)


def change(
    cluster: Any,
    new: Any,
    old: Any,
    stored: releases.StoredState,
    desired: desired_state.DesiredState,
) -> topic.Values:
    """Return the keys of a group's item that change; None removes a key.

    :param new: the row with the user's changes, not saved
    :param old: the row as it is saved
    :param desired: the desired state in ``stored``
    :raises InvalidInput: the user can correct it
    """
    release = str(cluster.stack_id)
    after, before = rows.group(new, release), rows.group(old, release)
    if after.settings == before.settings:
        return {}
    item = _item(cluster, old, stored, desired)
    pending = stored.requests.change_of(before)
    outline = resolve_cluster.outline(
        cluster, desired.chart, release, desired.labels
    )
    group = _changed_group(
        cluster, outline.labels, new, after, before, {**item, **pending}
    )
    made = values.node_group(outline, group)
    changed = dict(pending)
    if (after.minimum, after.maximum) != (before.minimum, before.maximum):
        changed.update({key: made.get(key) for key in _BOUNDS})
    if after.node_labels != before.node_labels:
        present = {**item.get(_LABELS, {}), **pending.get(_LABELS, {})}
        changed[_LABELS] = {**dict.fromkeys(present), **made[_LABELS]}
    if after.node_taints != before.node_taints:
        changed["kubeadmConfigSpec"] = _taints(made)
    return changed


def _item(
    cluster: Any,
    nodegroup: Any,
    stored: releases.StoredState,
    desired: desired_state.DesiredState,
) -> topic.Values:
    """Return the group's item of ``nodeGroups``; without one, {}."""
    items = {
        str(each["name"]): each
        for each in desired.values.get("nodeGroups") or []
    }
    rows_now, _ = rows.read(cluster)
    for group in rows_now.known_as(items).groups:
        if group.uuid == nodegroup.uuid and group.chart_name in items:
            return dict(items[group.chart_name])
    return stored.requests.items.get(nodegroup.uuid, {})


def _taints(made: topic.Values) -> topic.Values:
    """Return the taints of an item alone, also if there are none."""
    taints = (
        made.get("kubeadmConfigSpec", {})
        .get("joinConfiguration", {})
        .get("nodeRegistration", {})
        .get("taints")
    )
    return {"joinConfiguration": {"nodeRegistration": {"taints": taints}}}


def _changed_group(
    cluster: Any,
    cluster_labels: labels.Values,
    row: Any,
    after: requested_groups.Group,
    before: requested_groups.Group,
    item: topic.Values,
) -> cluster_spec.NodeGroup:
    """Return the group, as far as an update concerns it.

    A bound that the user left alone stays as it is in the values: a label may
    have set it, and the row does not show that.
    """
    minimum, maximum = after.minimum, after.maximum
    if minimum == before.minimum:
        minimum = item.get("machineCountMin") or minimum
    if maximum == before.maximum:
        maximum = item.get("machineCountMax") or maximum
    group_labels = requested_labels.nodegroup_labels(
        cluster, cluster_labels, row
    )
    return cluster_spec.NodeGroup(
        name=after.chart_name,
        flavor="",
        count=after.count,
        image=_NOT_LOOKED_UP,
        minimum=minimum,
        maximum=maximum,
        magnum_name=after.name,
        role=row.role,
        labels=group_labels,
        node_labels=groups.node_labels(row, group_labels),
        taints=groups.taints(row, group_labels),
    )
