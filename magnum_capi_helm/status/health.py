# SPDX-License-Identifier: Apache-2.0

"""Health as Magnum knows it: a word, and a map that says of what.

The map has the keys that users of Magnum's own monitor know: ``api``, and
``<node>.Ready`` for each node. The API's reachability is what Cluster API
sees from the management cluster, so it holds for private endpoints too.

What is new, on its way out or being replaced is no illness: an ordinary
create, resize or upgrade is never UNHEALTHY.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import enum

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import reachability
from magnum_capi_helm.status import view

HEALTHY = "HEALTHY"
UNHEALTHY = "UNHEALTHY"
UNKNOWN = "UNKNOWN"

#: Nodes that are listed one by one; the column holds 64 KiB.
MOST_NODES = 100
#: Seconds that a new machine has until its node must be ready: the chart's
#: health check replaces it after as long.
_TO_START = 1800.0
#: Seconds that the node of a new machine may be not ready in one go: the
#: network of pods comes after the node.
_TO_SETTLE = 300.0
#: Reasons that are no matter of time.
_GONE = ("NodeDeleted", "NodeNotFound")


class _Level(enum.IntEnum):
    WELL = 0
    UNKNOWN = 1
    ILL = 2


_WORDS = {
    _Level.WELL: HEALTHY,
    _Level.UNKNOWN: UNKNOWN,
    _Level.ILL: UNHEALTHY,
}
_API = {
    reachability.Api.OK: _Level.WELL,
    reachability.Api.STARTING: _Level.UNKNOWN,
    reachability.Api.UNKNOWN: _Level.UNKNOWN,
    reachability.Api.UNREACHABLE: _Level.ILL,
}
_NODE = {
    "True": _Level.WELL,
    "starting": _Level.WELL,
    "Unknown": _Level.UNKNOWN,
    "False": _Level.ILL,
}


@dataclasses.dataclass(frozen=True)
class Health:
    """Magnum's health_status and health_status_reason."""

    status: str
    reason: dict[str, str]


@dataclasses.dataclass(frozen=True)
class _Entry:
    key: str
    value: str
    level: _Level


def health(seen: view.View, now: float) -> Health:
    """The health of a cluster by what Cluster API reports.

    :param now: seconds since 1970
    """
    if seen.cluster is None:
        return Health(
            UNKNOWN,
            {
                "cluster": f"the Cluster object {seen.release} is not on the "
                "management cluster"
            },
        )
    if view.deleting(seen.cluster):
        return Health(UNKNOWN, {"cluster": "being deleted"})
    entries = [
        _api(seen, now),
        *_nodes(seen, now),
        *_groups(seen, now),
    ]
    worst = max(each.level for each in entries)
    if conditions.paused(seen.cluster):
        # Nobody keeps the conditions up to date.
        entries.append(_Entry("cluster", "paused", _Level.UNKNOWN))
        worst = _Level.UNKNOWN
    return Health(_WORDS[worst], {each.key: each.value for each in entries})


def _api(seen: view.View, now: float) -> _Entry:
    """Whether the management cluster reaches the Kubernetes API."""
    found = reachability.api(seen, now)
    value = found.value
    if found is reachability.Api.UNREACHABLE:
        address = reachability.api_address(seen.cluster)
        value = f"{value}: {address or 'no address yet'}"
    return _Entry("api", value, _API[found])


def _nodes(seen: view.View, now: float) -> list[_Entry]:
    """One for each node; of very many the well ones are only counted."""
    found = [
        _node(machine, now)
        for machine in sorted(seen.machines, key=view.name_of)
        if not view.deleting(machine)
    ]
    if len(found) <= MOST_NODES:
        return found
    found.sort(key=lambda each: -each.level)
    rest = found[MOST_NODES:]
    well = sum(1 for each in rest if each.level is _Level.WELL)
    more = _Entry("more nodes", f"{well} of {len(rest)} well", rest[0].level)
    return [*found[:MOST_NODES], more]


def _node(machine: view.Object, now: float) -> _Entry:
    condition = node_condition(machine)
    value = condition.status if condition else "Unknown"
    if _starting(machine, now):
        value = "starting"
    return _Entry(f"{node_name(machine)}.Ready", value, _NODE[value])


def node_condition(machine: view.Object) -> conditions.Condition | None:
    known = {**conditions.old(machine), **conditions.new(machine)}
    return known.get("NodeReady") or known.get("NodeHealthy")


def _starting(machine: view.Object, now: float) -> bool:
    """Whether a machine is new, and its node not ready for that reason."""
    condition = node_condition(machine)
    if condition is not None and (condition.well or condition.reason in _GONE):
        return False
    meta = machine.get("metadata") or {}
    if now - conditions.moment(meta.get("creationTimestamp")) >= _TO_START:
        return False
    if condition is None or not view.status_of(machine).get("nodeRef"):
        return True
    return now - condition.since < _TO_SETTLE


def node_name(machine: view.Object) -> str:
    ref = view.status_of(machine).get("nodeRef") or {}
    return str(ref.get("name") or view.name_of(machine))


def _groups(seen: view.View, now: float) -> Iterator[_Entry]:
    """What is wrong above the nodes, by object; nothing when all is well."""
    machines = seen.control_plane_machines()
    if conditions.available(seen.control_plane) is None:
        yield _Entry("controlplane", "unknown", _Level.UNKNOWN)
    elif seen.control_plane is not None:
        yield from _group("controlplane", seen.control_plane, machines, now)
    for deployment in seen.deployments:
        name = view.name_of(deployment).removeprefix(f"{seen.release}-")
        machines = seen.machines_of(name)
        yield from _group(f"nodegroup.{name}", deployment, machines, now)


def _group(
    key: str, obj: view.Object, machines: list[view.Object], now: float
) -> Iterator[_Entry]:
    condition = conditions.available(obj)
    if condition is None or condition.well or view.deleting(obj):
        return
    message = plain_words.plain(condition.message) or "not available"
    if not condition.bad:
        yield _Entry(key, f"unknown: {message}", _Level.UNKNOWN)
    elif nodegroup.moving(obj) or any(
        view.deleting(each) or _starting(each, now) for each in machines
    ):
        yield _Entry(key, f"changing: {message}", _Level.UNKNOWN)
    else:
        yield _Entry(key, message, _Level.ILL)
