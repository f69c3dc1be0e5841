# SPDX-License-Identifier: Apache-2.0

"""Conditions of both sets, what they mean, and whether they are current."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import conditions
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


class PolarityTest(base.BaseTestCase):
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
            self.assertEqual(current, conditions.is_current(obj))
