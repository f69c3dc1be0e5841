# SPDX-License-Identifier: Apache-2.0

"""The verdict on a release: complete, or the reason why it is not.

"Complete" is a claim that must not be wrong. It needs all of: the newest
helm revision is deployed, the live Cluster shows the fingerprint of Magnum's
rows, every group is done, Cluster API calls the cluster available, and
every addon of the manifest exists and is deployed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
import math
from typing import NamedTuple

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import health
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

#: Seconds that an addon provider needs to notice a change.
_TO_NOTICE = 5.0


class Expected(NamedTuple):
    """The state that a release should have.

    :ivar rows: Magnum's rows
    :ivar required: conditions that the control plane must have true
    :ivar addons: names of the addon objects in the manifest
    """

    rows: requested_groups.Rows
    required: Sequence[str] = ()
    addons: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class GroupVerdict:
    """The state of one nodegroup.

    :param reason: why it is not done; empty when it is
    :param fault: the reason is an error of one of its machines
    :param blocked: the reason is a problem that Cluster API reports
    :param version: the oldest Kubernetes on its nodes, or None
    """

    reason: str
    addresses: tuple[str, ...]
    fault: bool = False
    blocked: bool = False
    version: str | None = None

    @property
    def done(self) -> bool:
        """Return whether there is nothing left to wait for."""
        return not self.reason


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


def verdict(objects: view.View, expected: Expected, *, now: float) -> Verdict:
    """Judge a release.

    :param now: seconds since 1970
    """
    clock = view.Clock(now)
    rows = expected.rows
    plane_machines = objects.control_plane_machines()
    groups = {
        group.name: _group(objects, group, expected.required, clock)
        for group in rows.groups
    } | {group.name: _leaving_group(objects, group) for group in rows.leaving}
    return Verdict(
        reason=_reason(objects, expected, groups, clock),
        groups=groups,
        api_address=health.api_address(objects.cluster),
        coe_version=coe_version(objects),
        container_version=machine_status.runtime(plane_machines),
        valid_until=clock.valid_until,
    )


def _reason(
    objects: view.View,
    expected: Expected,
    groups: Mapping[str, GroupVerdict],
    clock: view.Clock,
) -> str:
    """Return why a release is not complete; the deepest cause comes first."""
    verdicts = groups.values()
    network = machine_status.network_error(objects)
    return (
        release_reason(objects)
        or stopped_reason(objects)
        or _change_reason(objects, expected.rows)
        or (f"infrastructure: {network}" if network else "")
        or messages.first(each.reason for each in verdicts if each.fault)
        or health.unreachable_reason(objects, clock)
        or messages.first(each.reason for each in verdicts if each.blocked)
        or messages.first(each.reason for each in verdicts)
        or _renewal_reason(objects, clock)
        or unavailable_reason(objects)
        or _addons_reason(objects, expected.addons, clock)
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


def _group(
    objects: view.View,
    group: requested_groups.Group,
    required: Sequence[str],
    clock: view.Clock,
) -> GroupVerdict:
    autoscaled = group.chart_name in objects.autoscaled()
    count = None if autoscaled else group.count
    if group.control_plane:
        obj, machines = objects.control_plane, objects.control_plane_machines()
        reason = nodegroup.waiting_reason(obj, count, required)
    else:
        obj = objects.deployment(group.chart_name)
        machines = objects.machines_of(group.chart_name)
        reason = nodegroup.waiting_reason(obj, count)
    owner = f"nodegroup {group.name}"
    fault = unjoined = ""
    if reason:
        fault = machine_status.first_error(owner, machines, objects)
        unjoined = machine_status.unjoined_reason(machines, objects, clock)
    if unjoined:
        reason = f"{unjoined} ({reason})"
    blocked = unjoined or nodegroup.problem_message(obj)
    return GroupVerdict(
        reason=fault or (f"{owner}: {reason}" if reason else ""),
        addresses=tuple(machine_status.addresses(machines)),
        fault=bool(fault),
        blocked=bool(reason and not fault and blocked),
        version=machine_status.version(machines),
    )


def is_gone(objects: view.View, group: requested_groups.Group) -> bool:
    """Return whether no object of a group is left.

    A group that never had an object has no chart name, or an unused one.
    """
    return not group.chart_name or (
        objects.deployment(group.chart_name) is None
        and not objects.machines_of(group.chart_name)
    )


def _leaving_group(
    objects: view.View, group: requested_groups.Group
) -> GroupVerdict:
    """Judge a group that is being deleted."""
    if is_gone(objects, group):
        return GroupVerdict("", ())
    owner = f"nodegroup {group.name}"
    machines = objects.machines_of(group.chart_name)
    obj = objects.deployment(group.chart_name)
    if obj is not None and not (view.deleting(obj) and machines):
        reason = nodegroup.with_message(obj, "still to be removed")
        return GroupVerdict(f"{owner}: {reason}", ())
    fault = machine_status.first_error(owner, machines, objects)
    kept = [] if obj or fault else machine_status.addresses(machines)
    waiting = machine_status.remaining(machines, objects)
    return GroupVerdict(f"{owner}: {waiting.text}", tuple(kept), bool(fault))


def _renewal_reason(objects: view.View, clock: view.Clock) -> str:
    """Name a machine that Cluster API may not know yet to be too old."""
    if machines := replacement.outdated_machines(objects, clock):
        return f"cluster: machine {machines[0]} is still to be replaced"
    return ""


def unavailable_reason(objects: view.View) -> str:
    """Return why Cluster API does not call the cluster available."""
    if objects.cluster is None or not conditions.is_current(objects.cluster):
        return "cluster: Cluster API has not seen the latest change yet"
    required: tuple[str, ...] = ("Available",)
    if not conditions.v1beta2(objects.cluster):
        required = ("Ready", "InfrastructureReady", "ControlPlaneReady")
    by_type = conditions.preferred(objects.cluster)
    for condition in map(by_type.get, required):
        if condition is None or not condition.well:
            message = messages.plain(condition.message if condition else "")
            return f"cluster: {message or 'not available yet'}"
    return ""


def coe_version(objects: view.View) -> str | None:
    """Return the oldest Kubernetes version that the control plane runs."""
    status = view.status_of(objects.control_plane)
    running = [each.get("version") for each in status.get("versions") or ()]
    return (
        machine_status.version(objects.control_plane_machines())
        or status.get("version")
        or machine_status.oldest(filter(None, running))
    )


def _addons_reason(
    objects: view.View, expected: frozenset[str], clock: view.Clock
) -> str:
    """Return why not every addon of the manifest is deployed."""
    if not objects.addons_known:
        return "cluster: not every machine has its node yet"
    missing = expected - set(map(view.name_of, objects.addons))
    if missing:
        return f"addon {objects.short_name(min(missing))}: not created"
    for addon in sorted(objects.addons, key=_addon_order):
        if reason := addon_reason(addon, objects.newest, clock):
            return f"addon {objects.short_name(view.name_of(addon))}: {reason}"
    return ""


def _addon_order(addon: view.Object) -> tuple[bool, bool, str]:
    """Sort a failed addon first: it explains more than one in progress."""
    phase = view.status_of(addon).get("phase")
    return phase == "Deployed", phase != "Failed", view.name_of(addon)


def addon_reason(
    addon: view.Object, newest: view.Revision | None, clock: view.Clock
) -> str:
    """Return why an addon is not deployed as it should be, or nothing.

    Addons have no ``observedGeneration``. The addon provider keeps the spec
    that it has handled, because it is made with kopf. Without that note,
    ``Deployed`` counts after a moment in which it could notice a change.

    :param newest: revision of the helm release
    """
    status = view.status_of(addon)
    phase = str(status.get("phase") or "Pending")
    if phase != "Deployed":
        message = messages.plain(str(status.get("failureMessage") or ""))
        return f"{phase}: {message}" if message else phase
    handled = view.handled_of(addon)
    if handled is not None:
        late = view.spec_of(handled) != view.spec_of(addon)
    else:
        # The host that ran helm may have a clock that is ahead.
        late = (
            newest is not None
            and newest.modified <= clock.now
            and not clock.has_passed(newest.modified + _TO_NOTICE)
        )
    return "its latest change is still to be installed" if late else ""
