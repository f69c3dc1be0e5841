# SPDX-License-Identifier: Apache-2.0

"""A machine, its server and its node, as a branch of a cluster's tree."""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.status import branch
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import health
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view


def described(machine: view.Object, seen: view.View) -> branch.Branch:
    """A Machine, its OpenStackServer, and its node, where it has them."""
    parts = (_server(seen.server(machine), seen), _node(machine))
    return branch.grown(
        "Machine",
        view.name_of(machine),
        why=_why(machine, seen),
        note=_note(machine),
        parts=filter(None, parts),
    )


def _server(
    server: view.Object | None, seen: view.View
) -> branch.Branch | None:
    """What CAPO and Nova say of the server; one that starts has no state."""
    if server is None:
        return None
    status = view.status_of(server)
    why = reasons.of_server(server, seen.fault(server))
    found = branch.grown(
        "OpenStackServer",
        view.name_of(server),
        why=why,
        note=str(status.get("instanceState") or ""),
        parts=(),
    )
    if why or status.get("ready"):
        return found
    return dataclasses.replace(found, state=branch.State.NONE)


def _why(machine: view.Object, seen: view.View) -> str:
    """The fault if there is one, else what is waited for."""
    fault = reasons.of_deletion(machine, seen)
    if view.deleting(machine):
        return f"being deleted: {fault}" if fault else "being deleted"
    condition = _ready(machine)
    if condition is not None and condition.well:
        return fault
    return fault or _serverless(machine, condition) or _phase(machine)


def _ready(machine: view.Object) -> conditions.Condition | None:
    known = {**conditions.old(machine), **conditions.new(machine)}
    return known.get("Ready")


def _waiting(condition: conditions.Condition | None) -> str:
    """What a condition says that is not well, if it says anything."""
    if condition is None:
        return ""
    return plain_words.plain(condition.message) or condition.reason


def _serverless(
    machine: view.Object, condition: conditions.Condition | None
) -> str:
    """What is waited for; without a server, that alone.

    Cluster API lists all that can't be known before there is a server, too.
    """
    waiting = _waiting(condition)
    if view.spec_of(machine).get("providerID") or not waiting:
        return waiting
    return f"no server yet: {waiting.partition('; ')[0]}"


def _phase(machine: view.Object) -> str:
    phase = view.status_of(machine).get("phase")
    return str(phase or "Cluster API has not said anything of it yet")


def _note(machine: view.Object) -> str:
    """Where it is: address, server and Kubernetes' version."""
    server = str(view.spec_of(machine).get("providerID") or "")
    found = [
        *nodegroup.addresses([machine]),
        f"server {server.rpartition('/')[2]}" if server else "",
        nodegroup.version([machine]) or "",
    ]
    return ", ".join(filter(None, found))


def _node(machine: view.Object) -> branch.Branch | None:
    if not view.status_of(machine).get("nodeRef"):
        return None
    name = health.node_name(machine)
    condition = health.node_condition(machine)
    if condition is None or not (condition.well or condition.bad):
        why = _waiting(condition) or "Cluster API does not see it"
        return branch.Branch("Node", name, branch.State.UNKNOWN, reason=why)
    why = "" if condition.well else _waiting(condition) or "not ready"
    return branch.grown("Node", name, why=why, parts=())
