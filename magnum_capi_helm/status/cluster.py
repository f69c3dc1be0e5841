# SPDX-License-Identifier: Apache-2.0

"""The verdict on a release: complete, or the reason why it is not.

"Complete" is a claim that must not be wrong. It needs all of: the newest
helm revision is deployed, the live Cluster shows the fingerprint of Magnum's
rows, every group is done, Cluster API calls the cluster available, and
every addon of the manifest exists and is deployed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import math
from typing import NamedTuple

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import addon
from magnum_capi_helm.status import api
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view


class Expected(NamedTuple):
    """The state that a release should have.

    :ivar rows: Magnum's rows
    :ivar required: conditions that the control plane must have true
    :ivar addons: names of the addon objects in the manifest
    :ivar secrets: checksum of each Secret in the manifest, by name
    """

    rows: requested_groups.Rows
    required: Sequence[str] = ()
    addons: frozenset[str] = frozenset()
    secrets: Mapping[str, str] = {}


@dataclasses.dataclass(frozen=True)
class GroupVerdict:
    """The state of one nodegroup.

    :param reason: why it is not done; empty when it is
    :param version: the oldest Kubernetes on its nodes, or None
    """

    reason: str
    addresses: tuple[str, ...]
    version: str | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The state of a release.

    :param reason: why it is not complete, one line; empty when it is
    :param groups: by Magnum's name of each nodegroup
    :param api_address: URL of the Kubernetes API, or None
    :param coe_version: the running Kubernetes, such as v1.34.2, or None
    :param container_version: such as containerd://2.1.4, or None
    :param valid_until: without a change of an object; seconds since 1970
    """

    reason: str
    groups: Mapping[str, GroupVerdict]
    api_address: str | None
    coe_version: str | None
    container_version: str | None = None
    valid_until: float = dataclasses.field(default=math.inf, compare=False)

    @property
    def complete(self) -> bool:
        """Return whether everything is as the rows want it."""
        return not self.reason


def verdict(objects: view.View, expected: Expected) -> Verdict:
    """Judge a release."""
    return judge(grow(objects, expected), objects, expected)


def judge(
    root: tree.Branch, objects: view.View, expected: Expected
) -> Verdict:
    """Return the verdict that a tree of the objects shows."""
    rows = expected.rows
    plane_machines = objects.control_plane_machines()
    return Verdict(
        reason=release_reason(objects) or tree.told(root),
        groups={
            each.name: _group(objects, each, root)
            for each in (*rows.groups, *rows.leaving)
        },
        api_address=api.address(objects.cluster),
        coe_version=coe_version(objects),
        container_version=machine.runtime(plane_machines),
        valid_until=objects.clock.valid_until,
    )


def _group(
    objects: view.View, group: requested_groups.Group, root: tree.Branch
) -> GroupVerdict:
    title = f"nodegroup {group.name}"
    branches = [each for each in root.children if each.title == title]
    machines = objects.machines_of(group.chart_name)
    if group.control_plane:
        machines = objects.control_plane_machines()
    return GroupVerdict(
        tree.told(branches[0]) if branches else "",
        tuple(machine.addresses(machines)),
        machine.version(machines),
    )


def grow(objects: view.View, expected: Expected) -> tree.Branch:
    """Return the branch of the Cluster and of all that belongs to it."""
    return tree.grow(
        "Cluster",
        objects.release,
        _reason(objects, expected.rows),
        api.address(objects.cluster) or "",
        (
            infrastructure.network(objects),
            *_groups(objects, expected),
            addon.branch(objects, expected.addons, expected.secrets),
        ),
        entries=(api.entry(objects),),
    )


def _groups(objects: view.View, expected: Expected) -> Iterator[tree.Branch]:
    """Yield the groups of Magnum's rows, then others that have objects."""
    rows = expected.rows
    yield nodegroup.control_plane(objects, rows.master, expected.required)
    groups = {each.chart_name: each for each in rows.workers}
    for name, group in groups.items():
        yield nodegroup.workers(objects, name, group)
    leaving = [e for e in rows.leaving if not is_gone(objects, e)]
    for group in leaving:
        yield nodegroup.leaving(objects, group)
    with_row = groups.keys() | {each.chart_name for each in leaving}
    for name in sorted(objects.group_names() - with_row):
        yield nodegroup.workers(objects, name, None)


def _reason(objects: view.View, rows: requested_groups.Rows) -> tree.Reason:
    """Return why the Cluster itself is not ready."""
    reasons = (
        (stopped_reason(objects), tree.Rank.STOPPED),
        (_change_reason(objects, rows), tree.Rank.CHANGE),
        (api.unreachable_reason(objects), tree.Rank.UNREACHABLE),
        (_renewal_reason(objects), tree.Rank.LAST),
        (_unavailable_reason(objects), tree.Rank.LAST),
    )
    return next((tree.Reason(*each) for each in reasons if each[0]), tree.NONE)


def is_settled(objects: view.View) -> bool:
    """Return whether no object below Cluster API's can explain anything."""
    groups = filter(None, (objects.control_plane, *objects.deployments))
    return (
        conditions.available(objects.cluster).well
        and all(map(machine.is_settled, objects.machines))
        and all(map(nodegroup.is_settled, groups))
    )


def is_initialized(objects: view.View) -> bool:
    """Return whether the cluster has, or had, an API to install addons."""
    by_type = conditions.merged(objects.cluster)
    return (
        by_type["ControlPlaneInitialized"].well
        or conditions.available(objects.cluster).well
    )


def release_reason(objects: view.View) -> str:
    """Return why helm is not done, or an empty string."""
    newest = objects.newest
    if newest is None:
        return "the helm release does not exist yet"
    if newest.status != "deployed":
        return f"helm: revision {newest.version} is {newest.status}"
    return ""


def stopped_reason(objects: view.View) -> str:
    """Return why Cluster API does not work on a Cluster, or nothing."""
    if objects.cluster is None:
        return "the Cluster object does not exist"
    if view.deleting(objects.cluster):
        return "the Cluster object is being deleted"
    if conditions.paused(objects.cluster):
        return "the operator has paused the cluster: nothing is changed"
    return ""


def _change_reason(objects: view.View, rows: requested_groups.Rows) -> str:
    if fingerprint(objects.cluster) in (None, rows.fingerprint()):
        return ""
    return "the latest change is still to be applied"


def fingerprint(cluster: view.Object | None) -> str | None:
    """Return the fingerprint of the rows that the live Cluster has."""
    annotations = view.annotations_of(cluster)
    return annotations.get(requested_groups.FINGERPRINT_ANNOTATION)


def is_gone(objects: view.View, group: requested_groups.Group) -> bool:
    """Return whether no object of a group is left.

    A group that never had an object has no chart name, or an unused one.
    """
    return not group.chart_name or (
        objects.deployment(group.chart_name) is None
        and not objects.machines_of(group.chart_name)
    )


def _renewal_reason(objects: view.View) -> str:
    """Name a machine that Cluster API may not know yet to be too old."""
    if machines := replacement.outdated_machines(objects):
        return f"cluster: machine {machines[0]} is still to be replaced"
    return ""


def _unavailable_reason(objects: view.View) -> str:
    """Return why Cluster API does not call the cluster available."""
    if objects.cluster is None or not conditions.is_current(objects.cluster):
        return "cluster: Cluster API has not seen the latest change yet"
    required = ["Available"]
    if not conditions.v1beta2(objects.cluster):
        required = ["Ready", "InfrastructureReady", "ControlPlaneReady"]
    by_type = conditions.merged(objects.cluster)
    for condition in (by_type[each] for each in required):
        if not condition.well:
            message = messages.plain(condition.message)
            return f"cluster: {message or 'not available yet'}"
    return ""


def coe_version(objects: view.View) -> str | None:
    """Return the oldest Kubernetes version that the control plane runs."""
    status = view.status_of(objects.control_plane)
    running = [each.get("version") for each in status.get("versions") or ()]
    return (
        machine.version(objects.control_plane_machines())
        or status.get("version")
        or machine.oldest(filter(None, running))
    )
