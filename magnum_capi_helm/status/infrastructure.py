# SPDX-License-Identifier: Apache-2.0

"""The objects of Cluster API's provider for OpenStack (CAPO) 0.10 to 0.15.

A fault is that of the lowest object that has one: the server in Nova,
OpenStackServer, OpenStackMachine. The cluster's network has the same kind of
conditions.
"""

from __future__ import annotations

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: The janitor adds it to every OpenStackCluster that it cares for.
_JANITOR = "janitor.capi.stackhpc.com"


def error(obj: view.Object | None) -> tree.Reason:
    """Return CAPO's last fault of a server, or of the network.

    CAPO keeps ``failureMessage`` after the fault is mended, in some versions
    for ever: an object that was provisioned since has no fault.
    """
    failure = conditions.counters(obj).get("failureMessage")
    if failure and not is_provisioned(obj) and not view.deleting(obj):
        return _fault(str(failure))
    return conditions.first_error(obj, "infrastructure")


def _fault(text: str, since: float = 0.0) -> tree.Reason:
    sentence, code = messages.explained(text)
    return tree.Reason(sentence, tree.Rank.CLOUD, since, code)


def is_provisioned(obj: view.Object | None) -> bool:
    """Return whether CAPO has made an object, in any of its versions."""
    ready = conditions.merged(obj)["Ready"]
    return ready.well if ready else view.was_made(obj)


def network(objects: view.View) -> tree.Branch:
    """Return the branch of the OpenStackCluster.

    CAPO makes no machines until it has set ``status.ready``, and never takes
    it back (``reconcileNormal`` in openstackcluster_controller.go of 0.14.6).
    A later error, which its conditions keep until its next success, stops no
    machine: Cluster API repeats it in its own condition of the Cluster.
    """
    obj = objects.infrastructure
    reason = network_error(objects)
    if not reason and not is_provisioned(obj):
        text = "not provisioned yet" if obj else "not created yet"
        reason = tree.Reason(text)
    kind, name = "OpenStackCluster", view.name_of(obj) or objects.release
    branch = tree.grow(kind, name, reason, title="infrastructure")
    return tree.quiet(branch) if view.was_made(obj) else branch


def network_error(objects: view.View) -> tree.Reason:
    """Return why CAPO can't make, or delete, the network of a cluster."""
    obj = objects.infrastructure
    reason, fault = error(obj), objects.fault(obj)
    if reason and not fault.message:
        return reason
    known = tree.Reason("no load balancer yet", tree.Rank.CLOUD)
    return _answer(fault, known) or reason


def server(objects: view.View, machine: view.Object) -> tree.Branch | None:
    """Return the server; one that starts is neither ready nor not ready."""
    obj = objects.server(machine)
    if obj is None:
        return None
    status, reason = view.status_of(obj), _server_error(obj, objects)
    kind = str(obj.get("kind") or "OpenStackServer")
    state = str(status.get("instanceState") or "")
    if reason or status.get("ready"):
        return tree.grow(kind, view.name_of(obj), reason, state)
    return tree.Branch(kind, view.name_of(obj), note=state)


def _server_error(obj: view.Object, objects: view.View) -> tree.Reason:
    """Return the fault of a server.

    CAPO writes no message for a server that Nova put into ERROR, and does not
    touch the OpenStackMachine (``reconcileNormal`` in
    openstackserver_controller.go of 0.11 to 0.14): only Nova knows why.
    """
    reason = conditions.first_error(obj, "infrastructure")
    known = tree.Reason("no server yet", tree.Rank.BLOCKED)
    if view.status_of(obj).get("instanceState"):
        text = "the server went into the state ERROR"
        known = tree.Reason(text, tree.Rank.CLOUD)
    return _answer(objects.fault(obj), reason or known) or reason


def _answer(fault: view.Fault, reason: tree.Reason) -> tree.Reason:
    """Return the fault that a service told, or why it told nothing.

    :param reason: the fault as CAPO knows it
    """
    if not fault.unread:
        return _fault(fault.message, fault.since)
    text = messages.cut(f"{reason.text}: {fault.unread}")
    return reason._replace(text=text)


def has_janitor(provider: view.Object | None) -> bool:
    """Return whether the janitor takes care of an OpenStackCluster."""
    return _JANITOR in (view.metadata_of(provider).get("finalizers") or [])
