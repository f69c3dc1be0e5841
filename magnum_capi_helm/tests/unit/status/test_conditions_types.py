# SPDX-License-Identifier: Apache-2.0

"""The driver reads each type of condition, or leaves it out for a reason."""

from __future__ import annotations

from collections.abc import Iterator
import itertools

from oslotest import base

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import condition_types
from magnum_capi_helm.tests.unit.status import shapes

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
