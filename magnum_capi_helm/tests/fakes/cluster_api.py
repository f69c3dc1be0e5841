# SPDX-License-Identifier: Apache-2.0

"""Cluster API's controllers and the provider's, on request.

Nothing happens by itself: a test says when machines come up, fail, or go.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import api_server


def condition(name: str, well: bool, message: str = "") -> dict[str, str]:
    """One condition, that is well or not."""
    return {
        "type": name,
        "status": "True" if well else "False",
        "reason": "Fake",
        "message": message,
    }


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
            if not view.deleting(each)
        ]
        for name in machines[count:]:
            self.remove(name)
        numbers = (f"{owner}-m{number}" for number in itertools.count())
        taken = [each["metadata"]["name"] for each in self.of(owner)]
        free = (name for name in numbers if name not in taken)
        for name in itertools.islice(free, max(count - len(machines), 0)):
            self.add(group, name)
        for machine in self.of(owner):
            self.start(machine)
            if version := group["spec"].get("version"):
                # As if another machine had come for it.
                place = (self._namespace, machine["metadata"]["name"])
                new = {"spec": {"version": version}}
                self._server.patch(kinds.MACHINE, *place, new)

    def add(self, group: api_server.Object, name: str) -> None:
        """A group has one more, which has no node yet."""
        labels = {view.CLUSTER_NAME_LABEL: self._release}
        if group["kind"] == kinds.CONTROL_PLANE.name:
            labels[view.CONTROL_PLANE_LABEL] = ""
        else:
            labels[view.DEPLOYMENT_LABEL] = group["metadata"]["name"]
        meta: api_server.Object = {
            "name": name,
            "namespace": self._namespace,
            "labels": labels,
        }
        if view.CONTROL_PLANE_LABEL in labels:
            meta["annotations"] = {f"{_HOOK}kcp-cleanup": ""}
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
                    condition("Ready", True),
                    condition("NodeReady", True),
                ],
            },
        )
        self._server.set_status(
            kinds.OPENSTACK_MACHINE,
            self._namespace,
            name,
            {
                "ready": True,
                "conditions": [condition("Ready", True)],
            },
        )

    def put_into_error(
        self,
        machine: api_server.Object,
        status: api_server.Object | None = None,
    ) -> None:
        """A Machine has no node, since its server is in ERROR.

        :param status: of the OpenStackServer instead
        """
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
        failed = condition("InstanceReady", False)
        self._server.set_status(
            kinds.OPENSTACK_SERVER,
            self._namespace,
            name,
            status
            if status is not None
            else {
                "ready": False,
                "instanceID": name,
                "instanceState": "ERROR",
                "conditions": [{**failed, "reason": "InstanceStateError"}],
            },
        )

    def remove(self, name: str) -> None:
        """A Machine is gone, and its server."""
        self._server.delete(kinds.MACHINE, self._namespace, name)
        self._server.delete(kinds.OPENSTACK_MACHINE, self._namespace, name)
        self._server.delete(kinds.OPENSTACK_SERVER, self._namespace, name)

    def replace(self, machine: api_server.Object) -> bool:
        """A Machine is deleted; return whether no other's hook keeps it."""
        name = machine["metadata"]["name"]
        hooks = [
            each
            for each in machine["metadata"].get("annotations") or {}
            if each.startswith(_HOOK) and not each.endswith("/kcp-cleanup")
        ]
        if not hooks:
            self._server.release(kinds.MACHINE, self._namespace, name)
            self.remove(name)
            return True
        if not machine["metadata"].get("deletionTimestamp"):
            kept = {"metadata": {"finalizers": [_FINALIZER]}}
            self._server.patch(kinds.MACHINE, self._namespace, name, kept)
            self._server.delete(kinds.MACHINE, self._namespace, name)
        return False


#: Annotations for which Cluster API waits when it deletes a Machine.
_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/"
_FINALIZER = "machine.cluster.x-k8s.io"


def _marked(machine: api_server.Object) -> bool:
    """Whether somebody asked for this very Machine to go."""
    annotations = machine["metadata"].get("annotations") or {}
    return "cluster.x-k8s.io/delete-machine" in annotations


def _owned_by(owner: str, machine: str) -> bool:
    """Groups "gpu" and "gpu-m" have machines of their own each."""
    return not owner or machine.rpartition("-m")[0] == owner


HOST = "203.0.113.10"
#: The words of Nova that reach the tenant.
NO_HOST = "No valid host was found"

_HANDLED = "addons.stackhpc.com/last-handled-configuration"
_ADDONS = (kinds.HELM_RELEASE, kinds.MANIFESTS)
_OWNED = (
    kinds.OPENSTACK_CLUSTER,
    kinds.CONTROL_PLANE,
    kinds.MACHINE_DEPLOYMENT,
    kinds.OPENSTACK_MACHINE_TEMPLATE,
    kinds.CONFIG_TEMPLATE,
    kinds.MACHINE,
    *_ADDONS,
)


class ClusterApi:
    """Controllers of one release.

    :param version: the group version whose conditions it writes
    """

    def __init__(
        self, server: api_server.ApiServer, namespace: str, release: str
    ) -> None:
        self._server = server
        self._namespace = namespace
        self._release = release
        self._machines = Machines(server, namespace, release)
        self._added = 0
        #: Status of the OpenStackCluster beside its conditions.
        self.provider: dict[str, Any] = {}

    def settle(self) -> None:
        """All that is wanted is there, ready and reported."""
        self.settle_infrastructure()
        for group in self._groups():
            count = group["spec"]["replicas"]
            self._machines.settle(group, count)
            self._report(group, ready=count)
        for kind in _ADDONS:
            for addon in self._mine(kind):
                self._deploy(kind, addon)
        self._available("")
        self._adopt()

    def _deploy(self, kind: kinds.Kind, addon: api_server.Object) -> None:
        """The addon provider installs it, and notes what it installed."""
        note = json.dumps({"spec": addon.get("spec")})
        self._server.patch(
            kind,
            self._namespace,
            addon["metadata"]["name"],
            {"metadata": {"annotations": {_HANDLED: note}}},
        )
        self._status(kind, addon, {"phase": "Deployed"})

    def settle_infrastructure(self) -> None:
        """Network and API endpoint are there."""
        self._server.patch(
            kinds.CLUSTER,
            self._namespace,
            self._release,
            {
                "metadata": {"finalizers": ["cluster.cluster.x-k8s.io"]},
                "spec": {"controlPlaneEndpoint": {"host": HOST, "port": 6443}},
            },
        )
        self._server.set_status(
            kinds.OPENSTACK_CLUSTER,
            self._namespace,
            self._release,
            {
                "ready": True,
                "conditions": [condition("Ready", True)],
                **self.provider,
            },
        )

    def roll(self) -> list[str]:
        """Do that in all groups; their names, where machines were too old."""
        rolled = []
        for group in self._groups():
            after = (group["spec"].get("rollout") or {}).get("after", "")
            if self._roll(group, after):
                rolled.append(group["metadata"]["name"])
        self.settle()
        return rolled

    def _roll(self, group: api_server.Object, after: str) -> bool:
        machines = self._machines.of(group["metadata"]["name"])
        old = [
            each
            for each in machines
            if each["metadata"]["creationTimestamp"] < after
        ]
        gone = [self._machines.replace(each) for each in old]
        self._server.stamp = max(after, self._server.stamp)
        return any(gone)

    def fail_machine(self, group: str, message: str = NO_HOST) -> str:
        """A machine of a group gets no server; its name."""
        self.settle()
        owner = names.chart_object(self._release, group)
        machine = self._machines.of(owner)[0]["metadata"]["name"]
        failed = condition("InstanceReady", False, message)
        self._server.set_status(
            kinds.OPENSTACK_MACHINE,
            self._namespace,
            machine,
            {"conditions": [{**failed, "reason": "InstanceCreateFailed"}]},
        )
        self._server.set_status(kinds.MACHINE, self._namespace, machine, {})
        for each in self._groups():
            if each["metadata"]["name"] == owner:
                self._report(each, ready=each["spec"]["replicas"] - 1)
        self._available(f"{owner} is not available")
        return str(machine)

    def server_in_error(
        self,
        group: str,
        number: int = 0,
        status: api_server.Object | None = None,
    ) -> str:
        """Nova puts the server of a group's machine into ERROR.

        CAPO 0.12 to 0.14 writes that on the OpenStackServer alone, without
        a message.

        :param status: of the OpenStackServer instead
        :returns: the name of the machine, which is the id of its server, too
        """
        self.settle()
        owner = names.chart_object(self._release, group)
        found = self._machines.of(owner)[number]
        machine = str(found["metadata"]["name"])
        self._machines.put_into_error(found, status)
        for each in self._groups():
            if each["metadata"]["name"] == owner:
                self._report(each, ready=each["spec"]["replicas"] - 1)
        self._available(f"{owner} is not available")
        return machine

    def add_machine(self, group: str, *, ready: bool = True) -> str:
        """One more machine of a group that is not done yet; its name."""
        owner = names.chart_object(self._release, group)
        [found] = [
            each
            for each in self._groups()
            if each["metadata"]["name"] == owner
        ]
        self._added += 1
        name = f"{owner}-m{100 + self._added}"
        self._machines.add(found, name)
        [machine] = [
            each
            for each in self._machines.of(owner)
            if each["metadata"]["name"] == name
        ]
        if ready:
            self._machines.start(machine)
        self._report(found, ready=0)
        self._available(f"{owner} is not available")
        return name

    def remove_machine(self, name: str) -> None:
        """A Machine is gone, and its server."""
        self._machines.remove(name)

    def fail_addon(self, component: str, message: str) -> None:
        """An addon could not be installed."""
        for kind in _ADDONS:
            for addon in self._mine(kind):
                if addon["metadata"]["name"].endswith(component):
                    failed = {"phase": "Failed", "failureMessage": message}
                    self._status(kind, addon, failed)

    def drain(self) -> None:
        """The machines of a cluster that is being deleted are gone."""
        for machine in self._machines.of():
            self._machines.remove(machine["metadata"]["name"])

    def finish(self) -> None:
        """A cluster that is being deleted is gone, and what it owned."""
        self.drain()
        self._server.release(kinds.CLUSTER, self._namespace, self._release)

    def remove_group(self, group: str) -> None:
        """The machines of a group that is being deleted are gone."""
        owner = names.machine_deployment(self._release, group)
        for machine in self._machines.of(owner):
            self._machines.remove(machine["metadata"]["name"])

    # Below

    def _mine(self, kind: kinds.Kind) -> list[api_server.Object]:
        selector = f"{view.CHART_CLUSTER_LABEL}={self._release}"
        return self._server.list(kind, self._namespace, selector)

    def _groups(self) -> list[api_server.Object]:
        return [
            *self._mine(kinds.CONTROL_PLANE),
            *self._mine(kinds.MACHINE_DEPLOYMENT),
        ]

    def _report(self, group: api_server.Object, ready: int) -> None:
        kind = api_server.BY_NAME[group["kind"]]
        count = group["spec"]["replicas"]
        live = self._server.patch(
            kind,
            self._namespace,
            group["metadata"]["name"],
            {"spec": {"replicas": count}},
        )
        well = ready == count
        self._status(
            kind,
            group,
            {
                "observedGeneration": (live or group)["metadata"][
                    "generation"
                ],
                "replicas": count,
                "upToDateReplicas": count,
                "readyReplicas": ready,
                "version": group["spec"].get("version"),
                "conditions": [
                    condition("Available", well),
                    condition("RollingOut", False),
                ],
            },
        )

    def _available(self, message: str) -> None:
        well = not message
        live = self._server.get(kinds.CLUSTER, self._namespace, self._release)
        assert live is not None
        self._server.set_status(
            kinds.CLUSTER,
            self._namespace,
            self._release,
            {
                "observedGeneration": live["metadata"]["generation"],
                "conditions": [
                    condition("Available", well, message),
                    condition("RemoteConnectionProbe", True),
                ],
            },
        )

    def _adopt(self) -> None:
        cluster = self._server.get(
            kinds.CLUSTER, self._namespace, self._release
        )
        if cluster is None:
            return
        owner = {"name": self._release, "uid": cluster["metadata"]["uid"]}
        for kind in _OWNED:
            objects = (
                self._machines.of()
                if kind is kinds.MACHINE
                else self._mine(kind)
            )
            for each in objects:
                self._server.patch(
                    kind,
                    self._namespace,
                    each["metadata"]["name"],
                    {"metadata": {"ownerReferences": [owner]}},
                )

    def _status(
        self, kind: kinds.Kind, obj: api_server.Object, status: dict[str, Any]
    ) -> None:
        self._server.set_status(
            kind, self._namespace, obj["metadata"]["name"], status
        )
