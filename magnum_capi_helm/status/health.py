# SPDX-License-Identifier: Apache-2.0

"""The health that Magnum shows: a word, and a map with the parts.

The map has the keys of Magnum's own monitor: ``api``, and ``<node>.Ready`` for
each node. The API's reachability is what Cluster API sees from the management
cluster, so it holds for private endpoints too.

A part that is new, being deleted or being replaced is not unhealthy: an
ordinary create, resize or upgrade is never UNHEALTHY.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import math
from typing import NamedTuple

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import view

HEALTHY = "HEALTHY"
UNHEALTHY = "UNHEALTHY"
UNKNOWN = "UNKNOWN"
#: From the best to the worst.
_ORDER = (HEALTHY, UNKNOWN, UNHEALTHY)

MOST_NODES = 100
#: Seconds from the infrastructure being ready until an API that never
#: answered is called unreachable. kubeadm takes two minutes on a slow server.
PATIENCE = 240.0
#: Seconds that the server of the control plane must have run by then.
_BOOT = 60.0

#: Words for Cluster API's connection to the Kubernetes API of a cluster.
_UNREACHABLE = "not reachable from the management cluster"
_API = {
    "ok": HEALTHY,
    "starting": UNKNOWN,
    "unknown": UNKNOWN,
    _UNREACHABLE: UNHEALTHY,
}
_NODE = {
    "True": HEALTHY,
    "starting": HEALTHY,
    "Unknown": UNKNOWN,
    "False": UNHEALTHY,
}


@dataclasses.dataclass(frozen=True)
class Health:
    """Magnum's health_status and health_status_reason.

    :param valid_until: without a change of an object; seconds since 1970
    """

    status: str
    reason: dict[str, str]
    valid_until: float = dataclasses.field(default=math.inf, compare=False)


class _Entry(NamedTuple):
    key: str
    value: str
    health: str


def health(objects: view.View, now: float) -> Health:
    """Return the health of a cluster by Cluster API's reports.

    :param now: seconds since 1970
    """
    if objects.cluster is None:
        text = (
            f"the Cluster object {objects.release} is not on the management "
            "cluster"
        )
        return Health(UNKNOWN, {"cluster": text})
    if view.deleting(objects.cluster):
        return Health(UNKNOWN, {"cluster": "being deleted"})
    clock = view.Clock(now)
    entries = [
        _api(objects, clock),
        *_nodes(objects, clock),
        *_groups(objects, clock),
    ]
    worst = max((each.health for each in entries), key=_ORDER.index)
    if conditions.paused(objects.cluster):
        # No controller keeps the conditions up to date.
        entries.append(_Entry("cluster", "paused", UNKNOWN))
        worst = UNKNOWN
    reason = {each.key: each.value for each in entries}
    return Health(worst, reason, clock.valid_until)


def _connection(objects: view.View, clock: view.Clock) -> str:
    """Return whether the management cluster reaches the Kubernetes API."""
    by_type = conditions.preferred(objects.cluster)
    initialized = by_type.get("ControlPlaneInitialized")
    probe = by_type.get("RemoteConnectionProbe")
    if probe is not None and probe.well:
        return "ok"
    if initialized is not None and initialized.bad:
        return _UNREACHABLE if _is_overdue(objects, clock) else "starting"
    if probe is not None:
        return _UNREACHABLE if probe.bad else "unknown"
    if initialized is None or not initialized.well:
        return "unknown"
    # Cluster API up to 1.8 has no probe; this shows that it sees no nodes.
    components = conditions.v1beta1(objects.control_plane).get(
        "ControlPlaneComponentsHealthy"
    )
    blind = components is not None and components.status == "Unknown"
    return "unknown" if blind else "ok"


def unreachable_reason(objects: view.View, clock: view.Clock) -> str:
    """Return a sentence if the API can't be reached, or an empty string.

    Without it Cluster API sees no nodes, and no addon can be installed. It is
    the most frequent reason of a create that never ends, and Cluster API only
    says that it waits.
    """
    address = api_address(objects.cluster)
    if address is None or _connection(objects, clock) != _UNREACHABLE:
        return ""
    return (
        f"the management cluster can't reach the Kubernetes API at {address}: "
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


def _is_overdue(objects: view.View, clock: view.Clock) -> bool:
    """Return whether an API that never answered should do so by now."""
    ready = conditions.infrastructure_since(objects.cluster)
    machines = objects.control_plane_machines()
    servers = list(
        filter(None, map(conditions.infrastructure_since, machines))
    )
    if not (ready and servers and api_address(objects.cluster)):
        return False
    return clock.has_passed(max(ready + PATIENCE, min(servers) + _BOOT))


def _api(objects: view.View, clock: view.Clock) -> _Entry:
    state = _connection(objects, clock)
    value = state
    if state == _UNREACHABLE:
        value += f": {api_address(objects.cluster) or 'no address yet'}"
    return _Entry("api", value, _API[state])


def _nodes(objects: view.View, clock: view.Clock) -> list[_Entry]:
    """Return an entry for each node; of very many, well ones are counted."""
    entries = [
        _node(machine, clock)
        for machine in sorted(objects.machines, key=view.name_of)
        if not view.deleting(machine)
    ]
    if len(entries) <= MOST_NODES:
        return entries
    entries.sort(key=lambda each: -_ORDER.index(each.health))
    rest = entries[MOST_NODES:]
    well = sum(1 for each in rest if each.health == HEALTHY)
    more = _Entry("more nodes", f"{well} of {len(rest)} well", rest[0].health)
    return [*entries[:MOST_NODES], more]


def _node(machine: view.Object, clock: view.Clock) -> _Entry:
    condition = machine_status.node_condition(machine)
    value = condition.status if condition else "Unknown"
    if machine_status.is_starting(machine, clock):
        value = "starting"
    state = _NODE[value]
    if machine_status.is_silent(machine):
        state = UNHEALTHY
    name = machine_status.node_name(machine)
    return _Entry(f"{name}.Ready", value, state)


def _groups(objects: view.View, clock: view.Clock) -> Iterator[_Entry]:
    """Yield an entry for each group that is not available."""
    plane = objects.control_plane
    if conditions.available(plane) is None:
        yield _Entry("controlplane", "unknown", UNKNOWN)
    groups = [("controlplane", plane, objects.control_plane_machines())]
    for deployment in objects.deployments:
        name = objects.short_name(view.name_of(deployment))
        machines = objects.machines_of(name)
        groups.append((f"nodegroup.{name}", deployment, machines))
    for key, obj, machines in groups:
        condition = conditions.available(obj)
        if condition is None or condition.well or view.deleting(obj):
            continue
        message = messages.plain(condition.message) or "not available"
        if not condition.bad:
            yield _Entry(key, f"unknown: {message}", UNKNOWN)
        elif nodegroup.is_moving(obj) or any(
            view.deleting(each) or machine_status.is_starting(each, clock)
            for each in machines
        ):
            yield _Entry(key, f"changing: {message}", UNKNOWN)
        else:
            yield _Entry(key, message, UNHEALTHY)
