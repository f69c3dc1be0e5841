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
from typing import NamedTuple

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import addon
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import infrastructure
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Seconds from the infrastructure being ready until an API that never
#: answered is called unreachable. kubeadm takes two minutes on a slow server.
_PATIENCE = 240.0
#: Seconds that the server of the control plane must have run by then.
_BOOT = 60.0
_UNREACHABLE = "not reachable from the management cluster"


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
    """

    reason: str
    groups: Mapping[str, GroupVerdict]
    api_address: str | None
    coe_version: str | None
    container_version: str | None = None

    @property
    def complete(self) -> bool:
        """Return whether everything is as the rows want it."""
        return not self.reason


def verdict(objects: view.View, expected: Expected) -> Verdict:
    """Judge a release."""
    return judge(grow(objects, expected, notes=False), objects, expected)


def judge(
    root: tree.Branch, objects: view.View, expected: Expected
) -> Verdict:
    """Return the verdict that a tree of the objects shows."""
    plane_machines = objects.control_plane_machines()
    reasons = {each.title: tree.told(each) for each in root.children}
    groups = {}
    for each in (*expected.rows.groups, *expected.rows.leaving):
        machines = objects.machines_of(each.chart_name)
        machines = plane_machines if each.control_plane else machines
        reason = reasons.get(f"nodegroup {each.name}", "")
        groups[each.name] = GroupVerdict(
            reason, machine.addresses(machines), machine.version(machines)
        )
    return Verdict(
        reason=release_reason(objects) or tree.told(root),
        groups=groups,
        api_address=api_address(objects.cluster),
        coe_version=coe_version(objects),
        container_version=machine.runtime(plane_machines),
    )


def grow(
    objects: view.View, expected: Expected, *, notes: bool = True
) -> tree.Branch:
    """Return the branch of the Cluster and of all that belongs to it.

    :param notes: also grow parts whose reasons no verdict tells
    """
    reason = _reason(objects, expected.rows)
    url = api_address(objects.cluster) or ""
    parts = (
        infrastructure.network(objects),
        *_groups(objects, expected, notes),
        addon.branch(objects, expected.addons, expected.secrets),
    )
    return tree.grow(
        *("Cluster", objects.release, reason, url, parts),
        entries=(_api_entry(objects),),
    )


def _groups(
    objects: view.View, expected: Expected, notes: bool
) -> Iterator[tree.Branch]:
    """Yield the groups of Magnum's rows, then others that have objects."""
    rows, required = expected.rows, expected.required
    yield nodegroup.branch(objects, None, rows.master, required, notes=notes)
    groups = {each.chart_name: each for each in rows.workers}
    for name, group in groups.items():
        yield nodegroup.branch(objects, name, group, notes=notes)
    leaving = [e for e in rows.leaving if not is_gone(objects, e)]
    for group in leaving:
        yield nodegroup.leaving(objects, group)
    with_row = groups.keys() | {each.chart_name for each in leaving}
    for name in sorted(objects.group_names() - with_row):
        yield nodegroup.branch(objects, name, None)


def _reason(objects: view.View, rows: requested_groups.Rows) -> tree.Reason:
    """Return why the Cluster itself is not ready."""
    is_applied = fingerprint(objects.cluster) in (None, rows.fingerprint())
    change = "" if is_applied else "the latest change is still to be applied"
    reasons = (
        (stopped_reason(objects), tree.Rank.STOPPED),
        (change, tree.Rank.CHANGE),
        (_unreachable_reason(objects), tree.Rank.API_UNREACHABLE),
        (_unavailable_reason(objects), tree.Rank.LAST),
    )
    return next((tree.Reason(*each) for each in reasons if each[0]), tree.NONE)


def is_settled(objects: view.View) -> bool:
    """Return whether no reason needs the infrastructure's objects.

    ``kubernetes/reads.py`` lists them for the other clusters alone.
    """
    groups = filter(None, (objects.control_plane, *objects.deployments))
    return (
        conditions.available(objects.cluster).well
        and all(map(machine.is_settled, objects.machines))
        and all(map(nodegroup.is_settled, groups))
    )


def is_initialized(objects: view.View) -> bool:
    """Return whether the cluster has, or had, an API to install addons."""
    initialized = conditions.merged(objects.cluster)["ControlPlaneInitialized"]
    return initialized.well or conditions.available(objects.cluster).well


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


def _unavailable_reason(objects: view.View) -> str:
    """Return why Cluster API does not call the cluster available.

    It may not know yet that a machine is too old.
    """
    if machines := replacement.outdated_machines(objects):
        return f"cluster: machine {machines[0]} is still to be replaced"
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
    running.append(status.get("version"))
    machines = objects.control_plane_machines()
    return machine.version(machines) or machine.oldest(filter(None, running))


# The Kubernetes API, as Cluster API sees it. Cluster API looks from the
# management cluster, so its view holds for private endpoints too.


def _api_entry(objects: view.View) -> tree.Entry:
    """Return what the health map says about the API."""
    value = _connection(objects)
    if value == _UNREACHABLE:
        value += f": {api_address(objects.cluster) or 'no address yet'}"
        return tree.Entry("api", value, tree.UNHEALTHY)
    well = value == "ok"
    return tree.Entry("api", value, tree.HEALTHY if well else tree.UNKNOWN)


def _unreachable_reason(objects: view.View) -> str:
    """Return a sentence if the API can't be reached, or an empty string.

    Without it Cluster API sees no nodes, and no addon can be installed. It is
    the most frequent reason of a create that never ends, and Cluster API only
    says that it waits.
    """
    url = api_address(objects.cluster)
    if url is None or _connection(objects) != _UNREACHABLE:
        return ""
    return (
        f"the management cluster can't reach the Kubernetes API at {url}: "
        "a firewall, security group or missing route is in between, or the "
        "control plane did not start"
    )


def api_address(cluster: view.Object | None) -> str | None:
    """Return the URL of the Kubernetes API, or None without a host."""
    endpoint = view.spec_of(cluster).get("controlPlaneEndpoint") or {}
    host, port = endpoint.get("host"), endpoint.get("port")
    if not host or not port:
        return None
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}:{port}"


def _connection(objects: view.View) -> str:
    """Return whether the management cluster reaches the Kubernetes API."""
    by_type = conditions.merged(objects.cluster)
    initialized = by_type["ControlPlaneInitialized"]
    probe = by_type["RemoteConnectionProbe"]
    if probe.well:
        return "ok"
    if initialized.bad:
        return _UNREACHABLE if _is_overdue(objects) else "starting"
    if probe or not initialized.well:
        return _UNREACHABLE if probe.bad else "unknown"
    # Cluster API up to 1.8 has no probe; this shows that it sees no nodes.
    components = conditions.v1beta1(objects.control_plane)
    blind = components["ControlPlaneComponentsHealthy"].status == "Unknown"
    return "unknown" if blind else "ok"


def _is_overdue(objects: view.View) -> bool:
    """Return whether an API that never answered should do so by now."""
    ready = conditions.infrastructure_since(objects.cluster)
    machines = objects.control_plane_machines()
    servers = filter(None, map(conditions.infrastructure_since, machines))
    first = min(servers, default=0.0)
    if not (ready and first and api_address(objects.cluster)):
        return False
    return objects.clock.has_passed(max(ready + _PATIENCE, first + _BOOT))
