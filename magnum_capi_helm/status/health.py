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
import enum
import math

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import view

HEALTHY = "HEALTHY"
UNHEALTHY = "UNHEALTHY"
UNKNOWN = "UNKNOWN"
#: From the best to the worst.
_ORDER = (HEALTHY, UNKNOWN, UNHEALTHY)

MOST_NODES = 100
_TO_START = 1800.0
_TO_SETTLE = 300.0
_GONE = ("NodeDeleted", "NodeNotFound")

#: Seconds from the infrastructure being ready until an API that never
#: answered is called unreachable. kubeadm takes two minutes on a slow server.
PATIENCE = 240.0
#: Seconds that the server of the control plane must have run by then.
_BOOT = 60.0


class Api(enum.Enum):
    """The connection of Cluster API to a cluster's Kubernetes API."""

    OK = "ok"
    STARTING = "starting"
    UNKNOWN = "unknown"
    UNREACHABLE = "not reachable from the management cluster"


_API = {
    Api.OK: HEALTHY,
    Api.STARTING: UNKNOWN,
    Api.UNKNOWN: UNKNOWN,
    Api.UNREACHABLE: UNHEALTHY,
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


@dataclasses.dataclass(frozen=True)
class _Entry:
    key: str
    value: str
    health: str


def health(objects: view.View, now: float) -> Health:
    """Return the health of a cluster by Cluster API's reports.

    :param now: seconds since 1970
    """
    if objects.cluster is None:
        return Health(
            UNKNOWN,
            {
                "cluster": f"the Cluster object {objects.release} is not on "
                "the management cluster"
            },
        )
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


def api(objects: view.View, clock: view.Clock) -> Api:
    """Return whether the management cluster reaches the Kubernetes API."""
    by_type = conditions.preferred(objects.cluster)
    initialized = by_type.get("ControlPlaneInitialized")
    probe = by_type.get("RemoteConnectionProbe")
    if probe is not None and probe.well:
        return Api.OK
    if initialized is not None and initialized.bad:
        overdue = _is_overdue(objects, clock)
        return Api.UNREACHABLE if overdue else Api.STARTING
    if probe is not None:
        return Api.UNREACHABLE if probe.bad else Api.UNKNOWN
    if initialized is None or not initialized.well:
        return Api.UNKNOWN
    # Cluster API up to 1.8 has no probe; this shows that it sees no nodes.
    components = conditions.v1beta1(objects.control_plane).get(
        "ControlPlaneComponentsHealthy"
    )
    blind = components is not None and components.status == "Unknown"
    return Api.UNKNOWN if blind else Api.OK


def unreachable_reason(objects: view.View, clock: view.Clock) -> str:
    """Return a sentence if the API can't be reached, or an empty string.

    Without it Cluster API sees no nodes, and no addon can be installed. It is
    the most frequent reason of a create that never ends, and Cluster API only
    says that it waits.
    """
    address = api_address(objects.cluster)
    if address is None or api(objects, clock) is not Api.UNREACHABLE:
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
    return (
        f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    )


def _is_overdue(objects: view.View, clock: view.Clock) -> bool:
    """Return whether an API that never answered should do so by now."""
    if api_address(objects.cluster) is None:
        return False
    ready = _ready_since(objects.cluster)
    servers = list(
        filter(None, map(_ready_since, objects.control_plane_machines()))
    )
    if not ready or not servers:
        return False
    return clock.has_passed(max(ready + PATIENCE, min(servers) + _BOOT))


def _ready_since(obj: view.Object | None) -> float:
    """Return when the infrastructure became ready; 0: it is not."""
    condition = conditions.preferred(obj).get("InfrastructureReady")
    return condition.since if condition and condition.well else 0.0


def _api(objects: view.View, clock: view.Clock) -> _Entry:
    state = api(objects, clock)
    value = state.value
    if state is Api.UNREACHABLE:
        address = api_address(objects.cluster) or "no address yet"
        value = f"{value}: {address}"
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
    condition = node_condition(machine)
    value = condition.status if condition else "Unknown"
    if _is_starting(machine, clock):
        value = "starting"
    return _Entry(f"{node_name(machine)}.Ready", value, _NODE[value])


def node_condition(machine: view.Object) -> conditions.Condition | None:
    """Return the condition of a Machine that tells about its node."""
    by_type = conditions.merged(machine)
    return by_type.get("NodeReady") or by_type.get("NodeHealthy")


def node_name(machine: view.Object) -> str:
    """Return the name of a Machine's node, or of the Machine."""
    ref = view.status_of(machine).get("nodeRef") or {}
    return str(ref.get("name") or view.name_of(machine))


def _is_starting(machine: view.Object, clock: view.Clock) -> bool:
    """Return whether a node is not ready because its machine is new."""
    condition = node_condition(machine)
    if condition is not None and (condition.well or condition.reason in _GONE):
        return False
    if clock.has_passed(view.created_at(machine) + _TO_START):
        return False
    if condition is None or not view.status_of(machine).get("nodeRef"):
        return True
    return not clock.has_passed(condition.since + _TO_SETTLE)


def _groups(objects: view.View, clock: view.Clock) -> Iterator[_Entry]:
    """Yield an entry for each group that is not available."""
    if conditions.available(objects.control_plane) is None:
        yield _Entry("controlplane", "unknown", UNKNOWN)
    elif objects.control_plane is not None:
        machines = objects.control_plane_machines()
        yield from _group(
            "controlplane", objects.control_plane, machines, clock
        )
    for deployment in objects.deployments:
        name = objects.short_name(view.name_of(deployment))
        machines = objects.machines_of(name)
        yield from _group(f"nodegroup.{name}", deployment, machines, clock)


def _group(
    key: str,
    obj: view.Object,
    machines: list[view.Object],
    clock: view.Clock,
) -> Iterator[_Entry]:
    condition = conditions.available(obj)
    if condition is None or condition.well or view.deleting(obj):
        return
    message = messages.plain(condition.message) or "not available"
    if not condition.bad:
        yield _Entry(key, f"unknown: {message}", UNKNOWN)
    elif nodegroup.is_moving(obj) or any(
        view.deleting(each) or _is_starting(each, clock) for each in machines
    ):
        yield _Entry(key, f"changing: {message}", UNKNOWN)
    else:
        yield _Entry(key, message, UNHEALTHY)
