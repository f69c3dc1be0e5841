# SPDX-License-Identifier: Apache-2.0

"""Conditions of both sets: meaning, age, and that each type is known."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
from typing import Any

from oslotest import base

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import condition_types
from magnum_capi_helm.tests.unit.status import shapes

#: The condition that sums up, by the shape that has it.
_SUMMARIES = {
    shapes.V1BETA1: "Ready",
    shapes.BOTH: "Available",
    shapes.V1BETA2: "Available",
}


class ReadersTest(base.BaseTestCase):
    def test_each_set_is_found_in_each_generation_that_has_it(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = shapes.workers(shape)
            self.assertEqual(
                {"Ready", "Available", "MachineSetReady"},
                set(conditions.v1beta1(workers)),
            )
            self.assertEqual(
                (shape != shapes.V1BETA1, _SUMMARIES[shape]),
                (
                    "RollingOut" in conditions.v1beta2(workers),
                    conditions.available(workers).type,
                ),
            )
        self.assertFalse(conditions.available({}))

    def test_without_deprecated_v1beta2_has_no_old_set(self) -> None:
        plane = shapes.control_plane(shapes.V1BETA2)
        del plane["status"]["deprecated"]
        self.assertEqual({}, conditions.v1beta1(plane))
        self.assertIn("RollingOut", conditions.v1beta2(plane))

    def test_an_absent_object_has_no_conditions(self) -> None:
        nothing: list[Any] = [None, {}, {"status": {}}, {"status": None}]
        for absent in nothing:
            self.assertEqual({}, conditions.merged(absent))

    def test_an_empty_new_set_leaves_the_old_one(self) -> None:
        workers = shapes.workers(shapes.BOTH)
        workers["status"]["v1beta2"]["conditions"] = []
        self.assertIn("MachineSetReady", conditions.merged(workers))

    def test_a_condition_without_status_is_unknown(self) -> None:
        obj = {"status": {"conditions": [{"type": "Ready"}]}}
        self.assertEqual(
            {"Ready": conditions.Condition("Ready", "Unknown")},
            conditions.merged(obj),
        )

    def test_a_condition_is_well_or_bad_by_its_polarity(self) -> None:
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
            self.assertEqual(current, conditions.is_current(obj))


#: Situation, set -> types whose message the ``status_reason`` has, the most
#: urgent first.
PRECEDENCE = {
    ("starting", "v1beta1"): """
OpenStackCluster NetworkReady RouterReady SecurityGroupsReady
OpenStackCluster APIEndpointReady Ready
OpenStackServer InstanceReady FloatingAddressFromPoolReady Ready
OpenStackMachine InstanceReady APIServerIngressReadyCondition
OpenStackMachine FloatingAddressFromPoolReady Ready
Machine InfrastructureReady BootstrapReady OwnerRemediated
Machine HealthCheckSucceeded
""",
    ("starting", "v1beta2"): """
OpenStackCluster OpenStackAuthenticationSucceeded NetworkReady RouterReady
OpenStackCluster SecurityGroupsReady APIEndpointReady Ready
OpenStackServer OpenStackAuthenticationSucceeded InstanceReady
OpenStackServer FloatingAddressFromPoolReady
OpenStackMachine OpenStackAuthenticationSucceeded InstanceReady
OpenStackMachine APIServerIngressReady Ready
Machine InfrastructureReady BootstrapConfigReady OwnerRemediated
Machine HealthCheckSucceeded
""",
    ("settled", "v1beta1"): """
KubeadmControlPlane EtcdClusterHealthy ControlPlaneComponentsHealthy
KubeadmControlPlane MachinesReady Ready
Cluster Ready InfrastructureReady ControlPlaneReady
""",
    ("settled", "v1beta2"): """
KubeadmControlPlane ScalingUp ScalingDown Remediating EtcdClusterHealthy
KubeadmControlPlane ControlPlaneComponentsHealthy MachinesReady Available
MachineDeployment ScalingUp ScalingDown Remediating
KubeadmControlPlane RollingOut
MachineDeployment RollingOut
Cluster Available
""",
    ("leaving", "v1beta1"): """
OpenStackMachine InstanceReady APIServerIngressReadyCondition
OpenStackMachine FloatingAddressFromPoolReady Ready
OpenStackServer InstanceReady FloatingAddressFromPoolReady Ready
""",
    ("leaving", "v1beta2"): """
OpenStackMachine OpenStackAuthenticationSucceeded InstanceReady
OpenStackMachine APIServerIngressReady Ready
OpenStackServer OpenStackAuthenticationSucceeded InstanceReady
OpenStackServer FloatingAddressFromPoolReady
KubeadmControlPlane Deleting
""",
}


def _orders() -> Iterator[tuple[str, str, list[str]]]:
    """Yield each situation and set, with its kinds and types in order."""
    for (situation, name), text in PRECEDENCE.items():
        lines = (each.split() for each in text.strip().splitlines())
        order = [
            f"{kind} {type_}" for kind, *types in lines for type_ in types
        ]
        yield situation, name, order


def _reason(situation: str, *bad: condition_types.Type) -> str:
    """Return the ``status_reason`` with "smoke in KIND TYPE" of each."""
    return condition_types.told(
        getattr(condition_types, situation),
        bad[0].shape,
        {each: (each.bad, f"smoke in {each.name}") for each in bad},
    ).verdict.reason


class ConditionTypesTest(base.BaseTestCase):
    maxDiff = None

    def test_each_type_is_read_or_left_out_for_a_reason(self) -> None:
        read: set[str] = set()
        unread: set[str] = set()
        for each in condition_types.types():
            is_kind = each.kind in condition_types.LEFT_OUT
            name = each.kind if is_kind else each.name
            (read if condition_types.is_read(each) else unread).add(name)
        left_out = set(condition_types.LEFT_OUT)
        table = "LEFT_OUT in tests/unit/status/condition_types.py"
        self.assertEqual(
            set(),
            unread - left_out,
            f"read them in status/conditions.yaml, or add them to {table}",
        )
        self.assertEqual(set(), left_out - unread, f"remove from {table}")
        self.assertEqual(set(), read & unread)

    def test_types_well_when_false_are_those_of_the_sources(self) -> None:
        self.assertEqual(
            set(condition_types.file()["negative"]), conditions.NEGATIVE
        )

    def test_no_type_of_the_old_set_is_well_when_false(self) -> None:
        old = {
            each.type
            for each in condition_types.types()
            if each.set == "v1beta1"
        }
        self.assertEqual(set(), old & conditions.NEGATIVE)


class PrecedenceTest(base.BaseTestCase):
    """Of two faults, the reason has the more urgent first."""

    def test_the_reason_has_each_of_these_faults_alone(self) -> None:
        for situation, name, order in _orders():
            told = {
                each.name
                for each in condition_types.types()
                if each.set == name and not each.left_out
                if "smoke" in _reason(situation, each)
            }
            self.assertEqual(sorted(order), sorted(told))

    def test_the_reason_has_the_more_urgent_of_each_pair_first(self) -> None:
        for situation, name, order in _orders():
            known = {
                each.name: each
                for each in condition_types.types()
                if each.set == name
            }
            for first, second in itertools.combinations(order, 2):
                reason = _reason(situation, known[first], known[second])
                before, found, _ = reason.partition(f"smoke in {first}")
                self.assertTrue(found, (situation, first, reason))
                self.assertNotIn(f"smoke in {second}", before, situation)


class AddonTest(base.BaseTestCase):
    def test_each_phase_but_deployed_is_a_reason(self) -> None:
        for phase in condition_types.file()["addons"]["phases"]:
            addon = shapes.addon("monitoring", phase)
            seen = shapes.complete(shapes.V1BETA2, addons=(addon,))
            reason = shapes.verdict(
                seen, addons=frozenset({view.name_of(addon)})
            ).reason
            told = f"addon monitoring: {phase}"
            self.assertEqual("" if phase == "Deployed" else told, reason)

    def test_the_handled_configuration_is_the_only_note_read(self) -> None:
        notes = dict.fromkeys(
            condition_types.file()["addons"]["annotations"], '{"spec": 1}'
        )
        addon = {"metadata": {"annotations": notes}}
        self.assertEqual({"spec": 1}, view.handled_of(addon))
