# SPDX-License-Identifier: Apache-2.0

"""A nodegroup with the operator's profiles, through Magnum's handlers."""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.lifecycle import rolling

LABELS = {"capi_helm_nodegroup_profiles": "gpu"}
PROFILE = """
nodeLabels: {accelerator: a100}
kubeadmConfigSpec: {preKubeadmCommands: [modprobe nvidia]}
"""


class NodegroupProfileTest(rolling.RolloutTestCase):
    """Of one group; that of the cluster has the same name, and is empty."""

    def setUp(self) -> None:
        super().setUp()
        folder = self.folder / "groups"
        folder.mkdir()
        self.own = folder / "gpu.yaml"
        self.own.write_text(PROFILE)
        conf.CONF.set_override(
            "nodegroup_profile_dir", str(folder), "capi_helm"
        )

    def items(self) -> dict[str, dict[str, Any]]:
        """The items that helm was last given, by name."""
        return {each["name"]: each for each in self.told()["nodeGroups"]}

    def of_profile(self) -> tuple[str | None, list[str]]:
        """What the group has of the profile."""
        item = self.items()["gpu"]
        commands = item["kubeadmConfigSpec"]["preKubeadmCommands"]
        return item["nodeLabels"].get("accelerator"), commands

    def test_the_group_alone_has_it(self) -> None:
        before = self.told()
        self.add("gpu", labels=LABELS)
        self.assertEqual(("a100", ["modprobe nvidia"]), self.of_profile())
        after = self.told()
        after["nodeGroups"].pop()
        self.assertEqual(before, after)

    def test_a_wrong_profile_is_refused_before_a_write(self) -> None:
        for name, content, text in (
            (
                "big",
                "",
                "label capi_helm_nodegroup_profiles: give names of the "
                "operator's profiles. It is 'big'; there are gpu",
            ),
            (
                "gpu",
                "machineCount: 9",
                "nodegroup profile gpu: machineCount is not a nodegroup's to "
                "set: give ",
            ),
        ):
            self.own.write_text(content)
            before = self.kept(), len(self.helm.upgrades)
            error = self.assertRaises(
                exception.MagnumException,
                self.add,
                f"of-{name}",
                labels={"capi_helm_nodegroup_profiles": name},
            )
            self.assertIn(text, self.log.output)
            told = "not configured for this" if content else text
            self.assertIn(told, str(error))
            self.assertEqual(before, (self.kept(), len(self.helm.upgrades)))

    def test_commands_of_all_groups_stay(self) -> None:
        self.add("gpu", labels=LABELS)
        self.settle()
        self.all.write_text(
            "nodeGroupDefaults: "
            "{kubeadmConfigSpec: {preKubeadmCommands: [sysctl -p]}}"
        )
        self.rolled_out(files=True, replacing=True)
        self.assertEqual(
            ("a100", ["sysctl -p", "modprobe nvidia"]), self.of_profile()
        )

    def test_a_changed_profile_comes_with_a_rollout(self) -> None:
        self.add("gpu", labels=LABELS)
        self.settle()
        others = self.items()["default-worker"]
        self.own.write_text("nodeLabels: {accelerator: h100}")
        self.assertEqual(
            "machines would be replaced, in gpu (1): --allow-replacement "
            "lets them be",
            self.no(),
        )
        self.rolled_out(files=True, replacing=True)
        # As for clusters: what is left out stays until an upgrade.
        self.assertEqual(("h100", ["modprobe nvidia"]), self.of_profile())
        self.assertEqual(others, self.items()["default-worker"])
        self.assertIsNone(self.look().desired)
        self.upgrade(self.row().cluster_template)
        item = self.items()["gpu"]
        self.assertEqual("h100", item["nodeLabels"]["accelerator"])
        self.assertNotIn("kubeadmConfigSpec", item)

    def test_new_node_labels_keep_those_of_the_profile(self) -> None:
        self.add("gpu", labels=LABELS)
        self.settle()
        self.change("gpu", node_labels={"tier": "2"})
        self.assertEqual("2", self.items()["gpu"]["nodeLabels"]["tier"])
        self.assertEqual(("a100", ["modprobe nvidia"]), self.of_profile())
