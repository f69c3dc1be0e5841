# SPDX-License-Identifier: Apache-2.0

"""An upgrade in steps: the control plane, then the workers.

A kind of plan; ``plan_steps.py`` calls these functions. The request has
stored the desired state of the first step together with the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import topic
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import holding
from magnum_capi_helm.resolve import operator_files


def check_alone(comparison: release_change.Comparison) -> None:
    """Refuse an upgrade of the control plane that replaces workers, too.

    :raises NotSupported: chart, labels or options change their machines
    """
    if workers := comparison.workers:
        raise errors.NotSupported(
            "nodegroup: upgrade the whole cluster, without --nodegroup, since "
            "chart, labels or options change the machines of workers as well. "
            f"They are those of {', '.join(workers)}"
        )


def divide(
    plan: upgrade_plan.Upgrade,
    draft: desired_state.DesiredState,
    comparison: release_change.Comparison,
) -> tuple[desired_state.DesiredState, upgrade_steps.Upgrade | None]:
    """Return the desired state of the first step, and the steps.

    :param draft: with all that the upgrade changes
    :param comparison: of the draft
    :returns: the draft and None, if there is but one step
    :raises HelmError: the chart does not accept the values
    :raises NotSupported: a step before the last one would replace too much
    """
    workers, current = comparison.workers, plan.current
    if plan.built is None or not (
        plan.passes_minors or (workers and workers != comparison.replaced)
    ):
        return draft, None
    stages = _stages(plan, draft)
    if len(stages) == 1:
        return draft, None
    # The first step has begun: the request stores its desired state.
    steps = upgrade_steps.Upgrade(stages=stages, machines=())
    first = dataclasses.replace(
        draft,
        chart=steps.stage.helm_chart,
        values=values.changed(current.desired.values, steps.stage.changes),
        steps_follow=True,
        may_replace=None,
    )
    revision, groups = current.installed.version, steps.stage.may_replace
    return first.permitting(revision, groups), steps


def _stages(
    plan: upgrade_plan.Upgrade, draft: desired_state.DesiredState
) -> list[upgrade_steps.Stage]:
    """Return the steps; those of the control plane leave workers alone.

    If the last values of the control plane replace workers as well, it is one
    step with theirs.
    """
    current, hops, stages, both = plan.current, plan.hops, [], False
    now, before = current.desired, current.installed
    for index, hop in enumerate(hops):
        new = upgrade_steps.values_of_step(
            hops, index, now.values, draft.values, plan.workers
        )
        if hop.chart != now.chart:
            new = _with_chart(current, hop.chart, new)
        new = values.upgraded(new, current.desired.values)
        then = dataclasses.replace(draft, chart=hop.chart, values=new)
        step = current.compare(then, before)
        if hop.control_plane and step.workers:
            rest = [each.control_plane for each in hops[index + 1 :]]
            if both := rest == [False]:
                continue
            raise _too_much(hop, step.workers)
        stage = upgrade_steps.Stage(
            control_plane=hop.control_plane or both,
            workers=not hop.control_plane,
            version=hop.image.kube_version,
            chart=dataclasses.asdict(hop.chart),
            changes=values.changes(now.values, new),
        )
        stages.append(stage)
        now, before = then, dataclasses.replace(before, objects=step.after)
    return stages


def _with_chart(
    current: release_change.Current,
    chart: cluster_spec.Chart,
    content: topic.Values,
) -> topic.Values:
    """Return values of a cluster that gets another version of the chart."""
    rt, live = current.release.runtime, current.openstack_cluster
    content = operator_files.mirrored(rt, chart, content)
    old = current.desired.values
    return upgrade_rules.keep_fields(content, old, chart.version, live)


def _too_much(
    hop: upgrade_steps.Hop, workers: Sequence[str]
) -> errors.NotSupported:
    return errors.NotSupported(
        "upgrade one minor version of Kubernetes at a time: the new chart "
        "replaces workers in a step of the control plane as well. They are "
        f"those of {', '.join(workers)}, in the step to "
        f"v{hop.image.kube_version} with chart {hop.chart.version}"
    )


def begin(
    held: holding.Held, plan: upgrade_steps.Upgrade
) -> upgrade_steps.Upgrade:
    """Store the desired state of a step, and run helm.

    :raises CapiHelmError: helm failed; the next poll begins once more
    """
    stage = plan.stage
    new = release_change.with_other_values(
        held,
        lambda old: values.changed(old, stage.changes),
        stage.may_replace,
        stage.helm_chart,
    )
    held.store(new)
    apply.to_release(held)
    return plan


def end_annotation(_plan: upgrade_steps.Upgrade) -> dict[str, str]:
    """Return nothing: the number of the upgrade tells that it has ended."""
    return {}


def discard(*_: object) -> None:
    """Delete nothing: such a plan has nothing elsewhere."""
