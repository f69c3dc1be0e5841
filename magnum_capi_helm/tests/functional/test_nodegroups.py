# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Nodegroups of a living cluster: made, changed, resized, deleted.

By the command line, as users do it: ``openstack coe nodegroup``.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

from magnum_capi_helm.management import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base


class NodegroupTest(base.LabCase):
    """Groups beside the default ones."""

    def setUp(self) -> None:
        super().setUp()
        self.uuid = self.cluster(self.template())
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])

    def coe(self, *words: str) -> str:
        """``openstack coe nodegroup`` as the lab's user."""
        done = subprocess.run(
            [
                str(base.LAB / "venv/bin/openstack"),
                "coe",
                "nodegroup",
                *words,
            ],
            env={
                **os.environ,
                "OS_CLIENT_CONFIG_FILE": str(base.LAB / "clouds.yaml"),
                "OS_CLOUD": "demo",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def add(self, name: str, *words: str) -> None:
        """``openstack coe nodegroup create``; waits for the row."""
        self.coe("create", "--flavor", "m1.worker", *words, self.uuid, name)
        self.until(lambda: name in self.magnum.nodegroups(self.uuid), 30)

    def until_done(self) -> dict[str, dict[str, Any]]:
        """The groups, once the cluster is complete again."""
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual(
            ("UPDATE_COMPLETE", None), (done["status"], done["status_reason"])
        )
        return self.magnum.nodegroups(self.uuid)

    def deployments(self) -> dict[str, view.Object]:
        """Live MachineDeployments, by the chart's name of the group."""
        found = self.plane.list(
            kinds.MACHINE_DEPLOYMENT,
            self.namespace,
            f"{view.CHART_CLUSTER_LABEL}={self.release}",
        )
        prefix = f"{self.release}-"
        return {view.name_of(e).removeprefix(prefix): e for e in found}

    def bootstrap(self, group: str) -> str:
        """The bootstrap template of a group: another one rolls it."""
        spec = view.spec_of(self.deployments()[group])
        return str(spec["template"]["spec"]["bootstrap"]["configRef"]["name"])

    def test_a_group_from_creation_to_deletion(self) -> None:
        self.add("gpu", "--node-count", "2", "--min-nodes", "1")
        groups = self.until_done()
        self.assertEqual("CREATE_COMPLETE", groups["gpu"]["status"])
        self.assertEqual(2, len(groups["gpu"]["node_addresses"]))
        self.assertEqual({"default-worker", "gpu"}, set(self.deployments()))

        self._resize("gpu", 1)
        self.assertEqual(1, len(self.until_done()["gpu"]["node_addresses"]))

        self.coe("delete", self.uuid, "gpu")
        self.until(lambda: "gpu" not in self.magnum.nodegroups(self.uuid), 180)
        self.until_done()
        self.assertEqual({"default-worker"}, set(self.deployments()))

    def _resize(self, group: str, count: int) -> None:
        uuid = self.magnum.nodegroups(self.uuid)[group]["uuid"]
        self.magnum.call(
            "POST",
            f"/clusters/{self.uuid}/actions/resize",
            {"node_count": count, "nodegroup": uuid},
        )
        self.until(
            lambda: (
                view.spec_of(self.deployments()[group]).get("replicas")
                == count
            ),
            60,
        )

    def test_two_groups_at_once_with_names_alike(self) -> None:
        self.add("worker_1")
        self.add("worker-1")
        groups = self.until_done()
        self.assertEqual(
            {"CREATE_COMPLETE"},
            {groups[each]["status"] for each in ("worker_1", "worker-1")},
        )
        self.assertEqual(3, len(self.deployments()))

    def test_labels_roll_their_group_and_no_other(self) -> None:
        self.add("gpu")
        group = self.until_done()["gpu"]
        if "node_labels" not in group:
            self.skipTest("this Magnum has no labels of nodes")
        before = {each: self.bootstrap(each) for each in self.deployments()}
        self.coe("update", "--node-labels", "tier=gpu", self.uuid, "gpu")
        self.until(lambda: self.bootstrap("gpu") != before["gpu"], 60)
        self.until_done()
        self.assertEqual(
            before["default-worker"], self.bootstrap("default-worker")
        )

    def test_bounds_that_no_autoscaler_uses_roll_nothing(self) -> None:
        self.add("gpu")
        self.until_done()
        before = self.bootstrap("gpu")
        self.coe("update", "--max-nodes", "3", self.uuid, "gpu")
        groups = self.until(self._with_maximum, 30)
        self.until_done()
        self.assertEqual(3, groups["gpu"]["max_node_count"])
        self.assertEqual(before, self.bootstrap("gpu"))

    def _with_maximum(self) -> dict[str, dict[str, Any]] | None:
        groups = self.magnum.nodegroups(self.uuid)
        return groups if groups["gpu"]["max_node_count"] else None

    def test_a_refused_group_can_be_removed(self) -> None:
        self.add("odd", "--labels", "boot_volume_size=big", "--merge-labels")
        group = self.until(lambda: self._failed("odd"), 30)
        self.assertIn("boot_volume_size", group["status_reason"])
        # Magnum calls the cluster failed; the health poll knows better.
        self.until_status(self.uuid, ("UPDATE_COMPLETE",), 120)
        self.coe("delete", self.uuid, "odd")
        self.until(lambda: "odd" not in self.magnum.nodegroups(self.uuid), 30)
        self.until_status(self.uuid, ("UPDATE_COMPLETE",), 120)

    def _failed(self, name: str) -> dict[str, Any] | None:
        group = self.magnum.nodegroups(self.uuid).get(name) or {}
        return group if group.get("status") == "CREATE_FAILED" else None
