# SPDX-License-Identifier: Apache-2.0

"""The reasons that machines and addons give."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import provider_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = provider_objects.NO_HOST
NO_ROOM = provider_objects.NO_ROOM
FAILED = ("False", "InstanceCreateFailed", NO_HOST)


class ReasonsTest(base.BaseTestCase):
    def _of(
        self, shape: str, infra: view.Object | None = None, **changes: Any
    ) -> str:
        machine = core_objects.machine(shape, "w-1", **changes)
        below = () if infra is None else (infra,)
        seen = view.View(shapes.RELEASE, infra_machines=below)
        return reasons.of_machine(machine, seen)

    def test_the_servers_failure_before_everything(self) -> None:
        server = provider_objects.server(
            "w-1",
            {"InstanceReady": ("False", "X", "less")},
            f" {NO_HOST}\n",
        )
        for shape in shapes.GENERATIONS:
            self.assertEqual(NO_ROOM, self._of(shape, server))

    def test_the_servers_condition_where_failures_are_gone(self) -> None:
        server = provider_objects.server("w-1", {"InstanceReady": FAILED})
        for shape in shapes.GENERATIONS:
            self.assertEqual(NO_ROOM, self._of(shape, server))

    def test_what_the_provider_says_of_the_load_balancer(self) -> None:
        # The type of this condition ends in "Condition", in CAPO's source.
        taken = ("False", "LoadBalancerMemberError", "pool is immutable")
        server = provider_objects.server(
            "w-1", {"APIServerIngressReadyCondition": taken}
        )
        for shape in shapes.GENERATIONS:
            self.assertEqual("pool is immutable", self._of(shape, server))

    def test_the_machines_own_condition_without_a_server(self) -> None:
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                NO_ROOM,
                self._of(
                    shape,
                    old={"InfrastructureReady": FAILED},
                    new={"InfrastructureReady": FAILED},
                ),
            )

    def test_an_unhealthy_node(self) -> None:
        ill = ("False", "NodeConditionsFailed", "Kubelet stopped posting")
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                "Kubelet stopped posting",
                self._of(
                    shape, old={"NodeHealthy": ill}, new={"NodeHealthy": ill}
                ),
            )

    def test_waiting_is_no_fault(self) -> None:
        waiting = [
            ("BootstrapReady", "WaitingForControlPlaneAvailable", "wait"),
            ("InfrastructureReady", "NotReady", "provisioned is false"),
            ("NodeHealthy", "WaitingForNodeRef", "wait"),
        ]
        for shape in shapes.GENERATIONS:
            for name, reason, message in waiting:
                late = {name: ("False", reason, message)}
                self.assertEqual("", self._of(shape, old=late, new=late))

    def test_a_node_that_is_still_to_come_is_no_fault(self) -> None:
        # The words of Cluster API up to 1.8 while a server boots.
        late = (
            "False",
            "NodeProvisioning",
            "Waiting for a node with matching ProviderID to exist",
        )
        self.assertEqual(
            "", self._of(shapes.V1BETA1, node=False, old={"NodeHealthy": late})
        )

    def test_unknown_is_no_fault(self) -> None:
        lost = ("Unknown", "InspectionFailed", "who knows")
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                "",
                self._of(
                    shape, old={"NodeHealthy": lost}, new={"NodeHealthy": lost}
                ),
            )

    def test_a_condition_without_words_is_no_reason(self) -> None:
        mute = ("False", "InstanceCreateFailed", "")
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                "",
                self._of(
                    shape,
                    provider_objects.server("w-1", {"InstanceReady": mute}),
                ),
            )

    def test_machines_that_share_a_fault_are_counted(self) -> None:
        names = ("w-2", "w-1", "w-3")
        seen = releases.complete(
            shapes.V1BETA2,
            machines=tuple(
                core_objects.machine(shapes.V1BETA2, name) for name in names
            ),
            infra_machines=(
                provider_objects.server("w-1", failure=NO_HOST),
                provider_objects.server("w-2", failure="Quota exceeded"),
                provider_objects.server("w-3", failure=NO_HOST),
            ),
        )
        self.assertEqual(
            f"group: machine w-1: {NO_ROOM} (and 1 more machines)",
            reasons.of_machines(
                "group", seen.machines_of("default-worker"), seen
            ),
        )

    def test_addons_in_words(self) -> None:
        rows = [
            (
                provider_objects.addon("cni-calico", None),
                "addon cni-calico: Pending",
            ),
            (
                provider_objects.addon("cni-calico", "Deployed"),
                "addon cni-calico: Deployed",
            ),
            (
                provider_objects.addon("cni-calico", "Failed", "no\n  chart"),
                "addon cni-calico: Failed: no chart",
            ),
        ]
        self.assertEqual(
            [text for _, text in rows],
            [reasons.of_addon(obj, shapes.RELEASE) for obj, _ in rows],
        )
