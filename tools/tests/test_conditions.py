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

// Machine's NodeHealthy and NodeReady conditions and corresponding reasons.
const (
\tMachineNodeHealthyCondition = "NodeHealthy"
\tMachineNodeReadyCondition = "NodeReady"
)

// Conditions and condition Reasons for the Cluster object.

const (
\tControlPlaneReadyV1Beta1Condition ConditionType = "ControlPlaneReady"
)
"""


class ConditionsTest(base.BaseTestCase):
    def test_comment_above_a_constant_tells_its_kind(self) -> None:
        """The name of a constant tells the set."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        package = folder / "v1beta2"
        package.mkdir()
        (package / "types.go").write_text(_PACKAGE)
        self.assertEqual(
            {
                ("Machine", "NodeHealthy", "v1beta2"),
                ("Machine", "NodeReady", "v1beta2"),
                ("Machine", "Paused", "v1beta2"),
                ("Cluster", "ControlPlaneReady", "v1beta1"),
            },
            {
                each
                for each in conditions.declared(package, {})
                if each.kind == "Machine" or each.set == "v1beta1"
            },
        )

    def test_releases_are_the_first_and_the_last_with_a_type(self) -> None:
        old = conditions.Found("Machine", "Ready", "v1beta1")
        new = conditions.Found("Machine", "Ready", "v1beta2")
        ready = {"releases": "1.8 to 1.10", "set": "both"}
        self.assertEqual(
            {"Machine": {"Ready": ready}},
            conditions.component({"1.8": {old}, "1.9": set(), "1.10": {new}}),
        )
