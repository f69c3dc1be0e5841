# SPDX-License-Identifier: Apache-2.0

"""Take back an upgrade, or a rotation, that failed or does not end.

An upgrade can also stop where it is: the control plane keeps the version that
its machines have reached, and the workers stay as they are.

1. The desired state remembers the release before its last upgrade. A rotation
   of the CAs has a way back of its own (``plan_steps.py``).
2. Refuse a cluster that is complete, or that has nothing to go back to.
3. Refuse if a server of the control plane may run the newer Kubernetes: etcd
   and the objects in it can't go back.
4. The old values get the groups and node counts of now. A group that was made
   since keeps its values, if its kubelet is not too new.
5. Store this as the desired state, like an upgrade. The rows get their old
   template, images and flavors, and helm runs. The polls finish it.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import time

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.status import view

Before = desired_state.Before
Current = release_change.Current

#: Key of a nodegroup's values -> field of its row.
_FIELDS = {paths.IMAGE_ID: "image_id", paths.FLAVOR: "flavor_id"}
_STATUSES = (rows.Status.UPDATE_FAILED, rows.Status.UPDATE_IN_PROGRESS)


def rollback(
    operation: cluster_operation.Operation, *, stop: bool = False
) -> str:
    """Take the last upgrade, or the rotation of the CAs, back.

    :param stop: let an upgrade stop where it is
    :returns: why the polls have to go on; empty: helm is done
    :raises CapiHelmError: it was refused, and nothing was written
    """
    with operation.lock(wait=operation.runtime.command_lease_wait) as held:
        held.check_living()
        held.settle()
        planned = plan(held, stop=stop)
        plan_steps.take_back(held, planned)
        return release_change.run_helm(held)


def plan(
    release: cluster_release.Release, *, stop: bool = False
) -> desired_state.DesiredState:
    """Return the desired state without the last upgrade, or the rotation.

    :param release: with a settled row, if it is read under the Lease
    :param stop: without the steps that the upgrade has still to reach
    :raises NotSupported: there is no way back
    """
    row = release.cluster
    _check_status(row)
    if not stop and (without := plan_steps.desired_without(release)):
        return without
    current = release_change.read(release, ends_upgrade=True)
    before = current.desired.before
    if stop:
        reached = _reached(current, before)
        return _without_upgrade(current, reached, {names.CONTROL_PLANE})
    if before is None:
        raise errors.NotSupported(
            f"cluster {row.name} was not upgraded since it was last complete "
            "or rolled back: there is nothing to go back to"
        )
    _check_control_plane(current, before)
    return _without_upgrade(current, before)


def _check_status(row: rows.Cluster) -> None:
    if not row.stack_id:
        raise errors.NotSupported(
            f"cluster {row.name} has no release: nothing was made for it"
        )
    if row.status not in _STATUSES:
        raise errors.NotSupported(
            f"cluster {row.name} is {row.status}: only an upgrade that "
            "failed, or does not end, is rolled back; a complete one is left "
            "by another upgrade"
        )


def _reached(current: Current, before: Before | None) -> Before:
    """Return the state that the steps of an upgrade have reached.

    :param before: the state before the upgrade
    :raises NotSupported: no step follows, or workers are being replaced
    """
    steps = current.stored.plan
    if before is None or not isinstance(steps, upgrade_steps.Upgrade):
        raise errors.NotSupported(
            f"cluster {current.row.name} has no upgrade with steps to come: "
            "there is nothing to stop"
        )
    stages = steps.stages
    if stages[steps.step].workers:
        raise errors.NotSupported(
            f"{steps.text}: this step can't be stopped, since workers would "
            "have two versions: remove the reason why it does not end, and "
            "resize the cluster to the count it has"
        )
    begun = stages[steps.step].version in map(_version, _servers(current))
    chart, reached = before.chart, before.values
    for each in stages[: steps.step + begun]:
        chart = cluster_spec.Chart(**each.chart)
        reached = values.changed(reached, each.changes)
    reached = {**reached, paths.GROUPS: list(current.items.values())}
    moves = _true_moves(current, before, reached)
    return Before(chart, reached, before.labels, moves)


def _true_moves(
    current: Current, before: Before, reached: paths.Values
) -> desired_state.Moves:
    """Return the old template, and what machines have by then.

    A row keeps its name of an image or a flavor that did not change.
    """
    fields = {k: dict(each) for k, each in before.moves.groups.items()}
    groups: dict[tuple[str, ...], str] = {
        (paths.GROUPS, each.chart_name): each.uuid
        for each in current.rows.workers
    }
    if master := current.rows.master:
        groups[paths.CONTROL_PLANE,] = master.uuid
    for path, *new in values.changes(before.values, reached):
        uuid, field = groups.get(path[:-1], ""), _FIELDS.get(path[-1])
        if uuid in fields and field and new:
            fields[uuid][field] = new[0]
    return dataclasses.replace(before.moves, groups=fields)


def _without_upgrade(
    current: Current, before: Before, replaced: Collection[str] | None = None
) -> desired_state.DesiredState:
    """Return the state before, with the groups and counts of now.

    :param replaced: groups whose machines may be replaced; None: all
    """
    old_items = values.items_by_name(before.values)
    items = current.items
    node_groups = [old_items.get(name, item) for name, item in items.items()]
    restored = values.with_groups(
        {**before.values, paths.GROUPS: node_groups},
        current.rows,
        desired_state.PendingRequests(),
    )
    version = upgrade_rules.control_plane_version(before.values)
    for group in current.rows.workers:
        # One that was made since the upgrade has the newer version.
        kubelet = upgrade_rules.kubelet(restored, group.chart_name)
        upgrade_rules.check_kept(group.name, kubelet, version)
    existing = {each.uuid for each in current.rows.groups}
    fields = {
        uuid: dict(change)
        for uuid, change in before.moves.groups.items()
        if uuid in existing
    }
    return desired_state.DesiredState(
        chart=before.chart,
        values=values.upgraded(restored, current.desired.values),
        fingerprint=current.rows.moved(before.moves.groups).fingerprint(),
        since=time.time(),
        labels=before.labels,
        moves=dataclasses.replace(before.moves, groups=fields),
        version=current.desired.version,
    ).permitting(current.installed.version, replaced, back=True)


def _check_control_plane(current: Current, before: Before) -> None:
    """Refuse if a control plane server may run the newer Kubernetes."""
    old = upgrade_rules.control_plane_version(before.values)
    new = upgrade_rules.control_plane_version(current.desired.values)
    if not versions.is_older(old, new):
        return
    for each in _servers(current):
        if versions.is_older(old, _version(each)):
            raise errors.NotSupported(
                f"control plane machine {view.name_of(each)} runs Kubernetes "
                f"v{_version(each)} already, and a control plane never goes "
                f"back to v{old}: remove the reason why the upgrade does not "
                "end, and resize the cluster to the count it has, or stop "
                "with --stop-here"
            )


def _servers(current: Current) -> list[view.Object]:
    """Return machines of the control plane whose server may be in etcd."""
    return [
        each
        for each in current.view.control_plane_machines()
        if view.spec_of(each).get("providerID")
        or view.status_of(each).get("nodeRef")
    ]


def _version(machine: view.Object) -> str:
    return str(view.spec_of(machine).get("version")).removeprefix("v")
