# SPDX-License-Identifier: Apache-2.0

"""The OpenStack resources of a cluster, for whoever deletes them by hand."""

from __future__ import annotations

from collections.abc import Iterator

from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view


def branch(namespace: str, objects: view.View) -> tree.Branch:
    """Return the OpenStack resources that Cluster API's objects name.

    An operator deletes them by hand, in this order, if Cluster API cannot log
    in. Fields and names are those of cluster-api-provider-openstack 0.14.6
    (``pkg/cloud/services``). A network, router or security group of another
    name belongs to the user.

    :param namespace: of Cluster API's objects
    """
    resource = f"{namespace}-{objects.release}"
    children = (*_servers(objects), *_network(objects, resource))
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


def _network(objects: view.View, resource: str) -> Iterator[tree.Branch]:
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
