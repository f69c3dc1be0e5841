# SPDX-License-Identifier: Apache-2.0

"""The objects of Cluster API's provider for OpenStack (CAPO) 0.10 to 0.15.

A fault is that of the lowest object that has one: the server in Nova,
OpenStackServer, OpenStackMachine. The cluster's network has the same kind of
conditions.
"""

from __future__ import annotations

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import questions
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

_CONDITIONS = (
    # Without a login CAPO does not set any other condition.
    "OpenStackAuthenticationSucceeded",
    "InstanceReady",
    "APIServerIngressReady",
    "APIServerIngressReadyCondition",
    "FloatingAddressFromPoolReady",
    "NetworkReady",
    "RouterReady",
    "SecurityGroupsReady",
    "APIEndpointReady",
    "BastionReady",
    "Ready",
)

_NO_WORDS = {
    questions.COMPUTE: "the server went into the state ERROR",
    questions.VOLUMES: "the volume could not be made",
    questions.NEEDS: "no server yet",
}
_MUTE = (
    "no server yet, and Cluster API's OpenStack provider does not say why: "
    "its log may, ask the operator"
)


def error(obj: view.Object | None) -> tree.Reason:
    """Return CAPO's last fault of a server, or of the network.

    CAPO keeps ``failureMessage`` after the fault is mended, in some versions
    for ever: an object that was provisioned since has no fault.
    """
    status = view.status_of(obj)
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    failure = status.get("failureMessage") or old.get("failureMessage")
    if failure and not is_provisioned(obj) and not view.deleting(obj):
        return _fault(str(failure))
    return conditions.first_error(obj, _CONDITIONS, tree.Rank.CLOUD)


def _fault(text: str, since: float = 0.0) -> tree.Reason:
    sentence, code = messages.explained(text)
    return tree.Reason(sentence, tree.Rank.CLOUD, since, code)


def is_provisioned(obj: view.Object | None) -> bool:
    """Return whether CAPO has made an object, in any of its versions."""
    ready = conditions.preferred(obj).get("Ready")
    return view.was_made(obj) if ready is None else ready.well


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
    name = view.name_of(obj) or objects.release
    branch = tree.grow(
        "OpenStackCluster", name, reason, title="infrastructure"
    )
    return tree.quiet(branch) if view.was_made(obj) else branch


def network_error(objects: view.View) -> tree.Reason:
    """Return why CAPO can't make, or delete, the network of a cluster."""
    obj = objects.infrastructure
    fault = objects.fault(questions.about_network(obj))
    is_old = fault is not None and 0 < fault.since < view.deleted_at(obj)
    if fault is not None and fault.message and not is_old:
        return _fault(fault.message, fault.since)
    reason = error(obj)
    if not reason and fault is not None and fault.unread:
        return _unread("no load balancer yet", questions.BALANCERS, fault)
    return reason


def server(objects: view.View, machine: view.Object) -> tree.Branch | None:
    """Return the server; one that starts is neither ready nor not ready."""
    obj = objects.server(machine)
    if obj is None:
        return None
    status = view.status_of(obj)
    reason = _server_error(obj, objects)
    state = str(status.get("instanceState") or "")
    if reason or status.get("ready"):
        return tree.grow("OpenStackServer", view.name_of(obj), reason, state)
    return tree.Branch("OpenStackServer", view.name_of(obj), note=state)


def _server_error(obj: view.Object, objects: view.View) -> tree.Reason:
    """Return the fault of a server.

    CAPO writes no message for a server that Nova put into ERROR, and does not
    touch the OpenStackMachine (``reconcileNormal`` in
    openstackserver_controller.go of 0.11 to 0.14): only Nova knows why.
    """
    reason = conditions.first_error(obj, _CONDITIONS, tree.Rank.CLOUD)
    question = questions.about_server(obj)
    fault, needs = objects.fault(question), questions.about_needs(obj)
    asked = objects.fault(needs)
    if asked is not None and (fault is None or not fault.message):
        question, fault = needs, asked
    if (
        question is None
        or fault is None
        or 0 < fault.since < view.deleted_at(obj)
    ):
        return reason
    if fault.message:
        return _fault(fault.message, fault.since)
    if fault.unread and question.service != questions.EVENTS:
        text = reason.text or _NO_WORDS[question.service]
        unread = _unread(text, question.service, fault)
        return unread._replace(since=reason.since, code=reason.code)
    if question.service == questions.NEEDS:
        return tree.Reason(_MUTE, tree.Rank.BLOCKED)
    return reason


def _unread(text: str, service: str, fault: view.Fault) -> tree.Reason:
    text = f"{text}: {service} could not be asked: {fault.unread}"
    return tree.Reason(messages.cut(text), tree.Rank.CLOUD)
