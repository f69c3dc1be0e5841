# SPDX-License-Identifier: Apache-2.0

"""The objects of Cluster API's provider for OpenStack (CAPO) 0.10 to 0.15.

A fault is that of the lowest object that has one: the server in Nova,
OpenStackServer, OpenStackMachine. The cluster's network has the same kind of
conditions.
"""

from __future__ import annotations

from collections.abc import Iterator

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


# Resources in OpenStack, for whoever deletes them by hand


def resources(namespace: str, objects: view.View) -> tree.Branch:
    """Return the OpenStack resources that Cluster API's objects name.

    An operator deletes them by hand, in this order, if Cluster API cannot log
    in. Fields and names are those of cluster-api-provider-openstack 0.14.6
    (``pkg/cloud/services``). A network, router or security group of another
    name belongs to the user.

    :param namespace: of Cluster API's objects
    """
    resource = f"{namespace}-{objects.release}"
    children = (*_servers(objects), *_network_resources(objects, resource))
    note = "Cluster API's objects name nothing in it"
    if children:
        note = "what Cluster API's objects name, to be deleted in this order"
    return tree.Branch("OpenStack", note=note, children=children)


def _servers(objects: view.View) -> Iterator[tree.Branch]:
    """Yield servers, then their ports, then volumes of missing servers.

    Nova deletes the volumes of a server with it. It does not delete ports
    that were made before the server.
    """
    # CAPO up to 0.10 has the id of a server in the OpenStackMachine.
    owners = (*objects.infra_machines, *objects.servers)
    for name, each in {view.name_of(e): e for e in owners}.items():
        if instance := view.status_of(each).get("instanceID"):
            yield tree.Branch("server", name, note=str(instance))
    for each in objects.servers:
        resources = view.status_of(each).get("resources") or {}
        for port in resources.get("ports") or ():
            yield tree.Branch("port", str(port["id"]))
    for each in objects.servers:
        if not view.status_of(each).get("instanceID"):
            yield from _volumes(each)


def _volumes(server: view.Object) -> Iterator[tree.Branch]:
    """Yield volumes that may exist for a server that has no id, by name."""
    spec = view.spec_of(server)
    suffixes = ["root"] if spec.get("rootVolume") else []
    for each in spec.get("additionalBlockDevices") or ():
        if (each.get("storage") or {}).get("type") == "Volume":
            suffixes.append(str(each["name"]))
    for suffix in suffixes:
        yield tree.Branch("volume", f"{view.name_of(server)}-{suffix}")


def _network_resources(
    objects: view.View, resource: str
) -> Iterator[tree.Branch]:
    """Yield load balancer, floating IP, router, subnets, network, groups.

    :param resource: a part of all their names
    """
    obj = objects.infrastructure or {}
    status = view.status_of(obj)
    old, new = "apiServerLoadBalancer", "apiServerManagedLoadBalancer"
    balancer = status.get(new) or status.get(old) or {}
    network = status.get("network") or {}
    own_name = f"k8s-clusterapi-cluster-{resource}"
    own_group = f"k8s-cluster-{resource}-"
    roles = ("controlPlane", "worker", "bastion")
    groups = [status.get(f"{role}SecurityGroup") or {} for role in roles]
    if balancer.get("id"):
        yield _resource("load balancer", balancer)
    if address := _floating_ip(obj, balancer):
        yield tree.Branch("floating IP", address)
    for kind, each in (
        ("router", status.get("router") or {}),
        *(("subnet", each) for each in network.get("subnets") or ()),
        ("network", network),
        *(("security group", each) for each in groups),
    ):
        name = str(each.get("name"))
        if name == own_name or name.startswith(own_group):
            yield _resource(kind, each)


def _floating_ip(obj: view.Object, balancer: view.Object) -> str:
    """Return the API's floating IP, unless the user brought it.

    Without a load balancer the endpoint is that of a control plane machine.
    """
    api_server = view.api_server_of(obj)
    own = api_server.get("enableFloatingIP") is not False
    if not own or api_server.get("floatingIP"):
        return ""
    endpoint = view.spec_of(obj).get("controlPlaneEndpoint") or {}
    return str(balancer.get("ip") or endpoint.get("host") or "")


def _resource(kind: str, resource: view.Object) -> tree.Branch:
    name, id_ = str(resource.get("name", "")), str(resource["id"])
    return tree.Branch(kind, name, note=id_)
