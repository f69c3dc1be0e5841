# SPDX-License-Identifier: Apache-2.0

"""The verdict on a release: complete, or why it is not.

"Complete" is a claim that must not be wrong. It needs all of: the newest
helm revision is deployed, the live Cluster shows the fingerprint of Magnum's
rows, every group is settled, Cluster API calls the cluster available, and
every addon of the manifest exists and is deployed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import dataclasses

from magnum_capi_helm.chart import values
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import addons
from magnum_capi_helm.status import certificates
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import group_conditions
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import reachability
from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view

_DEPLOYED = "deployed"


@dataclasses.dataclass(frozen=True)
class GroupVerdict:
    """One nodegroup.

    :param reason: why it is not done; empty when it is
    :param fault: the reason is an error of one of its machines
    :param blocked: the reason is what Cluster API says of the group
    :param version: the oldest that its nodes run, or None
    """

    reason: str
    addresses: tuple[str, ...]
    fault: bool = False
    blocked: bool = False
    version: str | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for in this group."""
        return not self.reason


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the objects of a release amount to.

    :param reason: why it is not complete, one line; empty when it is
    :param groups: by Magnum's name of each nodegroup
    :param api_address: URL of the Kubernetes API, or None
    :param coe_version: what really runs, such as v1.34.2, or None
    :param container_version: such as containerd://2.1.4, or None
    """

    reason: str
    groups: Mapping[str, GroupVerdict]
    api_address: str | None
    coe_version: str | None
    container_version: str | None = None

    @property
    def complete(self) -> bool:
        """Whether everything is as the rows want it."""
        return not self.reason


def verdict(
    seen: view.View,
    rows: requested_groups.Rows,
    *,
    now: float,
    autoscaled: frozenset[str] = frozenset(),
    required: Sequence[str] = (),
    expected: frozenset[str] = frozenset(),
) -> Verdict:
    """Judge a release.

    :param now: seconds since 1970
    :param autoscaled: chart names of groups whose count is not ours
    :param required: conditions that the control plane must have true
    :param expected: names of the addon objects that the manifest has
    """
    groups = {
        group.name: _group(seen, group, autoscaled, required)
        for group in rows.groups
    } | {group.name: _leaving(seen, group) for group in rows.leaving}
    return Verdict(
        reason=_release(seen, rows)
        or _infrastructure(seen)
        or _first(each.reason for each in groups.values() if each.fault)
        or reachability.why_not(seen, now)
        or _first(each.reason for each in groups.values() if each.blocked)
        or _first(each.reason for each in groups.values())
        or _renewal(seen, now)
        or unavailable(seen)
        or addons.undeployed(seen, expected)
        or addons.behind(seen, now),
        groups=groups,
        api_address=reachability.api_address(seen.cluster),
        coe_version=coe_version(seen),
        container_version=nodegroup.runtime(seen.control_plane_machines()),
    )


def unreleased(seen: view.View) -> str:
    """Why helm is not done; empty: it is."""
    newest = seen.newest
    if newest is None:
        return "the helm release does not exist yet"
    if newest.status != _DEPLOYED:
        return f"helm: revision {newest.version} is {newest.status}"
    return ""


def _release(seen: view.View, rows: requested_groups.Rows) -> str:
    if why := unreleased(seen) or left_alone(seen):
        return why
    live = fingerprint(seen.cluster)
    if live is not None and live != rows.fingerprint():
        return "the latest change is still to be applied"
    return ""


def left_alone(seen: view.View) -> str:
    """Why Cluster API does nothing for a Cluster; empty: it does."""
    if seen.cluster is None:
        return "the Cluster object does not exist"
    if view.deleting(seen.cluster):
        return "the Cluster object is being deleted"
    if conditions.paused(seen.cluster):
        return "the operator has paused the cluster: nothing is changed"
    return ""


def fingerprint(cluster: view.Object | None) -> str | None:
    """Of the rows that the live Cluster was made from, if it says."""
    found = view.annotations_of(cluster or {}).get(values.INTENT_ANNOTATION)
    return None if found is None else str(found)


def _infrastructure(seen: view.View) -> str:
    if why := reasons.of_network(seen.infrastructure):
        return f"infrastructure: {why}"
    return ""


def _group(
    seen: view.View,
    group: requested_groups.Group,
    autoscaled: frozenset[str],
    required: Sequence[str],
) -> GroupVerdict:
    count = None if group.chart_name in autoscaled else group.count
    if group.control_plane:
        obj, machines = seen.control_plane, seen.control_plane_machines()
        why = nodegroup.control_plane_unsettled(obj, count, required)
    else:
        obj = seen.deployment(group.chart_name)
        machines = seen.machines_of(group.chart_name)
        why = nodegroup.unsettled(obj, count)
    what = f"nodegroup {group.name}"
    fault = reasons.of_machines(what, machines, seen) if why else ""
    return GroupVerdict(
        reason=fault or (f"{what}: {nodegroup.told(obj, why)}" if why else ""),
        addresses=tuple(nodegroup.addresses(machines)),
        fault=bool(fault),
        blocked=bool(why and not fault and group_conditions.problem(obj)),
        version=nodegroup.version(machines),
    )


def gone(seen: view.View, group: requested_groups.Group) -> bool:
    """Whether nothing is left of a group.

    A group that never had anything has no name, or one that nothing has.
    """
    return not group.chart_name or (
        seen.deployment(group.chart_name) is None
        and not seen.machines_of(group.chart_name)
    )


def _leaving(seen: view.View, group: requested_groups.Group) -> GroupVerdict:
    """A group that is being deleted."""
    if gone(seen, group):
        return GroupVerdict("", ())
    what = f"nodegroup {group.name}"
    machines = seen.machines_of(group.chart_name)
    obj = seen.deployment(group.chart_name)
    if obj is not None and not (view.deleting(obj) and machines):
        return GroupVerdict(
            f"{what}: {nodegroup.told(obj, 'still to be removed')}", ()
        )
    fault = reasons.of_machines(what, machines, seen)
    kept = () if obj is not None or fault else nodegroup.addresses(machines)
    return GroupVerdict(
        f"{what}: {reasons.still_to_be_deleted(machines, seen).text}",
        tuple(kept),
        fault=bool(fault),
    )


def _first(found: Iterable[str]) -> str:
    """The first that is not empty, in the rows' order."""
    return next(filter(None, found), "")


def _renewal(seen: view.View, now: float) -> str:
    """Machines that Cluster API may not know yet to be too old."""
    if found := certificates.outdated(seen, now):
        return f"cluster: machine {found[0]} is still to be replaced"
    return ""


def unavailable(seen: view.View) -> str:
    """What Cluster API says of the cluster as a whole."""
    if seen.cluster is None or not conditions.current(seen.cluster):
        return "cluster: Cluster API has not seen the latest change yet"
    known = conditions.new(seen.cluster)
    if known:
        required: tuple[str, ...] = ("Available",)
    else:
        known = conditions.old(seen.cluster)
        required = ("Ready", "InfrastructureReady", "ControlPlaneReady")
    for name in required:
        condition = known.get(name)
        if condition is None or not condition.well:
            message = plain_words.plain(condition.message if condition else "")
            return f"cluster: {message or 'not available yet'}"
    return ""


def coe_version(seen: view.View) -> str | None:
    """The oldest version that the control plane runs."""
    status = view.status_of(seen.control_plane)
    running = [
        str(each["version"])
        for each in status.get("versions") or []
        if each.get("version")
    ]
    return (
        nodegroup.version(seen.control_plane_machines())
        or status.get("version")
        or nodegroup.oldest(running)
    )
