# SPDX-License-Identifier: Apache-2.0

"""Take the steps of a plan; see ``model/plan.py``.

A request stores the plan in the Secret of the desired state. Polls take the
steps under the Lease. A poll that finds a step half begun begins it again.

A rotation of CAs:

1. Begin a step: write what new machines need, then store the UIDs of the
   machines of the step's role.
2. If ``rotate_ca.begin`` stored another desired state, the next poll is in the
   state Behind and runs helm, so Cluster API replaces the machines. Otherwise
   the next poll sets ``rolloutAfter`` of the KubeadmControlPlane, or of
   MachineDeployments, and Cluster API replaces them.
3. The step has ended when these machines are gone and the cluster is complete.
4. After the last step, write the date of the rotation on the Cluster and
   remove the plan from the Secret. A stored rotation that is not newer is a
   restored copy, and is dropped.

An upgrade:

1. Begin a step: store its desired state and run helm. The stored UIDs only say
   that the step has begun.
2. A step of the control plane has ended when the control plane is complete,
   another one when the cluster is.
3. After the last step, remove the plan from the Secret.

The Cluster has the step in words, where polls read it without the Secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import contextlib
import dataclasses
import time
from typing import Any, Protocol

from oslo_log import log

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import rotate_ca
from magnum_capi_helm.lifecycle import staged_upgrade
from magnum_capi_helm.model import call
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import plan as plans
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
Held = holding.Held
Object = view.Object
ObservedState = observed_state.ObservedState
Plan = plans.Plan
Release = cluster_release.Release

#: Annotation of the Cluster: the step of the plan that goes on, in words.
_STEP = "magnum.openstack.org/plan"
#: Seconds by which the API server's clock may be ahead of Cluster API's.
_AHEAD = 60.0
_NOTHING: Mapping[str, None] = {_STEP: None, observed_state.AWAITED: None}
_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/magnum-api-server"


class PlanModule(Protocol):
    """What differs between kinds of plans; a module with these functions."""

    def begin(self, held: Held, plan: Any) -> Any:
        """Write what new machines of a step need, and return the plan.

        The plan may have gone back to an earlier step.

        :raises CapiHelmError: not now; the next poll begins once more
        """

    def end_annotation(self, plan: Any) -> dict[str, str]:
        """Return the annotation of the Cluster by which it has ended.

        Its text is later for a later plan. Without one, the plan is in the
        same write as the desired state, of which
        ``template_guard.check_current`` refuses an old copy.
        """

    def discard(self, context: Any, row: rows.Cluster, plan: Any) -> None:
        """Delete what a plan that is forgotten has elsewhere."""


#: ``MODULES[Rotation].begin`` is ``rotate_ca.begin``. The same classes are in
#: ``cluster_release.PLANS``.
MODULES: dict[type[Plan], PlanModule] = {
    ca_rotation.Rotation: rotate_ca,
    upgrade_steps.Upgrade: staged_upgrade,
}


def advance(held: Held, state: ObservedState) -> bool:
    """Do what a plan needs now, if there is one.

    Drop the copy of a plan that has ended, begin a step, let Cluster API
    replace the machines of the step that goes on, or end the plan.

    :param state: of a cluster in the state Done, or whose step has ended
    :returns: whether the plan goes on
    :raises CapiHelmError: not now; the next poll tries again
    """
    plan = state.stored and state.stored.plan
    if not plan:
        return False
    uuid = held.cluster.uuid
    if _has_ended(held, plan):
        text = "cluster %s: a stored %s has ended before, and is dropped"
        LOG.warning(text, uuid, plan.NAME)
        _forget(held, plan)
        return False
    old = _old_machines(state.view, plan)
    if plan.machines is not None and _is_over(state, plan, old):
        if plan.is_last:
            _end(held, plan)
            LOG.info("cluster %s: %s is complete", uuid, plan.NAME)
            return False
        plan = dataclasses.replace(plan, step=plan.step + 1, machines=None)
        held.patch_stored(plan.to_secret())
    if plan.machines is None:
        _begin(held, plan, state.view)
    elif not plan.BY_HELM:
        _replace(held, state.view, old)
        _show_or_fail(held, state, plan, old)
    return True


def _has_ended(release: Release, plan: Plan) -> bool:
    """Return whether a plan is the copy of one that has ended."""
    ended = MODULES[type(plan)].end_annotation(plan)
    live = view.annotations_of(release.get(kinds.CLUSTER)) if ended else {}
    return any(text <= live.get(name, "") for name, text in ended.items())


def _is_over(state: ObservedState, plan: Plan, old: Sequence[Object]) -> bool:
    """Return whether a step has ended.

    That of the control plane in an upgrade may not wait for workers: Cluster
    API makes none of another minor version meanwhile.

    :param old: machines that the step has still to replace
    """
    if plan.ends_early:
        return state.has_control_plane
    return state.verdict.complete and (plan.BY_HELM or not old)


def _begin(held: Held, plan: Plan, objects: view.View) -> None:
    """Begin a step, or begin again a step whose conductor died.

    An upgrade shows a step after it has begun. Until then polls read in the
    annotation ``plan-awaits`` that the step before has ended, and take the
    Lease to begin again.
    """
    if not plan.BY_HELM:
        show(held, plan, objects)
    plan = MODULES[type(plan)].begin(held, plan)
    if plan.BY_HELM:
        show(held, plan, objects)
    live = held.runtime.snapshots.read(held.scope).decode()
    machines = tuple(map(_uid, _machines_of(live, plan)))
    plan = dataclasses.replace(plan, machines=machines)
    held.patch_stored(plan.to_secret())
    LOG.info("cluster %s: %s", held.cluster.uuid, plan.text)


def _show_or_fail(
    held: Held, state: ObservedState, plan: Plan, left: list[Object]
) -> None:
    """Show the step, or fail an operation that replaces no more machines.

    The cluster is complete here, so its progress mark says nothing: the time
    counts in the memory of this process.
    """
    progress = plan.step, *map(_uid, left)
    age = held.runtime.ages.age(held.scope, "plan", progress)
    if observed_state.seconds_left(held, time.time() - age) >= 0:
        show(held, plan, state.view)
    elif rows.in_progress(held.cluster.status):
        shown = ", ".join(map(view.name_of, left[:3]))
        reason = plan.failed(f"still to be replaced: {shown}")
        reason = f"{observed_state.LATE}{reason}"
        held.save_failed(state.nodegroups, reason, state.verdict)


def show(held: Held, plan: Plan, objects: view.View | None = None) -> None:
    """Note the step in the row, and on the Cluster, where polls find it."""
    text = plan.text
    if objects is None or _step_of(objects) != text:
        awaited = "control-plane" if plan.ends_early else None
        notes = {_STEP: text, observed_state.AWAITED: awaited}
        held.annotate(kinds.CLUSTER, held.release, notes)
    held.cluster.status_reason = text
    status_writer.save_in_progress(held.cluster)


def show_begun(held: Held, state: ObservedState) -> None:
    """Show the step that a request began, before helm runs.

    The conductor may have died. Without it on the Cluster, polls wait for all
    workers, and Cluster API makes none before the control plane is done.
    """
    plan = state.stored.plan if state.stored else None
    has_begun = plan and plan.BY_HELM and plan.machines is not None
    if plan and has_begun and _step_of(state.view) != plan.text:
        show(held, plan, state.view)


def _step_of(objects: view.View) -> str:
    return view.annotations_of(objects.cluster).get(_STEP, "")


def with_step(
    objects: view.View, verdict: cluster_status.Verdict
) -> cluster_status.Verdict:
    """Return a verdict whose reason names the step of a plan, if any."""
    parts = filter(None, (_step_of(objects), verdict.reason))
    return dataclasses.replace(verdict, reason=": ".join(parts))


def _end(held: Held, plan: Plan) -> None:
    """Note that a plan has ended; then forget it."""
    notes = {**MODULES[type(plan)].end_annotation(plan), **_NOTHING}
    held.annotate(kinds.CLUSTER, held.release, notes)
    _forget(held, plan)


def _forget(held: Held, plan: Plan) -> None:
    desired = held.read_stored().desired if plan.BY_HELM else None
    if desired:
        desired = dataclasses.replace(desired, steps_follow=False)
        held.store(desired, {plan.KEY: None})
    else:
        held.patch_stored({plan.KEY: None})
    MODULES[type(plan)].discard(held.context, held.cluster, plan)


def discard(operation: cluster_operation.Operation) -> None:
    """Delete what a plan has elsewhere, with the cluster."""
    try:
        # The desired state may be of a newer version of the driver.
        plan = operation.read_plan()
    except errors.ManagementError as error:
        if error.retriable:
            raise
        # A damaged Secret does not stop the deletion of the cluster.
        LOG.warning("cluster %s: %s", operation.cluster.uuid, error)
        return
    if plan:
        MODULES[type(plan)].discard(operation.context, operation.cluster, plan)


def desired_without(release: Release) -> desired_state.DesiredState | None:
    """Return the desired state without a rotation; None: there is none.

    :raises NotSupported: there is no way back
    """
    plan = _going_on(release)
    if not isinstance(plan, ca_rotation.Rotation):
        return None
    return rotate_ca.desired_without(release, plan)


def take_back(held: Held, desired: desired_state.DesiredState) -> None:
    """Accept a desired state without the plan, and forget the plan.

    If the conductor dies meanwhile, a rotation goes on from its first step.
    """
    plan = _going_on(held)
    if not isinstance(plan, ca_rotation.Rotation):
        release_change.accept(held, desired)
        if plan:
            held.annotate(kinds.CLUSTER, held.release, _NOTHING)
        return

    def accept() -> None:
        _keep_machines(held, plan)
        again = dataclasses.replace(plan, step=0, machines=None)
        version = held.patch_stored(again.to_secret(), desired.version)
        held.cluster.status_reason = None
        accepted = dataclasses.replace(desired, version=version)
        release_change.accept(held, accepted)

    rotate_ca.take_back(held, plan, accept)
    _end(held, plan)
    LOG.info("cluster %s: %s is taken back", held.cluster.uuid, plan.NAME)


def _going_on(release: Release) -> Plan | None:
    plan = release.read_plan()
    return None if plan and _has_ended(release, plan) else plan


def _keep_machines(held: Held, plan: Plan) -> None:
    """Let Cluster API replace no machine for a plan any more."""
    live = held.runtime.snapshots.read(held.scope).decode()
    roles = {step.control_plane for step in plan.steps[: plan.step + 1]}
    for kind, owner in _owners(live):
        begun = (kind is kinds.CONTROL_PLANE) in roles
        if owner and begun and replacement.renewal_time(owner):
            patch = replacement.renewal_patch(owner, None)
            held.patch(kind, view.name_of(owner), patch)


def _machines_of(live: view.View, plan: Plan) -> list[Object]:
    """Return all machines of the step's role."""
    return [
        each
        for each in live.machines
        if (view.CONTROL_PLANE_LABEL in view.labels_of(each))
        is plan.now.control_plane
    ]


def _old_machines(live: view.View, plan: Plan) -> list[Object]:
    """Return the machines that a step has still to replace."""
    old = plan.machines or ()
    return [e for e in _machines_of(live, plan) if _uid(e) in old]


def _replace(held: Held, live: view.View, left: list[Object]) -> None:
    """Set ``rolloutAfter``, unless it is late enough already.

    It is one second after the youngest old machine. If the owner has no newer
    machine, it is at least the API server's time less a minute; of a control
    plane, the progress of the update counts from then.
    """
    uids = set(map(_uid, left))
    for kind, owner in _owners(live):
        mine = [each for each in live.machines if _owns(owner, each)]
        old = [view.created_at(each) for each in mine if _uid(each) in uids]
        if owner is None or not old:
            continue
        after = max(old) + 1
        if replacement.renewal_time(owner) >= after:
            continue
        if len(old) == len(mine):
            after = max(after, (held.management.date() or 0.0) - _AHEAD)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(after))
        patch = replacement.renewal_patch(owner, moment)
        held.patch(kind, view.name_of(owner), patch)


def _owners(live: view.View) -> list[tuple[kinds.Kind, Object | None]]:
    return [
        (kinds.CONTROL_PLANE, live.control_plane),
        *((kinds.MACHINE_DEPLOYMENT, each) for each in live.deployments),
    ]


def _owns(owner: Object | None, machine: Object) -> bool:
    group = view.labels_of(machine).get(view.DEPLOYMENT_LABEL)
    if group is None:
        return (owner or {}).get("kind") == kinds.CONTROL_PLANE.name
    return group == view.name_of(owner)


def _uid(machine: Object) -> str:
    return str(view.metadata_of(machine).get("uid", ""))


@call.without_lease("the hook waits for nobody")
def remove_hook(
    operation: cluster_operation.Operation, machines: Iterable[view.Object]
) -> None:
    """Let machines go, unless the management cluster is frozen.

    Earlier builds of version 2.0 set a hook, with which Cluster API waited for
    Magnum before it deleted a machine. Remove this function after version 2.0.

    :raises ManagementError: a hook may be left; the next poll tries again
    """
    for each in machines:
        if _HOOK in view.annotations_of(each):
            with contextlib.suppress(errors.Frozen):
                operation.runtime.maintenance.check()
                name = view.name_of(each)
                operation.annotate(kinds.MACHINE, name, {_HOOK: None})
