# SPDX-License-Identifier: Apache-2.0

"""An upgrade in steps: the control plane, then the workers.

A kind of plan; ``plan_steps.py`` calls these functions. The request has
stored the desired state of the first step together with the plan.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.resolve import operator_files


def divide(
    plan: upgrade_plan.Upgrade,
    draft: desired_state.DesiredState,
    comparison: template_guard.Comparison,
) -> tuple[desired_state.DesiredState, upgrade_steps.Upgrade | None]:
    """Return the desired state of the first step, and the steps.

    :param draft: with all that the upgrade changes
    :param comparison: of the draft
    :returns: the draft and None, if there is but one step
    :raises HelmError: the chart does not accept the values
    :raises NotSupported: a step before the last one would replace too much
    """
    has_one_role = comparison.workers in ((), comparison.replaced)
    if has_one_role and not plan.passes_minors:
        return draft, None
    stages, states = _stages(plan, draft)
    if len(stages) < 2:
        return draft, None
    # The first step has begun: the request stores its desired state.
    steps = upgrade_steps.Upgrade(stages=stages, machines=())
    first = dataclasses.replace(states[0], steps_follow=True, may_replace=None)
    revision = plan.current.installed.version
    return first.permitting(revision, stages[0].replaced), steps


def _stages(
    plan: upgrade_plan.Upgrade, draft: desired_state.DesiredState
) -> tuple[list[upgrade_steps.Stage], list[desired_state.DesiredState]]:
    """Return the steps, and the desired state of each.

    Those of the control plane leave workers alone. If the last values of the
    control plane replace workers as well, it is one step with theirs.
    """
    current, hops, stages, states = plan.current, plan.hops, [], []
    now, before = current.desired, current.installed
    rt, old = current.release.runtime, now.values
    for index, hop in enumerate(hops):
        new = upgrade_steps.values_of_step(
            hops, index, now.values, draft.values, plan.workers
        )
        if hop.chart != now.chart:
            new = operator_files.mirrored(rt, hop.chart, new)
            new = upgrade_rules.keep_fields(
                new, old, hop.chart.version, current.openstack_cluster
            )
        new = values.upgraded(new, old)
        then = dataclasses.replace(draft, chart=hop.chart, values=new)
        step = current.compare(then, before)
        if hop.control_plane and step.workers:
            rest = [each.control_plane for each in hops[index + 1 :]]
            if rest != [False]:
                raise errors.NotSupported(
                    "upgrade one minor version of Kubernetes at a time: the "
                    "new chart replaces workers in a step of the control "
                    "plane as well. They are those of "
                    f"{', '.join(step.workers)}, in the step to "
                    f"v{hop.image.kube_version} with chart "
                    f"{hop.chart.version}"
                )
            continue
        stage = upgrade_steps.Stage(
            hop.image.kube_version,
            dataclasses.asdict(hop.chart),
            values.changes(now.values, new),
            step.replaced,
        )
        stages.append(stage)
        states.append(then)
        now, before = then, dataclasses.replace(before, objects=step.after)
    return stages, states


def begin(
    held: holding.Held, plan: upgrade_steps.Upgrade
) -> upgrade_steps.Upgrade:
    """Store the desired state of a step, and run helm.

    :raises CapiHelmError: helm failed; the next poll begins once more
    """
    stage = plan.stages[plan.step]
    new = release_change.with_other_values(
        held,
        lambda old: values.changed(old, stage.changes),
        stage.replaced,
        cluster_spec.Chart(**stage.chart),
    )
    held.store(new)
    apply.to_release(held)
    return plan


def end_annotation(_plan: upgrade_steps.Upgrade) -> dict[str, str]:
    """Return nothing: the number of the upgrade tells that it has ended."""
    return {}


def discard(*_: object) -> None:
    """Delete nothing: such a plan has nothing elsewhere."""
