# SPDX-License-Identifier: Apache-2.0

"""Clusters of 1.4.0 with labels and names that no new one could have."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum.common import exception
from magnum.conductor.handlers import nodegroup_conductor

from magnum_capi_helm import runtime
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit import test_driver_legacy


class OddLabelTest(test_driver_legacy.LegacyTest):
    """1.4.0 took any value of a label; a living cluster keeps working."""

    def labels(self) -> dict[str, str]:
        return {"octavia_lb_healthcheck": "yup", "boot_volume_size": "big"}

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        old = cluster_spec.Image("i-0", "ubuntu-1.30", "1.30.1", "ubuntu")
        return dataclasses.replace(found, images={old.name: old})

    def test_a_nodegroup_is_added_all_the_same(self) -> None:
        self.add("more", labels=self.labels(), image_id="ubuntu-1.30")
        [*_, made] = self.helm.upgrades[-1].values["nodeGroups"]
        self.assertEqual("more", made["name"])
        self.assertNotIn("machineRootVolume", made)

    def test_a_value_of_the_new_group_itself_is_refused(self) -> None:
        refused = self.assertRaises(
            exception.InvalidParameterValue,
            self.add,
            "more",
            labels={**self.labels(), "boot_volume_size": "huge"},
        )
        self.assertIn("label boot_volume_size: ", str(refused))
        self.assertIn("It is 'huge'", str(refused))


class OddGroupTest(test_driver_legacy.LegacyTest):
    """A group that 1.4.0 made under its own spelling of the name."""

    def setUp(self) -> None:
        super().setUp()
        self.nodegroup(
            self.row(),
            name="GPU_1",
            status="CREATE_COMPLETE",
            stack_id=test_driver_legacy.RELEASE,
        )

    def legacy_values(self) -> dict[str, Any]:
        values = super().legacy_values()
        values["nodeGroups"].append(
            {"name": "gpu-1", "machineFlavor": "gpu", "machineCount": 1}
        )
        return values

    def test_a_legacy_group_keeps_its_name(self) -> None:
        self.resize(3)
        names = [
            group["name"]
            for group in self.helm.upgrades[-1].values["nodeGroups"]
        ]
        self.assertEqual(["default-worker", "gpu-1"], names)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_resize_keeps_its_chart_and_its_values(self) -> None:
        self.handler.cluster_resize(
            self.context, self.row(), 2, [], self.groups()["GPU_1"]
        )
        [call] = self.helm.upgrades
        counts = {
            each["name"]: each["machineCount"]
            for each in call.values["nodeGroups"]
        }
        self.assertEqual({"default-worker": 2, "gpu-1": 2}, counts)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_deleted_legacy_group_does_not_come_back(self) -> None:
        for _ in range(2):
            nodegroup_conductor.Handler().nodegroup_delete(
                self.context, self.row(), self.groups()["GPU_1"]
            )
        self.resize(3)
        groups = self.helm.upgrades[-1].values["nodeGroups"]
        self.assertEqual(["default-worker"], [g["name"] for g in groups])
        self.capi.remove_group("gpu-1")
        self.capi.settle()
        self.poll()
        self.assertNotIn("GPU_1", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class LongNameTest(test_driver_legacy.LegacyTestCase):
    """A release of 43 characters, in which the chart cuts more names."""

    release = f"{'w' * 30}-x7fj2kq9dm4w"

    def test_an_addon_with_two_parts_is_refused(self) -> None:
        name = "intel_device_plugin_enabled"
        given = {name: "true", "capi_helm_chart_version": "0.16.1"}
        new = self.template(image_id="ubuntu-1.31", labels=given)
        row = self.row()
        upgrade = self.assertRaises(
            exception.NotSupported,
            self.handler.cluster_upgrade,
            self.context,
            row,
            new,
            1,
            self.groups()["default-worker"],
        )
        apply = self.assertRaises(
            errors.LabelError,
            rollout.plan,
            cluster_release.Release(self.admin, self.row(), runtime.get()),
            rollout.Order(labels={name: "true"}),
        )
        text = (
            f"label {name}: give false: release {self.release} has more than "
            "41 characters, so the chart would make two addons of one name. "
            "It is 'true'"
        )
        self.assertIn(text, str(upgrade))
        self.assertEqual(text, str(apply))
        self.assertEqual([], self.helm.upgrades)
