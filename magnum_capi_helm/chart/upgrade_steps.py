# SPDX-License-Identifier: Apache-2.0

"""The steps of an upgrade: the control plane first, then the workers.

If one helm revision changed both, Cluster API would take a worker of each
group away at once, and make no new one before the control plane is done
(``MachineSetPreflightChecks``: ``ControlPlaneIsStable`` and
``KubeadmVersionSkew`` in ``machineset_preflight.go``).

The control plane takes one minor version of Kubernetes after the other, as its
webhook wants it (``validateVersion`` in ``kubeadm_control_plane.go``). Workers
take the last one at once. They get another step only where they would be older
than Kubernetes allows (its version skew policy). In steps of the control
plane, node groups keep their image and version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import copy
import dataclasses
from typing import Any, NamedTuple

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import plan
from magnum_capi_helm.model import versions

#: Minor version of Kubernetes with etcd 3.6.
_ETCD_3_6 = 34


def route(
    control_plane: int, target: int, workers: int | None
) -> list[tuple[bool, int]]:
    """Return the steps from one minor version of Kubernetes to another.

    :param control_plane: minor version of the control plane so far
    :param workers: the oldest of the workers that follow; None: none do
    :returns: for each step whether the control plane takes it, or workers,
        and the minor version that they get
    """
    steps = []
    for minor in range(control_plane + 1, target + 1) or (target,):
        if workers is not None and minor - workers > nodes.SKEW:
            workers = minor - 1
            steps.append((False, workers))
        steps.append((True, minor))
    if workers is not None:
        steps.append((False, target))
    return steps


class Hop(NamedTuple):
    """A step that is planned.

    :ivar control_plane: whether it replaces the control plane, or workers
    :ivar chart: with which helm takes the step
    """

    control_plane: bool
    image: cluster_spec.Image
    chart: cluster_spec.Chart


class Stage(NamedTuple):
    """A step that was accepted: plain data.

    :ivar version: of Kubernetes, such as 1.35.1
    :ivar chart: fields of :class:`cluster_spec.Chart`
    :ivar changes: of the values of the step before
    :ivar replaced: the chart's names of the groups whose machines it replaces
    """

    version: str
    chart: Mapping[str, str]
    changes: Sequence[values.Change]
    replaced: Sequence[str]

    @property
    def workers(self) -> frozenset[str]:
        """The node groups of them, with which the step ends."""
        return frozenset(self.replaced) - {names.CONTROL_PLANE}

    @property
    def text(self) -> str:
        """The step in words."""
        has_plane = names.CONTROL_PLANE in self.replaced
        roles = {"control plane": has_plane, "workers": self.workers}
        who = " and ".join(role for role, has in roles.items() if has)
        return f"{who} to v{self.version}"


@dataclasses.dataclass(frozen=True)
class Upgrade(plan.Plan):
    """An upgrade of a whole cluster, or of its control plane.

    :param stages: the steps; those of JSON are lists
    :raises TypeError: another version of the driver has stored them
    """

    KEY = "upgrade-steps.json.gz"
    NAME = "upgrade"
    WAY_BACK = (
        "An operator can roll it back before a control plane machine has the "
        "newer Kubernetes (`magnum-capi-helm cluster rollback`), or stop it "
        "in a step of the control plane (with `--stop-here`)"
    )
    BY_HELM = True

    stages: Sequence[Stage]

    def __post_init__(self) -> None:
        stages = [Stage(*each) for each in self.stages]
        object.__setattr__(self, "stages", stages)

    @property
    def steps(self) -> Sequence[plan.Step]:
        """The steps, in words."""
        return [plan.Step(not e.workers, e.text) for e in self.stages]


def values_of_step(
    hops: Sequence[Hop],
    index: int,
    before: Mapping[str, Any],
    final: paths.Values,
    workers: Collection[str],
) -> paths.Values:
    """Return the values of a step.

    The last step of the control plane takes all values but those of node
    groups; the steps before take version and image alone.

    :param index: of the step
    :param before: of the step before it
    :param final: of the whole upgrade
    :param workers: names of the node groups that follow
    """
    hop, later = hops[index], hops[index + 1 :]
    if not later and not hop.control_plane:
        return final
    result, items = before, values.items_by_name(before)
    items = {k: upgrade_rules.pinned(v, before) for k, v in items.items()}
    if not hop.control_plane:
        last = values.items_by_name(final)
        for name in items.keys() & workers:
            items[name] = _machine(items[name], hop.image)
            strategy = last[name].get(paths.ROLLOUT)
            paths.put(items[name], paths.ROLLOUT, strategy)
    elif any(each.control_plane for each in later):
        plane = _machine(before.get(paths.CONTROL_PLANE) or {}, hop.image)
        result = {**_machine(before, hop.image), paths.CONTROL_PLANE: plane}
    else:
        result = final
    return copy.deepcopy({**result, paths.GROUPS: list(items.values())})


def _machine(
    before: Mapping[str, Any], image: cluster_spec.Image
) -> paths.Values:
    """Return settings with another image, by its ID, as all of 2.0 are."""
    kept = {k: v for k, v in before.items() if k != paths.IMAGE}
    version, name = image.kube_version, image.id
    return {**kept, paths.KUBERNETES: version, paths.IMAGE_ID: name}


def brings_etcd_3_6(old: str, new: str) -> bool:
    """Return whether kubeadm replaces etcd 3.5 by 3.6 on the way.

    The default of Kubernetes 1.34 is 3.6 (``constants.go`` of kubeadm). etcd's
    maintainers want 3.5.26 before: a removed member can come back otherwise.
    """
    before, after = versions.number(old), versions.number(new)
    return bool(before and after and before[1] < _ETCD_3_6 <= after[1])


def at_next_workers(
    stored: plan.Plan | None, before: paths.Values
) -> paths.Values:
    """Return the values after the next step of workers, if an upgrade goes on.

    A group of a later version would keep this step from its end.

    :param before: as they are by now
    """
    if isinstance(stored, Upgrade):
        for each in stored.stages[stored.step :]:
            before = values.changed(before, each.changes)
            if each.workers:
                break
    return before
