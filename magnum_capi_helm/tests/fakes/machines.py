# SPDX-License-Identifier: Apache-2.0

"""Machines of a release, and their servers, as Cluster API makes them."""

from __future__ import annotations

import itertools

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import conditions


class Machines:
    """Machines and OpenStackMachines of one release."""

    def __init__(
        self, server: api_server.ApiServer, namespace: str, release: str
    ) -> None:
        self._server = server
        self._namespace = namespace
        self._release = release

    def of(self, owner: str = "") -> list[api_server.Object]:
        """The Machines of a group; of all groups, where none is given."""
        selector = f"{view.CLUSTER_NAME_LABEL}={self._release}"
        found = self._server.list(kinds.MACHINE, self._namespace, selector)
        return [
            each
            for each in found
            if _owned_by(owner, each["metadata"]["name"])
        ]

    def settle(self, group: api_server.Object, count: int) -> None:
        """A group has that many, and all of them are at work."""
        owner = group["metadata"]["name"]
        # Those that are marked go first, as in Cluster API.
        machines = [
            each["metadata"]["name"]
            for each in sorted(self.of(owner), key=_marked)
        ]
        for name in machines[count:]:
            self.remove(name)
        numbers = (f"{owner}-m{number}" for number in itertools.count())
        free = (name for name in numbers if name not in machines)
        for name in itertools.islice(free, max(count - len(machines), 0)):
            self.add(group, name)
        for machine in self.of(owner):
            self.start(machine)

    def add(self, group: api_server.Object, name: str) -> None:
        """A group has one more, which has no node yet."""
        labels = {view.CLUSTER_NAME_LABEL: self._release}
        if group["kind"] == kinds.CONTROL_PLANE.name:
            labels[view.CONTROL_PLANE_LABEL] = ""
        else:
            labels[view.DEPLOYMENT_LABEL] = group["metadata"]["name"]
        meta = {"name": name, "namespace": self._namespace, "labels": labels}
        spec = {
            "infrastructureRef": {"name": name},
            "providerID": f"openstack:///server-{name}",
        }
        self._server.create(kinds.MACHINE, {"metadata": meta, "spec": spec})
        self._server.create(
            kinds.OPENSTACK_MACHINE, {"metadata": meta, "spec": {}}
        )

    def start(self, machine: api_server.Object) -> None:
        """A Machine has a node that is ready."""
        name = machine["metadata"]["name"]
        number = 10 + sorted(
            each["metadata"]["name"] for each in self.of()
        ).index(name)
        address = {"type": "InternalIP", "address": f"192.168.3.{number}"}
        self._server.set_status(
            kinds.MACHINE,
            self._namespace,
            name,
            {
                "nodeRef": {"name": name},
                "addresses": [address],
                "conditions": [
                    conditions.condition("Ready", True),
                    conditions.condition("NodeReady", True),
                ],
            },
        )
        self._server.set_status(
            kinds.OPENSTACK_MACHINE,
            self._namespace,
            name,
            {
                "ready": True,
                "conditions": [conditions.condition("Ready", True)],
            },
        )

    def put_into_error(self, machine: api_server.Object) -> None:
        """A Machine has no node, since its server is in ERROR."""
        name = machine["metadata"]["name"]
        for kind in (kinds.MACHINE, kinds.OPENSTACK_MACHINE):
            self._server.set_status(kind, self._namespace, name, {})
        labels = {view.CLUSTER_NAME_LABEL: self._release}
        meta = {"name": name, "namespace": self._namespace, "labels": labels}
        if self._server.get(kinds.OPENSTACK_SERVER, self._namespace, name):
            return
        self._server.create(
            kinds.OPENSTACK_SERVER, {"metadata": meta, "spec": {}}
        )
        condition = conditions.condition("InstanceReady", False)
        self._server.set_status(
            kinds.OPENSTACK_SERVER,
            self._namespace,
            name,
            {
                "ready": False,
                "instanceID": name,
                "instanceState": "ERROR",
                "conditions": [{**condition, "reason": "InstanceStateError"}],
            },
        )

    def remove(self, name: str) -> None:
        """A Machine is gone, and its server."""
        self._server.delete(kinds.MACHINE, self._namespace, name)
        self._server.delete(kinds.OPENSTACK_MACHINE, self._namespace, name)
        self._server.delete(kinds.OPENSTACK_SERVER, self._namespace, name)


def _marked(machine: api_server.Object) -> bool:
    """Whether somebody asked for this very Machine to go."""
    annotations = machine["metadata"].get("annotations") or {}
    return "cluster.x-k8s.io/delete-machine" in annotations


def _owned_by(owner: str, machine: str) -> bool:
    """Groups "gpu" and "gpu-m" have machines of their own each."""
    return not owner or machine.rpartition("-m")[0] == owner
