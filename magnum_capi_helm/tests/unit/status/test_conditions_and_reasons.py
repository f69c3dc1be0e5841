# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Conditions of both generations, and the reasons taken from them."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = "No valid host was found. There are not enough hosts available."
#: What a tenant reads of it.
NO_ROOM = (
    "No valid host was found: the cloud has no room for a server of this "
    "flavor there; choose another flavor or availability zone, or ask the "
    "operator"
)
FAILED = ("False", "InstanceCreateFailed", NO_HOST)


class ReadersTest(base.BaseTestCase):
    def test_the_new_set_is_found_in_each_generation_that_has_it(self) -> None:
        found = {
            shape: "RollingOut" in conditions.new(shapes.workers(shape))
            for shape in shapes.GENERATIONS
        }
        self.assertEqual(
            {shapes.V1BETA1: False, shapes.BOTH: True, shapes.V1BETA2: True},
            found,
        )

    def test_the_old_set_is_found_in_each_generation(self) -> None:
        for shape in shapes.GENERATIONS:
            known = conditions.old(shapes.workers(shape))
            self.assertEqual(
                {"Ready", "Available", "MachineSetReady"}, set(known)
            )

    def test_without_deprecated_v1beta2_has_no_old_set(self) -> None:
        plane = shapes.control_plane(shapes.V1BETA2)
        del plane["status"]["deprecated"]
        self.assertEqual({}, conditions.old(plane))
        self.assertIn("RollingOut", conditions.new(plane))

    def test_what_is_absent_has_no_conditions(self) -> None:
        nothing: list[Any] = [None, {}, {"status": {}}, {"status": None}]
        for absent in nothing:
            self.assertEqual({}, conditions.of(absent))

    def test_an_empty_new_set_leaves_the_old_one(self) -> None:
        workers = shapes.workers(shapes.BOTH)
        workers["status"]["v1beta2"]["conditions"] = []
        self.assertIn("MachineSetReady", conditions.of(workers))

    def test_what_sums_up_an_object_is_another_in_each_set(self) -> None:
        found = {}
        for shape in shapes.GENERATIONS:
            condition = conditions.available(shapes.workers(shape))
            found[shape] = condition and condition.type
        self.assertEqual(
            {
                shapes.V1BETA1: "Ready",
                shapes.BOTH: "Available",
                shapes.V1BETA2: "Available",
            },
            found,
        )
        self.assertIsNone(conditions.available({}))

    def test_a_condition_without_status_is_unknown(self) -> None:
        obj = {"status": {"conditions": [{"type": "Ready"}]}}
        self.assertEqual(
            {"Ready": conditions.Condition("Ready", "Unknown")},
            conditions.of(obj),
        )


class PolarityTest(base.BaseTestCase):
    def test_well_bad_or_neither(self) -> None:
        rows = {
            ("Available", "True"): (True, False),
            ("Available", "False"): (False, True),
            ("Available", "Unknown"): (False, False),
            ("RollingOut", "True"): (False, True),
            ("RollingOut", "False"): (True, False),
            ("Paused", "Unknown"): (False, False),
            **{
                (name, "False"): (True, False)
                for name in (
                    "ScalingUp",
                    "ScalingDown",
                    "Remediating",
                    "Deleting",
                    "Paused",
                    "Updating",
                )
            },
        }
        found = {}
        for name, status in rows:
            condition = conditions.Condition(name, status)
            found[name, status] = (condition.well, condition.bad)
        self.assertEqual(rows, found)


class GenerationTest(base.BaseTestCase):
    def test_current_means_that_the_newest_spec_was_seen(self) -> None:
        rows: list[tuple[Any, Any, bool]] = [
            (2, 2, True),
            (2, 3, True),
            (2, 1, False),
            (2, None, False),
            (None, None, True),
        ]
        for generation, observed, current in rows:
            obj: dict[str, Any] = {"metadata": {}, "status": {}}
            if generation is not None:
                obj["metadata"]["generation"] = generation
            if observed is not None:
                obj["status"]["observedGeneration"] = observed
            self.assertEqual(current, conditions.current(obj))


class ReplicasTest(base.BaseTestCase):
    def test_counters_of_each_generation(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = shapes.workers(
                shape, 5, existing=4, up_to_date=3, ready=2
            )
            self.assertEqual(
                nodegroup.Replicas(5, 4, 3, 2), nodegroup.replicas(workers)
            )

    def test_what_the_object_does_not_say_counts_as_none(self) -> None:
        silent = {"spec": {"replicas": 2}, "status": {"replicas": 2}}
        self.assertEqual(
            nodegroup.Replicas(2, 2, 0, 0), nodegroup.replicas(silent)
        )


class AddressesTest(base.BaseTestCase):
    def test_one_for_each_machine_internal_before_external(self) -> None:
        def machine(*addresses: tuple[str, str]) -> view.Object:
            return {
                "status": {
                    "addresses": [
                        {"type": kind, "address": address}
                        for kind, address in addresses
                    ]
                }
            }

        self.assertEqual(
            ["192.168.3.5", "203.0.113.7", "192.168.3.8"],
            nodegroup.addresses(
                [
                    machine(
                        ("ExternalIP", "203.0.113.5"),
                        ("InternalIP", "192.168.3.5"),
                        ("InternalIP", "192.168.9.9"),
                    ),
                    machine(("InternalDNS", "w-1")),
                    machine(("ExternalIP", "203.0.113.7")),
                    {},
                    machine(("InternalIP", "192.168.3.8")),
                ]
            ),
        )


class ReasonsTest(base.BaseTestCase):
    def _of(
        self, shape: str, infra: view.Object | None = None, **changes: Any
    ) -> str:
        machine = shapes.machine(shape, "w-1", **changes)
        return reasons.of_machine(machine, infra)

    def test_the_servers_failure_before_everything(self) -> None:
        server = shapes.server(
            "w-1", {"InstanceReady": ("False", "X", "less")}, f" {NO_HOST}\n"
        )
        for shape in shapes.GENERATIONS:
            self.assertEqual(NO_ROOM, self._of(shape, server))

    def test_the_servers_condition_where_failures_are_gone(self) -> None:
        server = shapes.server("w-1", {"InstanceReady": FAILED})
        for shape in shapes.GENERATIONS:
            self.assertEqual(NO_ROOM, self._of(shape, server))

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
                self._of(shape, shapes.server("w-1", {"InstanceReady": mute})),
            )

    def test_machines_that_share_a_fault_are_counted(self) -> None:
        names = ("w-2", "w-1", "w-3")
        seen = shapes.complete(
            shapes.V1BETA2,
            machines=tuple(
                shapes.machine(shapes.V1BETA2, name) for name in names
            ),
            infra_machines=(
                shapes.server("w-1", failure=NO_HOST),
                shapes.server("w-2", failure="Quota exceeded"),
                shapes.server("w-3", failure=NO_HOST),
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
            (shapes.addon("cni-calico", None), "addon cni-calico: Pending"),
            (
                shapes.addon("cni-calico", "Deployed"),
                "addon cni-calico: Deployed",
            ),
            (
                shapes.addon("cni-calico", "Failed", "no\n  chart"),
                "addon cni-calico: Failed: no chart",
            ),
        ]
        self.assertEqual(
            [text for _, text in rows],
            [reasons.of_addon(obj, shapes.RELEASE) for obj, _ in rows],
        )


class ViewTest(base.BaseTestCase):
    def test_machines_belong_to_one_group_by_name(self) -> None:
        seen = shapes.complete(
            shapes.V1BETA2,
            machines=(
                shapes.machine(shapes.V1BETA2, "b"),
                shapes.machine(shapes.V1BETA2, "c", group=None),
                shapes.machine(shapes.V1BETA2, "a"),
                shapes.machine(shapes.V1BETA2, "d", group="gpu"),
            ),
        )
        self.assertEqual(
            [["a", "b"], ["d"], ["c"]],
            [
                [view.name_of(each) for each in found]
                for found in (
                    seen.machines_of("default-worker"),
                    seen.machines_of("gpu"),
                    seen.control_plane_machines(),
                )
            ],
        )

    def test_groups_are_known_by_the_charts_names(self) -> None:
        seen = shapes.complete(
            shapes.V1BETA2,
            deployments=(
                shapes.workers(shapes.V1BETA2),
                shapes.workers(shapes.V1BETA2, group="gpu"),
            ),
        )
        self.assertEqual({"default-worker", "gpu"}, seen.group_names())

    def test_pending_revisions(self) -> None:
        words = {
            "pending-install": True,
            "pending-upgrade": True,
            "pending-rollback": True,
            "deployed": False,
            "failed": False,
            "uninstalling": False,
        }
        self.assertEqual(
            words, {word: view.Revision(1, word).pending for word in words}
        )
