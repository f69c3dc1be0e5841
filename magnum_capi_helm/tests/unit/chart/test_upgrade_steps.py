# SPDX-License-Identifier: Apache-2.0

"""Values of each step of an upgrade."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.chart import upgrade_steps

_OLD: dict[str, Any] = {
    "kubernetesVersion": "1.34.2",
    "machineImageId": "i-1",
    "nodeGroups": [
        {"name": "a", "machineCount": 2, "labels": {"x": "1", "y": "2"}},
        {
            "name": "own",
            "machineImageId": "i-9",
            "kubernetesVersion": "1.33.4",
        },
    ],
}
_NEW: dict[str, Any] = {
    "kubernetesVersion": "1.35.1",
    "machineImageId": "i-2",
    "nodeGroups": [
        {
            "name": "a",
            "machineCount": 2,
            "labels": {"x": "1"},
            "kubernetesVersion": "1.35.1",
            "machineImageId": "i-2",
        },
        {
            "name": "own",
            "machineImageId": "i-9",
            "kubernetesVersion": "1.33.4",
        },
    ],
}


class ValuesTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.first = upgrade_steps.first_values(_NEW, _OLD)
        self.plan = upgrade_steps.Upgrade(
            stages=[(True, "1.35.1"), (False, "1.35.1")],
            changes=upgrade_steps.changes(self.first, _NEW),
            step=1,
        )

    def test_groups_keep_image_and_version_in_the_first_step(self) -> None:
        self.assertEqual("1.35.1", self.first["kubernetesVersion"])
        self.assertEqual(
            [
                {
                    "name": "a",
                    "machineCount": 2,
                    "labels": {"x": "1", "y": "2"},
                    "kubernetesVersion": "1.34.2",
                    "machineImageId": "i-1",
                },
                _OLD["nodeGroups"][1],
            ],
            self.first["nodeGroups"],
        )

    def test_the_last_step_ends_with_the_values_of_the_upgrade(self) -> None:
        self.assertEqual(_NEW, self.plan.last_values(self.first))

    def test_a_count_that_changed_meanwhile_stays(self) -> None:
        self.first["nodeGroups"][0]["machineCount"] = 7
        last = self.plan.last_values(self.first)
        self.assertEqual(7, last["nodeGroups"][0]["machineCount"])

    def test_a_group_that_was_made_meanwhile_stays(self) -> None:
        made = {"name": "b", "machineCount": 1}
        self.first["nodeGroups"].append(made)
        last = self.plan.last_values(self.first)
        self.assertEqual(made, last["nodeGroups"][-1])

    def test_the_secret_gives_the_same_plan_back(self) -> None:
        found = upgrade_steps.Upgrade.from_secret(self.plan.to_secret())
        assert found is not None
        self.assertEqual(
            "upgrade, step 2 of 2: workers to v1.35.1", found.text
        )
        self.assertEqual(self.plan.changes, found.changes)
