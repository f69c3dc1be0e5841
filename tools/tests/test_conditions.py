# SPDX-License-Identifier: Apache-2.0

"""Constants of conditions, as Cluster API and CAPO declare and use them."""

from __future__ import annotations

import pathlib
import tempfile

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
_READY = [
    conditions.Found("Machine", name, "v1beta2", "Ready")
    for name in ("NodeHealthy", "NodeReady")
]


class DeclaredTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.folder = pathlib.Path(root.name) / "v1beta2"
        self.folder.mkdir()
        (self.folder / "types.go").write_text(_PACKAGE)

    def test_reasons_belong_to_the_types_above_them(self) -> None:
        found = set(conditions.declared(self.folder, {}))
        machine = {each for each in found if each.kind == "Machine"}
        paused = conditions.Found("Machine", "Paused", "v1beta2")
        self.assertEqual(
            {
                *_READY,
                *(each._replace(reason="") for each in _READY),
                paused,
                paused._replace(reason="NotPaused"),
            },
            machine,
        )

    def test_a_name_tells_the_set(self) -> None:
        old = {
            each
            for each in conditions.declared(self.folder, {})
            if each.set == "v1beta1"
        }
        plane = conditions.Found("Cluster", "ControlPlaneReady", "v1beta1")
        self.assertEqual({plane, plane._replace(reason="MissingNodeRef")}, old)


class CallTest(base.BaseTestCase):
    def test_calls_of_both_generations_of_capo(self) -> None:
        calls = (
            'conditions.MarkFalse(pool, infrav1.A, infrav1.B, "%v", err)',
            "conditions.Set(pool, metav1.Condition{\n\tType:   infrav1.A,\n"
            "\tStatus: metav1.ConditionFalse,\n\tReason: infrav1.B,\n})",
        )
        found = {
            match.groups()
            for pattern, call in zip(conditions.CALLS, calls, strict=True)
            for match in pattern.finditer(call)
        }
        self.assertEqual({("pool", "infrav1.A", "infrav1.B")}, found)


class FileTest(base.BaseTestCase):
    def test_releases_are_the_first_and_the_last_with_a_type(self) -> None:
        old = conditions.Found("Machine", "Ready", "v1beta1")
        new = conditions.Found("Machine", "Ready", "v1beta2", "NotReady")
        self.assertEqual(
            {
                "Machine": {
                    "Ready": {
                        "releases": "1.8 to 1.10",
                        "set": "both",
                        "reasons": ["NotReady"],
                    }
                }
            },
            conditions.component({"1.8": {old}, "1.9": set(), "1.10": {new}}),
        )

    def test_a_difference_is_a_line(self) -> None:
        self.assertEqual(
            ["- a b 1", "+ a b 2", "+ a c 3"],
            conditions.differences(
                {"a": {"b": ["1"]}}, {"a": {"b": ["2"], "c": "3"}}
            ),
        )
