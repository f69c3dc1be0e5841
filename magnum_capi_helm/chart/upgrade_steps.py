# SPDX-License-Identifier: Apache-2.0

"""The steps of an upgrade: the control plane first, then the workers.

If one helm revision changed both, Cluster API would take a worker of each
group away at once, and make no new one before the control plane is done
(``MachineSetPreflightChecks``: ``ControlPlaneIsStable`` and
``KubeadmVersionSkew`` in ``machineset_preflight.go``).

In the step of the control plane, node groups keep their image and version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import copy
import dataclasses
from typing import Any, NamedTuple

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import plan


class Stage(NamedTuple):
    """What one step brings.

    :ivar control_plane: whether the control plane gets it, or workers
    :ivar version: of Kubernetes, such as 1.35.1
    """

    control_plane: bool
    version: str


@dataclasses.dataclass(frozen=True)
class Upgrade(plan.Plan):
    """An upgrade of a whole cluster.

    :param stages: as :class:`Stage`; JSON makes them lists
    :param changes: as :func:`changes` returns them
    """

    KEY = "upgrade-steps.json.gz"
    NAME = "upgrade"
    WAY_BACK = (
        "An operator can roll it back before a control plane machine has the "
        "newer Kubernetes"
    )
    EARLY = True

    stages: Sequence[Sequence[Any]]
    changes: Mapping[str, Mapping[str, Any]]

    @property
    def steps(self) -> Sequence[plan.Step]:
        """The steps, in words."""
        return [
            plan.Step(
                stage.control_plane,
                f"{'control plane' if stage.control_plane else 'workers'} to "
                f"v{stage.version}",
            )
            for stage in (Stage(*each) for each in self.stages)
        ]

    def last_values(self, before: topic.Values) -> topic.Values:
        """Return the values of the last step.

        :param before: of the step before it, as they are by now
        """
        result = copy.deepcopy(before)
        for item in result["nodeGroups"]:
            values.overlay(item, self.changes.get(item["name"], {}))
        return result


def changes(
    first: topic.Values, final: topic.Values
) -> dict[str, dict[str, Any]]:
    """Return what the last step changes in items, by name of the group.

    :returns: keys of an item with their values; None: the key has to go
    """
    old, new = (values.items_by_name(each) for each in (first, final))
    return {name: _difference(old[name], new[name]) for name in new}


def _difference(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, Any]:
    found = {}
    for key in {**old, **new}:
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            after = _difference(before, after)
        if after != before and after != {}:
            found[key] = after
    return found


def first_values(
    final: topic.Values, before: Mapping[str, Any]
) -> topic.Values:
    """Return the values of the first step.

    :param final: of the last step
    :param before: of the cluster so far
    """
    result = copy.deepcopy(final)
    result["nodeGroups"] = [
        upgrade_rules.pinned(item, before)
        for item in values.items_by_name(before).values()
    ]
    return result


def waiting(stored: plan.Plan | None) -> Collection[str]:
    """Return the groups that wait for their step of an upgrade."""
    if not isinstance(stored, Upgrade) or not stored.ends_early:
        return ()
    return stored.changes.keys()
