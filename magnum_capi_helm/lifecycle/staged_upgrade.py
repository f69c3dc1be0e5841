# SPDX-License-Identifier: Apache-2.0

"""An upgrade in steps: the control plane, then the workers.

A kind of plan; ``plan_steps.py`` calls these functions. The request has
stored the desired state of the first step together with the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import time

from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import view


def check_alone(
    held: holding.Held, comparison: release_change.Comparison
) -> None:
    """Refuse an upgrade of the control plane that replaces workers, too.

    :raises NotSupported: chart, labels or options change their machines
    """
    before, after = comparison.before, comparison.after
    remade = {*template_guard.replaced(held.release, before, after)}
    if workers := remade - {names.CONTROL_PLANE}:
        raise errors.NotSupported(
            "nodegroup: upgrade the whole cluster, without --nodegroup, since "
            "chart, labels or options change the machines of workers as well. "
            f"They are those of {', '.join(sorted(workers))}"
        )


def divide(
    held: holding.Held,
    plan: upgrade_plan.Upgrade,
    draft: desired_state.DesiredState,
    comparison: release_change.Comparison,
) -> tuple[desired_state.DesiredState, upgrade_steps.Upgrade | None]:
    """Return the desired state of the first step, and the steps.

    :param draft: with all that the upgrade changes
    :param comparison: of the draft
    :returns: the draft and None, if not both roles get other machines, or if
        a newer chart replaces workers together with the control plane
    :raises HelmError: the chart does not accept the values
    """
    before, after = comparison.before, comparison.after
    remade = {*template_guard.replaced(held.release, before, after)}
    workers = remade - {names.CONTROL_PLANE}
    if plan.built is None or not workers or workers == remade:
        return draft, None
    old = plan.current.desired.values
    allowed = {names.CONTROL_PLANE}
    first = dataclasses.replace(
        draft,
        values=upgrade_steps.first_values(draft.values, old),
        steps_follow=True,
    )
    if draft.may_replace:
        permission = dataclasses.replace(
            draft.may_replace, groups=frozenset(allowed)
        )
        first = dataclasses.replace(first, may_replace=permission)
    after = release_change.compare(held, first).after
    if {*template_guard.replaced(held.release, before, after)} - allowed:
        return draft, None
    version = plan.cluster.control_plane.image.kube_version
    stages = [upgrade_steps.Stage(role, version) for role in (True, False)]
    changes = upgrade_steps.changes(first.values, draft.values)
    # The first step has begun: the request stores its desired state.
    return first, upgrade_steps.Upgrade(
        stages=stages, changes=changes, machines=()
    )


def is_over(
    state: observed_state.ObservedState,
    plan: upgrade_steps.Upgrade,
    _old: Sequence[view.Object],
) -> bool:
    """Return whether a step has ended.

    That of the control plane may not wait for workers: Cluster API makes none
    of another minor version meanwhile.
    """
    if plan.ends_early:
        return state.has_control_plane
    return state.verdict.complete


def next_step(plan: upgrade_steps.Upgrade) -> upgrade_steps.Upgrade:
    """Return the plan at its next step."""
    return dataclasses.replace(plan, step=plan.step + 1, machines=None)


def begin(
    held: holding.Held, plan: upgrade_steps.Upgrade
) -> upgrade_steps.Upgrade:
    """Store the desired state of a step, and run helm.

    :raises CapiHelmError: helm failed; the next poll begins once more
    """
    revisions, (rows_now, _) = held.revisions(), rows.read(held.cluster)
    current = held.read_stored(revisions).desired_for(
        held.cluster, rows_now, revisions
    )
    new = plan.last_values(current.values)
    if new != current.values:
        changed = dataclasses.replace(
            current,
            values=values.upgraded(new, current.values),
            since=time.time(),
        )
        revision = releases.last_deployed(revisions).version
        held.store(changed.permitting(revision, plan.changes))
    apply.to_release(held)
    return plan


def has_ended(
    _release: releases.Release, _plan: upgrade_steps.Upgrade
) -> bool:
    """Return whether a plan is the copy of one that has ended.

    It is in the same write as the desired state, of which
    ``template_guard.check_current`` refuses an old copy.
    """
    return False


def end_annotation(_plan: upgrade_steps.Upgrade) -> dict[str, str]:
    """Return nothing: the number of the upgrade tells that it has ended."""
    return {}


def discard(*_: object) -> None:
    """Delete nothing: such a plan has nothing elsewhere."""
