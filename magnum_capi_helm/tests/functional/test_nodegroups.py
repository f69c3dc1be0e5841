# SPDX-License-Identifier: Apache-2.0

"""Nodegroups of a living cluster: made, changed, resized, deleted.

By the command line, as users do it: ``openstack coe nodegroup``.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_TAINTED = ("--node-taints", "only=me:PreferNoSchedule")


class NodegroupTest(base.LabCase):
    """Groups beside the default ones."""

    def setUp(self) -> None:
        super().setUp()
        self.uuid = self.cluster(self.template())
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        # Until then Magnum has neither labels nor taints for nodes.
        self.knows_nodes = self.magnum.newest() >= (1, 14)

    def coe(self, *words: str) -> str:
        """``openstack coe nodegroup`` as the lab's user."""
        return programs.openstack("coe", "nodegroup", *words)

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

    def chart_name(self, name: str) -> str:
        """The chart's name of a group."""
        return names.node_group(name, self.release)

    def registration(self, name: str) -> dict[str, Any]:
        """How the kubelets of a group register their nodes."""
        found = self.plane.get(
            kinds.CONFIG_TEMPLATE,
            self.namespace,
            self.bootstrap(self.chart_name(name)),
        )
        assert found is not None
        spec = found["spec"]["template"]["spec"]
        return dict(spec["joinConfiguration"]["nodeRegistration"])

    def test_groups_come_change_and_go(self) -> None:
        # One cluster for all: making one takes most of the time.
        self.two_at_once_with_names_alike()
        self.bounds_that_no_autoscaler_uses_roll_nothing()
        if self.knows_nodes:
            self.labels_roll_their_group_and_no_other()
        self.a_resize_of_one_group()
        self.a_refused_group_can_be_removed()
        self.a_deleted_group_is_gone()

    def a_resize_of_one_group(self) -> None:
        uuid = self.magnum.nodegroups(self.uuid)["worker-1"]["uuid"]
        self.resize(self.uuid, 2, uuid)
        groups = self.magnum.nodegroups(self.uuid)
        self.assertEqual(2, len(groups["worker-1"]["node_addresses"]))
        self.assertEqual(1, len(groups["worker_1"]["node_addresses"]))

    def a_deleted_group_is_gone(self) -> None:
        self.coe("delete", self.uuid, "worker-1")
        self.until(
            lambda: "worker-1" not in self.magnum.nodegroups(self.uuid), 180
        )
        self.until_done()
        self.assertNotIn("worker-1", self.deployments())
        self.assertEqual(2, len(self.deployments()))

    def two_at_once_with_names_alike(self) -> None:
        self.add("worker_1", *(_TAINTED if self.knows_nodes else ()))
        self.add("worker-1")
        groups = self.until_done()
        self.assertEqual(
            {"CREATE_COMPLETE"},
            {groups[each]["status"] for each in ("worker_1", "worker-1")},
        )
        self.assertEqual(3, len(self.deployments()))
        if self.knows_nodes:
            self.assertEqual(
                {"key": "only", "value": "me", "effect": "PreferNoSchedule"},
                self.registration("worker_1")["taints"][0],
            )

    def labels_roll_their_group_and_no_other(self) -> None:
        before = {each: self.bootstrap(each) for each in self.deployments()}
        group = self.chart_name("worker_1")
        self.coe("update", "--node-labels", "tier=a", self.uuid, "worker_1")
        self.until(lambda: self.bootstrap(group) != before[group], 60)
        self.until_done()
        after = {each: self.bootstrap(each) for each in self.deployments()}
        self.assertEqual(
            {group}, {each for each in after if after[each] != before[each]}
        )

    def bounds_that_no_autoscaler_uses_roll_nothing(self) -> None:
        before = self.bootstrap("worker-1")
        self.coe("update", "--max-nodes", "3", self.uuid, "worker-1")
        self.until(self._with_maximum, 30)
        self.until_done()
        self.assertEqual(before, self.bootstrap("worker-1"))

    def _with_maximum(self) -> bool:
        group = self.magnum.nodegroups(self.uuid)["worker-1"]
        return bool(group["max_node_count"] == 3)

    def a_refused_group_can_be_removed(self) -> None:
        # Some Magnums look at the size of volumes themselves.
        self.add("odd", "--labels", "boot_volume_type=odd", "--merge-labels")
        group = self.until(lambda: self._failed("odd"), 30)
        self.assertIn("boot_volume_type", group["status_reason"])
        # Magnum calls the cluster failed.
        self.healed(self.uuid)
        self.coe("delete", self.uuid, "odd")
        self.until(lambda: "odd" not in self.magnum.nodegroups(self.uuid), 30)
        self.until_status(self.uuid, ("UPDATE_COMPLETE",), 120)

    def _failed(self, name: str) -> dict[str, Any] | None:
        group = self.magnum.nodegroups(self.uuid).get(name) or {}
        return group if group.get("status") == "CREATE_FAILED" else None
