# SPDX-License-Identifier: Apache-2.0

"""The node of a machine, by the conditions of the Machine."""

from __future__ import annotations

import re

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Seconds until a node of a new machine has to be ready.
_TO_START = 1800.0
#: Seconds that a node may be not ready once it has joined.
_TO_SETTLE = 300.0
_GONE = ("NodeDeleted", "NodeNotFound")
#: Reasons of both sets where the node itself says Unknown, not Cluster API.
_NODE_UNKNOWN = ("NodeReadyUnknown", "NodeConditionsFailed")
#: A node that has just registered.
_NOT_YET = "not yet reported"
_LINE = re.compile(r"Node\.(?!Ready\b)(\w+): (.*)")


def condition_of(machine: view.Object) -> conditions.Condition:
    """Return the condition of a Machine for the state of its node."""
    by_type = conditions.merged(machine)
    return by_type["NodeReady"] or by_type["NodeHealthy"]


def name_of(machine: view.Object) -> str:
    """Return the name of a Machine's node, or of the Machine."""
    ref = view.status_of(machine).get("nodeRef") or {}
    return str(ref.get("name") or view.name_of(machine))


def _has_node(machine: view.Object) -> bool:
    return bool(view.status_of(machine).get("nodeRef"))


def is_silent(machine: view.Object) -> bool:
    """Return whether the kubelet stopped posting the status of its node.

    Kubernetes sets Ready to Unknown then, and Cluster API repeats it
    (``machine_controller_status.go`` of 1.13). If Cluster API can't reach the
    cluster, its own conditions are Unknown too, for another reason.
    """
    condition = condition_of(machine)
    return (
        condition.status == "Unknown"
        and condition.reason in _NODE_UNKNOWN
        and _NOT_YET not in condition.message
    )


def is_starting(machine: view.Object, clock: view.Clock) -> bool:
    """Return whether a node is not ready because its machine is new."""
    condition = condition_of(machine)
    if condition.well or condition.reason in _GONE or is_silent(machine):
        return False
    if clock.has_passed(view.created_at(machine) + _TO_START):
        return False
    if not condition or not _has_node(machine):
        return True
    return not clock.has_passed(condition.since + _TO_SETTLE)


def branch(machine: view.Object, clock: view.Clock) -> tree.Branch | None:
    """Return the branch of a node, or None before the machine has one.

    ``NodeHealthy`` also has the pressures of a node that is Ready.
    """
    name = name_of(machine)
    if view.deleting(machine):
        return tree.Branch("Node", name) if _has_node(machine) else None
    healthy = conditions.merged(machine)["NodeHealthy"]
    error = conditions.error(healthy, tree.Rank.NODE)
    if error and not is_starting(machine, clock):
        return tree.grow("Node", name, error)
    condition = condition_of(machine)
    if not _has_node(machine):
        return None
    if condition.well and not error:
        return tree.grow("Node", name, tree.NONE)
    words = error.text or conditions.words(condition)
    text = words or "not seen by Cluster API"
    state = tree.State.NOT_READY if condition.bad else tree.State.UNKNOWN
    rank = tree.Rank.NODE if is_silent(machine) else tree.Rank.NOTE
    return tree.Branch("Node", name, state, reason=tree.Reason(text, rank))


def entries(machine: view.Object, clock: view.Clock) -> tuple[tree.Entry, ...]:
    """Return what the health map says about a node.

    The lines of ``NodeHealthy`` are ``* Node.TYPE: message``
    (``machine_controller_status.go`` of 1.13).
    """
    if view.deleting(machine):
        return ()
    condition = condition_of(machine)
    value, health = condition.status or "Unknown", tree.UNKNOWN
    if condition.bad or is_silent(machine):
        health = tree.UNHEALTHY
    starting = is_starting(machine, clock)
    if starting or condition.well:
        value, health = "starting" if starting else value, tree.HEALTHY
    name = name_of(machine)
    parts = [tree.Entry(f"{name}.Ready", value, health)]
    healthy = conditions.merged(machine)["NodeHealthy"]
    if healthy.bad and not starting:
        parts += [
            tree.Entry(f"{name}.{kind}", messages.plain(text), tree.UNHEALTHY)
            for kind, text in _LINE.findall(healthy.message)
        ]
    return tuple(parts)
