# SPDX-License-Identifier: Apache-2.0

"""A cluster as a tree of its parts, for ``describe``.

The tree shows which part is ready, which is not, and why. The reasons are
those of the verdict and of the health.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import dataclasses
import enum
from typing import Any

from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import health
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import view


class State(enum.Enum):
    """The state of a part as a word; the worst comes last."""

    #: Neither ready nor not ready, such as a Lease.
    NONE = ""
    READY = "ready"
    UNKNOWN = "unknown"
    NOT_READY = "not ready"


_ORDER = list(State)


@dataclasses.dataclass(frozen=True)
class Branch:
    """A part of a cluster, and its parts.

    :param kind: a kind of Kubernetes, or a word
    :param state: its own, without its parts
    :param note: more about it, such as an address
    :param reason: why it is not ready
    """

    kind: str
    name: str = ""
    state: State = State.NONE
    note: str = ""
    reason: str = ""
    children: tuple[Branch, ...] = ()

    @property
    def well(self) -> bool:
        """Return whether it and each of its parts is ready."""
        own = self.state in (State.NONE, State.READY)
        return own and all(each.well for each in self.children)

    def as_dict(self) -> dict[str, Any]:
        """Return the tree for programs, with empty fields."""
        return {
            **dataclasses.asdict(self),
            "state": self.state.value,
            "children": [each.as_dict() for each in self.children],
        }


def grow(
    kind: str,
    name: str,
    reason: str,
    note: str = "",
    parts: Iterable[Branch] = (),
) -> Branch:
    """Return a branch that is ready unless there is a reason.

    The lowest part that is not ready shows a reason; parts above it do not.
    """
    children = tuple(parts)
    state = State.NOT_READY if reason else State.READY
    if worst_state(children) is State.NOT_READY:
        reason = ""
    return Branch(kind, name, state, note, reason, children)


def collapse_healthy(branch: Branch) -> Branch:
    """Return the tree without the parts of healthy branches."""
    children = tuple(
        dataclasses.replace(each, children=())
        if each.well
        else collapse_healthy(each)
        for each in branch.children
    )
    return dataclasses.replace(branch, children=children)


def worst_state(branches: Iterable[Branch]) -> State:
    """Return the worst of the branches' own states."""
    states = [each.state for each in branches]
    return max(states, key=_ORDER.index, default=State.NONE)


def release(objects: view.View, chart: str) -> Branch:
    """Return the branch of the helm release.

    :param chart: version of the chart; empty: unknown
    """
    revision = objects.newest
    notes = (
        f"revision {revision.version} {revision.status}" if revision else "",
        f"chart {chart}" if chart else "",
    )
    return grow(
        "helm release",
        objects.release,
        cluster_status.release_reason(objects),
        ", ".join(filter(None, notes)),
    )


def credential(name: str, error: str | None) -> Branch:
    """Return the branch of the application credential.

    :param error: why it does not work; empty: it does; None: unknown
    """
    if error is None:
        reason = "Keystone, or the management cluster, does not say"
        return Branch("credential", name, State.UNKNOWN, reason=reason)
    return grow("credential", name, error)


def autoscaler(name: str, stopped: str | None) -> Branch:
    """Return the branch of the autoscaler.

    :param stopped: why it does not run; empty: it does; None: unknown
    """
    if stopped is None:
        reason = "the management cluster does not say"
        return Branch("autoscaler", name, State.UNKNOWN, reason=reason)
    return grow("autoscaler", name, stopped)


def cluster(
    objects: view.View, expected: cluster_status.Expected, clock: view.Clock
) -> Branch:
    """Return the branch of the Cluster and of all that belongs to it.

    :param objects: with those above and below Cluster API
    """
    stopped = cluster_status.stopped_reason(objects)
    branch = grow(
        "Cluster",
        objects.release,
        stopped or cluster_status.unavailable_reason(objects),
        health.api_address(objects.cluster) or "",
        (
            *_infrastructure(objects),
            *_groups(objects, expected),
            *_addons(objects, expected, clock),
        ),
    )
    # No machine knows that its API can't be reached, or of a pause.
    reason = stopped or health.unreachable_reason(objects, clock)
    return dataclasses.replace(branch, reason=reason or branch.reason)


def _infrastructure(objects: view.View) -> Iterator[Branch]:
    obj = objects.infrastructure
    if obj is None and objects.cluster is None:
        return
    reason = machine_status.network_error(
        objects
    ) or machine_status.infrastructure_error(obj)
    if not reason and not machine_status.is_provisioned(obj):
        reason = "not provisioned yet" if obj else "not created yet"
    name = view.name_of(obj) or objects.release
    yield grow("OpenStackCluster", name, reason)


def _groups(
    objects: view.View, expected: cluster_status.Expected
) -> Iterator[Branch]:
    """Yield the groups of Magnum's rows, then others that have objects."""
    rows = expected.rows
    master, plane = rows.master, objects.control_plane
    count = master.count if master else None
    yield grow(
        "KubeadmControlPlane",
        names.control_plane(objects.release),
        nodegroup.waiting_reason(plane, count, expected.required),
        _group_note(plane, master),
        _machines(objects, objects.control_plane_machines()),
    )
    groups = {each.chart_name: each for each in (*rows.leaving, *rows.workers)}
    counts = {each.chart_name: each.count for each in rows.workers}
    autoscaled = objects.autoscaled()
    for name in (*counts, *sorted(objects.group_names() - counts.keys())):
        obj = objects.deployment(name)
        count = None if name in autoscaled else counts.get(name)
        yield grow(
            "MachineDeployment",
            names.machine_deployment(objects.release, name),
            nodegroup.waiting_reason(obj, count),
            _group_note(obj, groups.get(name)),
            _machines(objects, objects.machines_of(name)),
        )


def _group_note(
    obj: view.Object | None, group: requested_groups.Group | None
) -> str:
    """Return Magnum's name of a group, and its count of machines."""
    note = f"nodegroup {group.name}" if group else "no nodegroup of Magnum's"
    if obj is None:
        return note
    numbers = nodegroup.replicas(obj)
    note = f"{note}, {numbers.ready} of {numbers.wanted} ready"
    if view.AUTOSCALER_ANNOTATION not in view.annotations_of(obj):
        return note
    minimum, maximum = view.autoscaler_bounds(obj)
    return f"{note}, autoscaled from {minimum} to {maximum}"


def _addons(
    objects: view.View, expected: cluster_status.Expected, clock: view.Clock
) -> Iterator[Branch]:
    """Yield a branch with all addons, unless there are none."""
    addons = [
        grow(
            each["kind"],
            view.name_of(each),
            cluster_status.addon_reason(each, objects.newest, clock),
        )
        for each in objects.addons
    ]
    missing = expected.addons - set(map(view.name_of, objects.addons))
    addons += [grow("addon", each, "not created yet") for each in missing]
    deployed = sum(each.state is State.READY for each in addons)
    if addons:
        yield Branch(
            "addons",
            state=worst_state(addons),
            note=f"{deployed} of {len(addons)} deployed",
            children=tuple(sorted(addons, key=lambda each: each.name)),
        )


def _machines(
    objects: view.View, machines: Sequence[view.Object]
) -> Iterator[Branch]:
    """Yield the machines; the oldest come first."""
    for machine in sorted(
        machines, key=lambda each: (view.created_at(each), view.name_of(each))
    ):
        parts = (_server(objects, machine), _node(machine))
        yield grow(
            "Machine",
            view.name_of(machine),
            _machine_reason(objects, machine),
            _machine_note(machine),
            filter(None, parts),
        )


def _machine_reason(objects: view.View, machine: view.Object) -> str:
    """Return a machine's error, else what Cluster API waits for."""
    error = machine_status.deletion_reason(machine, objects)
    if view.deleting(machine):
        return f"being deleted: {error}" if error else "being deleted"
    condition = conditions.merged(machine).get("Ready")
    if error or (condition is not None and condition.well):
        return error
    message = _message(condition)
    if message and not view.spec_of(machine).get("providerID"):
        # Cluster API also lists what depends on a server.
        return f"no server yet: {message.partition('; ')[0]}"
    phase = str(view.status_of(machine).get("phase") or "")
    return message or phase or "Cluster API has not reported anything yet"


def _machine_note(machine: view.Object) -> str:
    """Return a machine's address, server and Kubernetes version."""
    server = str(view.spec_of(machine).get("providerID") or "")
    notes = [
        *machine_status.addresses([machine]),
        f"server {server.rpartition('/')[2]}" if server else "",
        machine_status.version([machine]) or "",
    ]
    return ", ".join(filter(None, notes))


def _message(condition: conditions.Condition | None) -> str:
    if condition is None:
        return ""
    return messages.plain(condition.message) or condition.reason


def _server(objects: view.View, machine: view.Object) -> Branch | None:
    """Return the server; one that starts is neither ready nor not ready."""
    server = objects.server(machine)
    if server is None:
        return None
    status = view.status_of(server)
    error = machine_status.server_error(server, objects)
    state = str(status.get("instanceState") or "")
    if error or status.get("ready"):
        return grow("OpenStackServer", view.name_of(server), error, state)
    return Branch("OpenStackServer", view.name_of(server), note=state)


def _node(machine: view.Object) -> Branch | None:
    if not view.status_of(machine).get("nodeRef"):
        return None
    name = machine_status.node_name(machine)
    condition = machine_status.node_condition(machine)
    if condition is None or not (condition.well or condition.bad):
        reason = _message(condition) or "Cluster API does not see it"
        return Branch("Node", name, State.UNKNOWN, reason=reason)
    reason = "" if condition.well else _message(condition) or "not ready"
    return grow("Node", name, reason)


def openstack_resources(namespace: str, objects: view.View) -> Branch:
    """Return the OpenStack resources that Cluster API's objects name.

    An operator deletes them by hand, in this order, if Cluster API cannot log
    in. Fields and names are those of cluster-api-provider-openstack 0.14.6
    (``pkg/cloud/services``). A network, router or security group of another
    name belongs to the user.

    :param namespace: of Cluster API's objects
    """
    resource = f"{namespace}-{objects.release}"
    children = (*_server_resources(objects), *_network(objects, resource))
    note = "Cluster API's objects name nothing in it"
    if children:
        note = "what Cluster API's objects name, to be deleted in this order"
    return Branch("OpenStack", note=note, children=children)


def _server_resources(objects: view.View) -> Iterator[Branch]:
    """Yield servers, then their ports, then volumes of missing servers.

    Nova deletes the volumes of a server with it. It does not delete ports
    that were made before the server.
    """
    # CAPO up to 0.10 has the id of a server in the OpenStackMachine.
    owners = (*objects.infra_machines, *objects.servers)
    for name, each in {view.name_of(e): e for e in owners}.items():
        if instance := view.status_of(each).get("instanceID"):
            yield Branch("server", name, note=str(instance))
    for each in objects.servers:
        resources = view.status_of(each).get("resources") or {}
        for port in resources.get("ports") or ():
            yield Branch("port", str(port["id"]))
    for each in objects.servers:
        if not view.status_of(each).get("instanceID"):
            yield from _volumes(each)


def _volumes(server: view.Object) -> Iterator[Branch]:
    """Yield volumes that may exist for a server that has no id, by name."""
    spec = view.spec_of(server)
    suffixes = ["root"] if spec.get("rootVolume") else []
    suffixes += [
        str(each["name"])
        for each in spec.get("additionalBlockDevices") or ()
        if (each.get("storage") or {}).get("type") == "Volume"
    ]
    for suffix in suffixes:
        yield Branch("volume", f"{view.name_of(server)}-{suffix}")


def _network(objects: view.View, resource: str) -> Iterator[Branch]:
    """Yield load balancer, floating IP, router, subnets, network, groups.

    :param resource: a part of all their names
    """
    obj = objects.infrastructure or {}
    status = view.status_of(obj)
    balancer = view.api_load_balancer_of(obj)
    network = status.get("network") or {}
    own_name = f"k8s-clusterapi-cluster-{resource}"
    if balancer.get("id"):
        yield _resource("load balancer", balancer)
    if address := _floating_ip(obj, balancer):
        yield Branch("floating IP", address)
    for kind, each in (
        ("router", status.get("router") or {}),
        *(("subnet", each) for each in network.get("subnets") or ()),
        ("network", network),
    ):
        if each.get("name") == own_name:
            yield _resource(kind, each)
    for role in ("controlPlane", "worker", "bastion"):
        group = status.get(f"{role}SecurityGroup") or {}
        if group.get("name", "").startswith(f"k8s-cluster-{resource}-"):
            yield _resource("security group", group)


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


def _resource(kind: str, resource: view.Object) -> Branch:
    name, id_ = str(resource.get("name", "")), str(resource["id"])
    return Branch(kind, name, note=id_)
