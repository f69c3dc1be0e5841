# SPDX-License-Identifier: Apache-2.0

"""``coe cluster upgrade --nodegroup default-master``."""

from __future__ import annotations

from typing import Any

import fixtures

from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.features import nodes
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import test_template_guard_builds

_ALONE = {"control-plane": upgrading.NEW, "default-worker": upgrading.OLD}
_BOTH = {"control-plane": upgrading.NEW, "default-worker": upgrading.NEW}


class AloneTestCase(upgrading.UpgradeTestCase):
    """A cluster of 1.34.2."""

    def alone(self, **fields: Any) -> None:
        """The control plane gets such a template, and all comes up."""
        new = self.template(**{"image_id": "ubuntu-1.35", **fields})
        self.upgrade(new, nodegroup="default-master")
        self.settle()

    def images(self) -> dict[str, str]:
        return {each.name: each.image_id for each in self.groups().values()}


class AloneTest(AloneTestCase):
    """Workers stay, until the plain request replaces them."""

    def test_workers_and_their_row_stay(self) -> None:
        self.alone()
        self.assertEqual(_ALONE, self.machines())
        row = self.row()
        self.assertEqual("UPDATE_COMPLETE", row.status)
        self.assertEqual("v1.35.1", row.coe_version)
        self.assertEqual("ubuntu-1.35", row.cluster_template.image_id)
        rows = {"default-master": "ubuntu-1.35"}
        rows["default-worker"] = "ubuntu-1.34"
        self.assertEqual(rows, self.images())
        self.assertNotIn(upgrade_steps.Upgrade.KEY, self.intent_keys())

    def test_the_plain_request_replaces_the_workers_alone(self) -> None:
        self.add("theirs")
        self.add("mine", image_id="ubuntu-1.34.3")
        self.settle()
        self.alone()
        told, before = len(self.helm.upgrades), self.helm.upgrades[-1].values
        self.upgrade(self.row().cluster_template)
        self.settle()
        own = ("1.34.3", "i-1.34.3")
        expected = {**_BOTH, "theirs": upgrading.NEW, "mine": own}
        self.assertEqual(expected, self.machines())
        self.assertEqual(told + 1, len(self.helm.upgrades))
        after = self.helm.upgrades[-1].values
        self.assertEqual(before["controlPlane"], after["controlPlane"])
        self.assertEqual({"UPDATE_COMPLETE"}, self.upgraded_statuses())

    def test_a_new_group_has_the_version_of_the_control_plane(self) -> None:
        self.alone()
        self.add("later", image_id=self.row().cluster_template.image_id)
        self.assertEqual(upgrading.NEW, self.machines()["later"])


class RefusalTest(AloneTestCase):
    """Requests that the workers don't fit."""

    def refused_alone(self, **fields: Any) -> str:
        new = self.template(**{"image_id": "ubuntu-1.35", **fields})
        return self.refused(new, nodegroup="default-master")

    def test_workers_that_would_be_too_old_are_refused(self) -> None:
        self.useFixture(fixtures.MockPatchObject(nodes, "SKEW", 0))
        self.assertEqual(
            "upgrade or delete the nodegroup that keeps its image first: a "
            "control plane works with nodes of its own minor version of "
            "Kubernetes or up to 0 older ones. Nodegroup 'default-worker' has "
            "v1.34.2, and the control plane gets v1.35.1",
            self.refused_alone(),
        )

    def test_another_flavor_of_workers_is_refused(self) -> None:
        self.assertEqual(
            "flavor_id: choose a template with the flavor of the cluster's "
            "template, or upgrade the whole cluster, without --nodegroup. It "
            "is 'm1.large', and the cluster's template has 'm1.medium'",
            self.refused_alone(flavor_id="m1.large"),
        )

    def test_a_chart_that_replaces_workers_as_well(self) -> None:
        test_template_guard_builds.put_build(
            self.helm, test_template_guard_builds.PATCHED
        )
        self.assertEqual(
            "nodegroup: upgrade the whole cluster, without --nodegroup, since "
            "chart, labels or options change the machines of workers as well. "
            "They are those of default-worker",
            self.refused_alone(),
        )
