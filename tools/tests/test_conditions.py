# SPDX-License-Identifier: Apache-2.0

"""Constants of conditions, as Cluster API and CAPO declare and use them."""

from __future__ import annotations

import pathlib

import fixtures
from oslotest import base

from tools import conditions

_PACKAGE = """package v1beta2

// Conditions types that are used across different objects.
const (
\t// ReadyCondition reports if an object is ready.
\tReadyCondition = "Ready"
\tPausedCondition = "Paused"
)

// Reasons that are used across different objects.
const (
\tNotPausedReason = "NotPaused"
\tReadyReason = "Ready"
)

// Machine's NodeHealthy and NodeReady conditions and corresponding reasons.
const (
\tMachineNodeHealthyCondition = "NodeHealthy"
\tMachineNodeReadyCondition = "NodeReady"

\tMachineNodeReadyReason = ReadyReason
)

// Conditions and condition Reasons for the Cluster object.

const (
\tControlPlaneReadyV1Beta1Condition ConditionType = "ControlPlaneReady"
\tMissingNodeRefV1Beta1Reason = "MissingNodeRef"
)
"""


class ConditionsTest(base.BaseTestCase):
    def test_reasons_belong_to_the_types_above_them(self) -> None:
        """The name of a constant tells the set."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        package = folder / "v1beta2"
        package.mkdir()
        (package / "types.go").write_text(_PACKAGE)
        self.assertEqual(
            {
                ("Machine", "NodeHealthy", "v1beta2", ""),
                ("Machine", "NodeHealthy", "v1beta2", "Ready"),
                ("Machine", "NodeReady", "v1beta2", ""),
                ("Machine", "NodeReady", "v1beta2", "Ready"),
                ("Machine", "Paused", "v1beta2", ""),
                ("Machine", "Paused", "v1beta2", "NotPaused"),
                ("Cluster", "ControlPlaneReady", "v1beta1", ""),
                ("Cluster", "ControlPlaneReady", "v1beta1", "MissingNodeRef"),
            },
            {
                each
                for each in conditions.declared(package, {})
                if each.kind == "Machine" or each.set == "v1beta1"
            },
        )

    def test_calls_of_both_generations_of_capo(self) -> None:
        calls = (
            'conditions.MarkFalse(pool, infrav1.A, infrav1.B, "%v", err)',
            "conditions.Set(pool, metav1.Condition{\n\tType:   infrav1.A,\n"
            "\tStatus: metav1.ConditionFalse,\n\tReason: infrav1.B,\n})",
        )
        for pattern, call in zip(conditions.CALLS, calls, strict=True):
            self.assertEqual(
                [("pool", "infrav1.A", "infrav1.B")], pattern.findall(call)
            )

    def test_releases_are_the_first_and_the_last_with_a_type(self) -> None:
        old = conditions.Found("Machine", "Ready", "v1beta1")
        new = conditions.Found("Machine", "Ready", "v1beta2", "NotReady")
        ready = {
            "releases": "1.8 to 1.10",
            "set": "both",
            "reasons": ["NotReady"],
        }
        self.assertEqual(
            {"Machine": {"Ready": ready}},
            conditions.component({"1.8": {old}, "1.9": set(), "1.10": {new}}),
        )
