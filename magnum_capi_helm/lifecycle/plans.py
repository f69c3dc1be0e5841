# SPDX-License-Identifier: Apache-2.0

"""The machines that a step of a CA rotation replaces.

Earlier builds of version 2.0 set a hook on them, with which Cluster API waited
for Magnum before it deleted a machine. No machine waits for Magnum any more,
and the hook is removed where it is left.
"""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import time

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

#: Seconds by which the API server's clock may be ahead of Cluster API's.
_AHEAD = 60.0
_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/magnum-api-server"


def machines_of(
    live: view.View, rotation: ca_rotation.Rotation
) -> list[view.Object]:
    """Return all machines of the step's role."""
    return [
        each
        for each in live.machines
        if (view.CONTROL_PLANE_LABEL in view.labels_of(each))
        is rotation.now.control_plane
    ]


def left(live: view.View, rotation: ca_rotation.Rotation) -> list[view.Object]:
    """Return the machines that a step has still to replace."""
    old = rotation.machines or ()
    return [e for e in machines_of(live, rotation) if uid(e) in old]


def replace(
    held: holding.Held, live: view.View, left: list[view.Object]
) -> None:
    """Let Cluster API replace the machines that are left, once.

    The time is after their creation and before that of machines that have
    replaced others. Otherwise it is the API server's, less a minute: from then
    on the step has its time to make progress.
    """
    management, uids = held.runtime.management, set(map(uid, left))
    for kind, owner in owners(live):
        mine = [each for each in live.machines if _owns(owner, each)]
        old = [view.created_at(each) for each in mine if uid(each) in uids]
        if owner is None or not old:
            continue
        after = max(old) + 1
        if replacement.renewal_time(owner) >= after:
            continue
        if len(old) == len(mine):
            after = max(after, (management.date() or 0.0) - _AHEAD)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(after))
        patch = replacement.renewal_patch(owner, moment)
        management.patch(kind, held.namespace, view.name_of(owner), patch)


def owners(live: view.View) -> list[tuple[kinds.Kind, view.Object | None]]:
    return [
        (kinds.CONTROL_PLANE, live.control_plane),
        *((kinds.MACHINE_DEPLOYMENT, each) for each in live.deployments),
    ]


def _owns(owner: view.Object | None, machine: view.Object) -> bool:
    labels = view.labels_of(machine)
    group = labels.get(view.DEPLOYMENT_LABEL)
    if group is None:
        return (owner or {}).get("kind") == kinds.CONTROL_PLANE.name
    return group == view.name_of(owner)


def uid(machine: view.Object) -> str:
    return str(view.metadata_of(machine).get("uid", ""))


@call.without_lease("the hook waits for nobody")
def remove_hook(
    operation: operations.Operation, machines: Iterable[view.Object]
) -> None:
    """Let machines go, unless the management cluster is frozen.

    :raises ManagementError: a hook may be left; the next poll tries again
    """
    rt, change = operation.runtime, {"annotations": {_HOOK: None}}
    for each in machines:
        if _HOOK in view.annotations_of(each):
            with contextlib.suppress(errors.Frozen):
                rt.maintenance.check()
                place = operation.namespace, view.name_of(each)
                rt.management.patch(
                    kinds.MACHINE, *place, {"metadata": change}
                )
