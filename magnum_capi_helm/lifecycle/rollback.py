# SPDX-License-Identifier: Apache-2.0

"""Take back an upgrade, or a rotation, that failed or does not end.

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

import dataclasses
import time
from typing import Any

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.operations import pending_requests
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import view

_STATUSES = (rows.Status.UPDATE_FAILED, rows.Status.UPDATE_IN_PROGRESS)


def rollback(operation: operations.Operation) -> str:
    """Take the last upgrade, or the rotation of the CAs, back.

    :returns: why the polls have to go on; empty: helm is done
    :raises CapiHelmError: it was refused, and nothing was written
    """
    with operation.lock(wait=operation.runtime.command_lease_wait) as held:
        held.check_living()
        pending_requests.settle(held)
        planned = plan(held)
        plan_steps.take_back(held, planned)
        return release_change.run_helm(held)


def plan(release: releases.Release) -> desired_state.DesiredState:
    """Return the desired state without the last upgrade, or the rotation.

    :param release: with a settled row, if it is read under the Lease
    :raises NotSupported: there is no way back
    """
    row = release.cluster
    _check_status(row)
    if without := plan_steps.desired_without(release):
        return without
    current = release_change.read(release, ends_upgrade=True)
    before = current.desired.before
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


def _without_upgrade(
    current: release_change.Current, before: desired_state.Before
) -> desired_state.DesiredState:
    """Return the state before, with the groups and counts of now."""
    old_items = values.items_by_name(before.values)
    items = current.items
    node_groups = [old_items.get(name, item) for name, item in items.items()]
    restored = values.with_groups(
        {**before.values, "nodeGroups": node_groups},
        current.rows,
        desired_state.PendingRequests(),
    )
    version = upgrade_rules.control_plane_version(before.values)
    for group in current.rows.workers:
        name = group.chart_name
        if name in items and name not in old_items:
            # Made since the upgrade, with the newer version.
            kubelet = str(items[name].get("kubernetesVersion"))
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
        fingerprint=upgrade_plan.fingerprint(current.rows, before.moves),
        since=time.time(),
        labels=before.labels,
        moves=dataclasses.replace(before.moves, groups=fields),
        version=current.desired.version,
    ).permitting(current.revision, None, back=True)


def _check_control_plane(
    current: release_change.Current, before: desired_state.Before
) -> None:
    """Refuse if a control plane server may run the newer Kubernetes."""
    old = upgrade_rules.control_plane_version(before.values)
    new = upgrade_rules.control_plane_version(current.desired.values)
    first, second = versions.number(old), versions.number(new)
    if first is None or second is None or second <= first:
        return
    release = current.release
    management = release.runtime.management
    selector = f"{view.CLUSTER_NAME_LABEL}={release.release}"
    for each in management.list(kinds.MACHINE, release.namespace, selector):
        version = versions.number(str(view.spec_of(each).get("version")))
        if (
            view.CONTROL_PLANE_LABEL in view.labels_of(each)
            and _has_server(each)
            and (version or first) > first
        ):
            raise errors.NotSupported(
                f"control plane machine {view.name_of(each)} runs Kubernetes "
                f"v{new} already, and a control plane never goes back to "
                f"v{old}: remove the reason why the upgrade does not end, and "
                "resize the cluster to the count it has"
            )


def _has_server(machine: Any) -> bool:
    """Return whether the machine has a server, which may be in etcd."""
    return bool(
        view.spec_of(machine).get("providerID")
        or view.status_of(machine).get("nodeRef")
    )
