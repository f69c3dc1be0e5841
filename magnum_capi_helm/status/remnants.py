# SPDX-License-Identifier: Apache-2.0

"""OpenStack resources that Cluster API's objects name.

For an operator who deletes them by hand, since Cluster API cannot log in. In
the order in which they can be deleted. Fields, and the names of what Cluster
API makes, are those of cluster-api-provider-openstack 0.14.6
(``pkg/cloud/services``). A network, router or security group of another name
belongs to the user.
"""

from __future__ import annotations

from collections.abc import Iterator

from magnum_capi_helm.status import branch
from magnum_capi_helm.status import view

_ALL = "what Cluster API's objects name, to be deleted in this order"
_NOTHING = "Cluster API's objects name nothing in it"


def described(namespace: str, seen: view.View) -> branch.Branch:
    """Return the resources as a branch of the cluster's tree.

    :param namespace: of Cluster API's objects
    :param seen: the cluster's objects
    """
    resource = f"{namespace}-{seen.release}"
    children = (*_servers(seen), *_network(seen, resource))
    return branch.Branch(
        "OpenStack", note=_ALL if children else _NOTHING, children=children
    )


def _servers(seen: view.View) -> Iterator[branch.Branch]:
    """Servers, then their ports, then volumes of servers that have no id.

    Nova deletes the volumes of a server with it. It does not delete ports
    that were made before the server.
    """
    known = {view.name_of(each) for each in seen.servers}
    older = [e for e in seen.infra_machines if view.name_of(e) not in known]
    for each in (*seen.servers, *older):
        id_ = view.status_of(each).get("instanceID")
        if id_:
            yield branch.Branch("server", view.name_of(each), note=str(id_))
    for each in seen.servers:
        resources = view.status_of(each).get("resources") or {}
        for port in resources.get("ports") or ():
            yield branch.Branch("port", str(port["id"]))
    for each in seen.servers:
        if not view.status_of(each).get("instanceID"):
            yield from _volumes(each)


def _volumes(server: view.Object) -> Iterator[branch.Branch]:
    """Volumes that may have been made for a server that has no id.

    Only their names are known.
    """
    spec = view.spec_of(server)
    root = ["root"] if spec.get("rootVolume") else []
    devices = [
        str(each["name"])
        for each in spec.get("additionalBlockDevices") or ()
        if (each.get("storage") or {}).get("type") == "Volume"
    ]
    for suffix in (*root, *devices):
        yield branch.Branch("volume", f"{view.name_of(server)}-{suffix}")


def _network(seen: view.View, resource: str) -> Iterator[branch.Branch]:
    """Load balancer, floating IP, router, subnets, network, security groups.

    :param resource: what the names of all of them contain
    """
    found = seen.infrastructure or {}
    status, spec = view.status_of(found), view.spec_of(found)
    balancer = status.get("apiServerLoadBalancer") or {}
    address = _address(spec, balancer)
    network = status.get("network") or {}
    made = f"k8s-clusterapi-cluster-{resource}"
    if balancer.get("id"):
        yield _named("load balancer", balancer)
    if address:
        yield branch.Branch("floating IP", address)
    router = status.get("router") or {}
    if router.get("name") == made:
        yield _named("router", router)
    for each in network.get("subnets") or ():
        if each.get("name") == made:
            yield _named("subnet", each)
    if network.get("name") == made:
        yield _named("network", network)
    for key in (
        "controlPlaneSecurityGroup",
        "workerSecurityGroup",
        "bastionSecurityGroup",
    ):
        group = status.get(key) or {}
        if group.get("name", "").startswith(f"k8s-cluster-{resource}-"):
            yield _named("security group", group)


def _address(spec: view.Object, balancer: view.Object) -> str:
    """Return the API's floating IP, unless the user brought it.

    Without a load balancer the endpoint is that of a control plane machine.
    """
    if spec.get("apiServerFloatingIP") or spec.get(
        "disableAPIServerFloatingIP"
    ):
        return ""
    endpoint = spec.get("controlPlaneEndpoint") or {}
    return str(balancer.get("ip") or endpoint.get("host") or "")


def _named(kind: str, resource: view.Object) -> branch.Branch:
    return branch.Branch(
        kind, str(resource.get("name", "")), note=str(resource["id"])
    )
