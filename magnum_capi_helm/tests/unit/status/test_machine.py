# SPDX-License-Identifier: Apache-2.0

"""Errors and deletions of machines, servers and networks; addresses."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = view.Fault("No valid host was found. ")
NO_HOST_TEXT = shapes.NO_HOST
NO_ROOM = shapes.NO_ROOM
VOLUME = (
    "False",
    "InstanceCreateFailed",
    "volume v-1 did not become available: volume v-1 is in error state",
)
ASK_CINDER = (
    "`openstack volume message list` may say why; auto-healing then replaces "
    "the machine, or resize with --nodes-to-remove"
)
IN_ERROR = (
    "the server went into the state ERROR: `openstack server show` says why, "
    "under the machine's name; auto-healing replaces the machine, or resize "
    "with --nodes-to-remove"
)
#: The Machine of these tests is deleted at 12:00.
BEFORE, AFTER = "2026-11-21T11:00:00Z", "2026-11-21T13:00:00Z"
DELETED = {"deletionTimestamp": "2026-11-21T12:00:00Z"}
CAPO_V1BETA2 = "infrastructure.cluster.x-k8s.io/v1beta2"
FAILED = ("False", "InstanceDeleteFailed", "Deleting instance failed: 500")


_INGRESS = "APIServerIngressReady"
_LOGIN = "OpenStackAuthenticationSucceeded"
_NO_SECRET = "Failed to create OpenStack client scope: secret not found"

#: Condition of the OpenStackMachine, or of the Machine in both sets ->
#: the error.
BELOW: dict[tuple[str, str, str], str] = {
    ("InstanceReady", "InstanceCreateFailed", NO_HOST_TEXT): NO_ROOM,
    # CAPO 0.15 says why it can't log in.
    (_LOGIN, "OpenStackAuthenticationFailed", _NO_SECRET): _NO_SECRET,
    # The type of this condition ends in "Condition", in CAPO's source.
    (f"{_INGRESS}Condition", "LoadBalancerMemberError", "no pool"): "no pool",
    # In v1beta2 it does not.
    (_INGRESS, "FloatingIPError", "no more IP addresses"): (
        "no more IP addresses"
    ),
    ("InstanceReady", "InstanceCreateFailed", ""): "",
}
_BOOTING = "Waiting for a node with matching ProviderID to exist"

OWN: dict[tuple[str, str, str], str] = {
    ("InfrastructureReady", "InstanceCreateFailed", NO_HOST_TEXT): NO_ROOM,
    ("NodeHealthy", "NodeConditionsFailed", "no kubelet"): "no kubelet",
    # A controller only waits.
    ("BootstrapReady", "WaitingForControlPlaneAvailable", "wait"): "",
    ("InfrastructureReady", "NotReady", "provisioned is false"): "",
    ("NodeHealthy", "WaitingForNodeRef", "wait"): "",
    # The words of Cluster API up to 1.8 while a server boots.
    ("NodeHealthy", "NodeProvisioning", _BOOTING): "",
}


def fault_of(machine: view.Object, seen: view.View) -> str:
    found = machine_status.branch(machine, seen)
    return shapes.sentence(tree.told(found)).removeprefix("machine w-1: ")


class MachineErrorTest(base.BaseTestCase):
    """Conditions of a Machine and of its OpenStackMachine."""

    def error(
        self, shape: str, infra: view.Object | None = None, **changes: Any
    ) -> str:
        machine = shapes.machine(shape, "w-1", **changes)
        below = () if infra is None else (infra,)
        clock = view.Clock(shapes.NOW)
        seen = view.View(shapes.RELEASE, infra_machines=below, clock=clock)
        return fault_of(machine, seen)

    def test_each_condition_has_its_error(self) -> None:
        for shape in shapes.GENERATIONS:
            for (name, *words), error in BELOW.items():
                below = {name: ("False", words[0], words[1])}
                infra = shapes.server("w-1", below)
                self.assertEqual(error, self.error(shape, infra), str(below))
                newer = {**infra, "apiVersion": CAPO_V1BETA2}
                self.assertEqual(error, self.error(shape, newer), str(below))
            for (name, *words), error in OWN.items():
                own = {name: ("False", words[0], words[1])}
                self.assertEqual(
                    error, self.error(shape, old=own, new=own), str(own)
                )

    def test_a_condition_of_an_older_capo_is_not_read_any_more(self) -> None:
        found = {
            f"{_INGRESS}Condition": ("False", "LoadBalancerMemberError", "no"),
            _INGRESS: ("True", "Ready", ""),
        }
        infra = shapes.server("w-1", found)
        for shape in shapes.GENERATIONS:
            self.assertEqual("", self.error(shape, infra))

    def test_the_failure_of_the_server_precedes_all(self) -> None:
        less = {"InstanceReady": ("False", "X", "less")}
        server = shapes.server("w-1", less, f" {NO_HOST_TEXT}\n")
        lost = {"NodeHealthy": ("Unknown", "InspectionFailed", "who knows")}
        for shape in shapes.GENERATIONS:
            self.assertEqual(NO_ROOM, self.error(shape, server))
            self.assertEqual("", self.error(shape, old=lost, new=lost))

    def test_machines_that_share_a_fault_are_counted(self) -> None:
        faults = {"w-2": "Quota exceeded", "w-1": NO_HOST_TEXT}
        faults["w-3"] = NO_HOST_TEXT
        seen = shapes.complete(
            shapes.V1BETA2,
            machines=tuple(
                shapes.machine(shapes.V1BETA2, name) for name in faults
            ),
            infra_machines=tuple(
                shapes.server(name, failure=fault)
                for name, fault in faults.items()
            ),
        )
        found = seen.machines_of("default-worker")
        parts = tuple(machine_status.branches(found, seen))
        self.assertEqual(
            f"machine w-1: {NO_ROOM} "
            "(and 2 more: machine w-2: Quota exceeded) [no-host]",
            tree.told(tree.Branch("", children=parts)),
        )


class ServerTest(base.BaseTestCase):
    def of(
        self, server: view.Object, fault: view.Fault | None, **changes: Any
    ) -> set[str]:
        """The reason of its machine, in every shape of Cluster API."""
        seen = view.View(
            shapes.RELEASE,
            infra_machines=(shapes.server("w-1"),),
            servers=(server,),
        )
        seen = shapes.answered(seen, fault)
        return {
            fault_of(shapes.machine(shape, "w-1", **changes), seen)
            for shape in shapes.GENERATIONS
        }

    def test_a_server_shows_its_most_specific_reason(self) -> None:
        make = shapes.openstack_server
        quota = ("False", "InstanceCreateFailed", "Quota exceeded, too many")
        gone = ("False", "InstanceNotFound", "The server was deleted")
        busy = ("False", "OpenStackError", "Nova answered 503")
        no_port = "Failed to create port w-1-0: no address"
        deaf = view.Fault(unread="Keystone: no answer")
        unasked = "Nova could not be asked: Keystone: no answer"
        none = make("w-1", "", ("", "", ""), instance="")
        volume = make("w-1", "ERROR", VOLUME, instance="")
        no_volume = "volume v-1 could not be made"
        rows: list[tuple[view.Object, view.Fault | None, str]] = [
            # What Nova says comes first.
            (make("w-1"), NO_HOST, NO_ROOM),
            # Nova has no fault, or was not asked, or gave no answer.
            (make("w-1"), view.Fault(), IN_ERROR),
            (make("w-1"), None, IN_ERROR),
            (make("w-1"), deaf, f"{IN_ERROR}: {unasked}"),
            (make("w-1", condition=busy), deaf, f"{busy[2]}: {unasked}"),
            # Nova refused to make it: CAPO has its words, and no id.
            (make("w-1", condition=quota, instance=""), None, quota[2]),
            (make("w-1", "ACTIVE", gone), None, gone[2]),
            # Neutron refused a port: CAPO has an event of it alone.
            (none, view.Fault(no_port), no_port),
            (
                none,
                view.Fault(unread="no"),
                "no server yet: OpenStack could not be asked: no",
            ),
            # Cinder's message, or at least CAPO's.
            (
                volume,
                view.Fault(f"{no_volume}: no backend"),
                f"{no_volume}: no backend",
            ),
            (volume, view.Fault(), f"{no_volume}: {ASK_CINDER}"),
            # It starts, or runs.
            (make("w-1", "BUILD", ("", "", "")), None, ""),
            (make("w-1", "ACTIVE", ("True", "", "")), None, ""),
        ]
        for server, fault, told in rows:
            self.assertEqual(
                {told}, self.of(server, fault), f"{server} {fault}"
            )

    def test_the_server_explains_more_than_the_machine(self) -> None:
        ill = {"InfrastructureReady": ("False", "SomeReason", "no providerID")}
        server = shapes.openstack_server("w-1")
        found = self.of(server, NO_HOST, old=ill, new=ill)
        self.assertEqual({NO_ROOM}, found)


class DeletionTest(base.BaseTestCase):
    """Machines that are deleted, and do not go."""

    def told(self, name: str, message: str) -> set[str]:
        """What is told of a Machine with that condition, in its sets."""
        new = name == "Deleting"
        found = {name: ("True" if new else "False", "X", message)}
        return {
            machine_status.remaining(
                [
                    shapes.machine(
                        shape,
                        "w-1",
                        old={} if new else found,
                        new=found,
                        deleting=True,
                    )
                ],
                view.View(shapes.RELEASE),
            )
            for shape in shapes.GENERATIONS[int(new) :]
        }

    def test_each_step_of_cluster_api_is_told(self) -> None:
        count = "1 machine still to be deleted: w-1"
        pre_drain, pre_terminate = (
            f"Waiting for pre-{when} hooks to succeed"
            for when in ("drain", "terminate")
        )
        volumes = "Waiting for node volumes to be detached"
        rows = [
            *(
                ("Deleting", message, message)
                for message in (
                    f"{pre_drain} (hooks: backup)",
                    "Drain not completed yet (started at 12:00): * Pod a/b: "
                    "waiting",
                    "Waiting for Node volumes to be detached (started at "
                    "12:00) * PersistentVolumeClaims: shop/db",
                    f"{pre_terminate} (hooks: x)",
                    "Waiting for OpenStackMachine to be deleted",
                    "Error deleting Node, please check controller logs",
                )
            ),
            ("Deleting", "Deletion started", ""),
            ("Deleting", "Deletion completed", ""),
            # Of the old set.
            ("PreDrainDeleteHookSucceeded", "", pre_drain),
            ("DrainingSucceeded", "Drain: Pod a/b", "Drain: Pod a/b"),
            ("VolumeDetachSucceeded", volumes, volumes),
            ("PreTerminateDeleteHookSucceeded", "", pre_terminate),
        ]
        for name, message, told in rows:
            expected = f"{count}; machine w-1: {told}" if told else count
            self.assertEqual({expected}, self.told(name, message))

    def below(
        self,
        *,
        server: view.Object | None = None,
        infra: view.Object | None = None,
        fault: view.Fault | None = None,
    ) -> str:
        """What is told of a Machine whose OpenStackMachine does not go."""
        waiting = ("True", "X", "Waiting for OpenStackMachine to be deleted")
        machine = shapes.machine(
            shapes.V1BETA2, "w-1", new={"Deleting": waiting}, deleting=True
        )
        seen = view.View(
            shapes.RELEASE,
            servers=(server,) if server else (),
            infra_machines=(infra,) if infra else (),
        )
        seen = shapes.answered(seen, fault)
        told = machine_status.remaining([machine], seen)
        return shapes.sentence(told).partition("; machine w-1: ")[2]

    def test_the_objects_below_a_machine_explain_its_deletion(self) -> None:
        def deleted(obj: view.Object, *finalizers: str) -> view.Object:
            obj["metadata"] |= {**DELETED, "finalizers": list(finalizers)}
            return obj

        make = shapes.openstack_server
        waiting = "Waiting for OpenStackMachine to be deleted"
        own = "openstackserver.infrastructure.cluster.x-k8s.io"
        after = shapes.server("w-1", {"InstanceReady": FAILED})
        paused = make("w-1") | {"kind": "OpenStackMachine"}
        paused["metadata"] |= {"annotations": {"cluster.x-k8s.io/paused": ""}}
        failed = deleted(make("w-1", "ACTIVE", FAILED), own)
        before = deleted(make("w-1", since=BEFORE), own)
        late = deleted(make("w-1", since=AFTER), own)
        others = deleted(make("w-1", since=BEFORE), "a.example/b")
        no_host = view.Fault("No valid host was found. ", 1.0)
        busy = view.Fault("volume is busy", 4e9)
        rows: list[tuple[dict[str, Any], str]] = [
            ({}, waiting),
            (
                {"infra": paused},
                "the operator has paused it: nothing is changed",
            ),
            ({"server": failed}, FAILED[2]),
            ({"infra": deleted(after)}, FAILED[2]),
            # The fault of its creation does not hinder its deletion.
            ({"server": before}, waiting),
            ({"server": late, "fault": no_host}, IN_ERROR),
            ({"server": before, "fault": busy}, "volume is busy"),
            (
                {"server": others},
                "OpenStackServer server-w-1 waits for the finalizers "
                "a.example/b",
            ),
        ]
        for below, told in rows:
            self.assertEqual(told, self.below(**below), str(below))

    def test_an_error_of_one_comes_before_the_step_of_another(self) -> None:
        blocked = (
            "Drain not completed yet:\n* Pod shop/db-0: cannot evict pod as "
            "it would violate the pod's disruption budget. It needs 1"
        )
        machines = [
            shapes.machine(
                shapes.V1BETA2,
                name,
                new={"Deleting": ("True", "X", message)},
                deleting=True,
            )
            for name, message in (
                ("w-1", "Waiting for OpenStackMachine to be deleted"),
                ("w-2", blocked),
            )
        ]
        self.assertEqual(
            "2 machines still to be deleted: w-1, w-2; machine w-2: pods "
            "shop/db-0 keep it from being drained: their PodDisruptionBudget "
            "allows no eviction; relax it or add replicas [drain]",
            machine_status.remaining(machines, view.View(shapes.RELEASE)),
        )


class AddressesTest(base.BaseTestCase):
    def test_each_machine_gives_one_address_internal_first(self) -> None:
        machines = (
            (
                ("ExternalIP", "203.0.113.5"),
                ("InternalIP", "192.168.3.5"),
                ("InternalIP", "192.168.9.9"),
            ),
            (("InternalDNS", "w-1"),),
            (("ExternalIP", "203.0.113.7"),),
            (("InternalIP", "192.168.3.8"),),
        )
        found: list[view.Object] = [
            {
                "status": {
                    "addresses": [
                        {"type": kind, "address": address}
                        for kind, address in addresses
                    ]
                }
            }
            for addresses in machines
        ]
        self.assertEqual(
            ("192.168.3.5", "203.0.113.7", "192.168.3.8"),
            machine_status.addresses([*found, {}]),
        )
