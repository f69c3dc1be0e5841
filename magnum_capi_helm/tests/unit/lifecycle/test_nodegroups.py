# SPDX-License-Identifier: Apache-2.0

"""Nodegroups are added, through Magnum's own handler."""

from __future__ import annotations

from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.tests.unit.lifecycle import base


class AddTest(base.NodegroupTestCase):
    """``coe nodegroup create``."""

    def test_only_the_new_group_is_added_to_the_values(self) -> None:
        before = self.helm.upgrades[-1].values
        self.add("gpu", node_count=3)
        after = self.helm.upgrades[-1].values
        new = after["nodeGroups"].pop()
        self.assertEqual("gpu", new["name"])
        self.assertEqual(3, new["machineCount"])
        self.assertEqual("m1.medium", new["machineFlavor"])
        self.assertEqual("i-1", new["machineImageId"])
        self.assertEqual("1.34.2", new["kubernetesVersion"])
        for values in (before, after):
            del values["clusterAnnotations"]
        self.assertEqual(before, after)

    def test_only_its_own_labels_are_looked_at(self) -> None:
        self.add("old", labels={"boot_volume_sise": "20"})
        row = self.row()
        row.labels = {"owner": "me", "capi_helm_chart_version": "0.1.0"}
        row.save()
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        # Magnum copies the cluster's labels.
        self.add("gpu", labels=dict(row.labels))
        self.assertIn("gpu", self.names())

    def test_a_label_without_effect_is_warned_of(self) -> None:
        self.add("gpu", labels={"pods_cidr": "banana", "owner": "me"})
        self.assertIn("gpu", self.names())
        self.assertEqual(
            [
                f"WARNING cluster {base.UUID}: label 'owner' is not known; "
                "label pods_cidr is read from the template and the cluster "
                "alone"
            ],
            self.warnings(),
        )

    def test_a_cluster_that_is_there_keeps_what_would_be_refused(
        self,
    ) -> None:
        row = self.row()
        row.labels = {
            "audit_log_policy_level": "Request",
            # Without a size: 1.4.0 took it without effect.
            "boot_volume_type": "fast",
        }
        row.save()
        self.add("gpu")
        self.assertIn("gpu", self.names())

    def test_a_nodegroup_is_in_progress_until_its_machines_are_ready(
        self,
    ) -> None:
        self.add("gpu", node_count=2)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assertEqual(
            "nodegroup gpu: 0 of 2 machines ready", self.row().status_reason
        )
        self.settle()
        group = self.groups()["gpu"]
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("CREATE_COMPLETE", group.status)
        self.assertEqual(2, len(group.node_addresses))
        self.assertEqual(base.RELEASE, group.stack_id)

    def test_a_group_that_gets_no_server_says_why(self) -> None:
        self.add("gpu")
        self.capi.fail_machine("gpu")
        self.poll()
        self.assertIn("No valid host", self.groups()["gpu"].status_reason)
        self.assertIn("nodegroup gpu", self.row().status_reason)

    def test_a_new_nodegroup_is_resized(self) -> None:
        self.add("gpu")
        self.settle()
        for count in (0, 3):
            self.resize(count, "gpu")
            self.settle()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)
            self.assertEqual(count, self.replicas("gpu"))
        self.assertEqual(2, self.replicas())

    def test_an_applied_nodegroup_leaves_no_parked_request(self) -> None:
        self.add("gpu")
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_nodes_of_a_new_group_get_labels_and_taints(self) -> None:
        self.add(
            "gpu",
            node_labels={"tier": "gpu"},
            node_taints=[{"key": "gpu", "effect": "NoSchedule"}],
        )
        new = self.node_groups()[-1]
        self.assertEqual("gpu", new["nodeLabels"]["tier"])
        self.assertEqual(
            {
                "joinConfiguration": {
                    "nodeRegistration": {
                        "taints": [{"key": "gpu", "effect": "NoSchedule"}]
                    }
                }
            },
            new["kubeadmConfigSpec"],
        )

    def test_a_group_of_another_projects_admin_belongs_to_the_cluster(
        self,
    ) -> None:
        self.add("gpu", project_id="an-admins-project")
        self.settle()
        self.resize(3)
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class RefusedAddTest(base.NodegroupTestCase):
    """Refused before anything is written."""

    def refused(self, words: str, name: str = "gpu", **fields: Any) -> None:
        runs = len(self.helm.upgrades)
        self.management.requests.clear()
        error = self.assertRaises(
            exception.InvalidParameterValue, self.add, name, **fields
        )
        self.assertIn(words, str(error))
        written = {"create", "replace", "apply", "patch", "delete"}
        self.assertEqual(
            [], [r for r in self.management.requests if r.verb in written]
        )
        group = self.groups()[name]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertEqual(str(error), group.status_reason)
        self.assertIsNone(group.stack_id)
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assertEqual(
            ("UPDATE_FAILED", f"nodegroup {name}: {error}"),
            (self.row().status, self.row().status_reason),
        )

    def test_the_cluster_says_no_more_of_it_once_it_is_gone(self) -> None:
        self.refused("there is no such flavor", flavor_id="m1.huge")
        self.remove("gpu")
        self.poll()
        self.assertEqual(
            ("UPDATE_COMPLETE", None),
            (self.row().status, self.row().status_reason),
        )

    def test_an_unknown_flavor_is_refused(self) -> None:
        self.refused("there is no such flavor", flavor_id="m1.huge")

    def test_an_unknown_image_is_refused(self) -> None:
        self.refused("there is no such image", image_id="dos")

    def test_a_label_that_is_wrong(self) -> None:
        self.refused("boot_volume_size", labels={"boot_volume_size": "big"})

    def test_a_project_without_quota_is_refused(self) -> None:
        words = "not enough quota: instances"
        self.useFixture(
            fixtures.MockPatchObject(
                quota,
                "check_group",
                side_effect=errors.InvalidInput(words),
            )
        )
        self.refused(words)

    def test_a_node_label_that_no_kubelet_may_set(self) -> None:
        self.refused("node_labels", node_labels={"kubernetes.io/x": "y"})

    def test_the_cluster_recovers_and_the_group_can_be_removed(self) -> None:
        self.refused("no such flavor", flavor_id="m1.huge")
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("CREATE_FAILED", self.groups()["gpu"].status)
        runs = len(self.helm.upgrades)
        self.remove("gpu")
        self.assertNotIn("gpu", self.groups())
        self.assertEqual(runs, len(self.helm.upgrades))
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_no_other_operation_makes_it(self) -> None:
        self.refused("no such flavor", flavor_id="m1.huge")
        self.resize(3)
        self.assertEqual(["default-worker"], self.names())

    def test_an_unreachable_management_cluster_refuses_it(self) -> None:
        self.management.unreachable()
        self.assertRaises(exception.MagnumException, self.add, "gpu")
        self.assertEqual("CREATE_FAILED", self.groups()["gpu"].status)


class NamesTest(base.NodegroupTestCase):
    """What users call groups, and what the chart calls them."""

    def test_names_that_1_4_0_took_for_one_are_two_groups(self) -> None:
        for name in ("worker-1", "worker_1"):
            self.add(name)
        made = names.node_group("worker_1", base.RELEASE)
        self.assertEqual(["default-worker", "worker-1", made], self.names())
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.remove("worker-1")
        self.assertEqual(["default-worker", made], self.names())
        self.poll()
        self.assertIn("worker-1", self.groups())
        self.capi.remove_group("worker-1")
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertNotIn("worker-1", self.groups())
        self.assertEqual(1, self.replicas(made))

    def test_a_name_next_to_one_that_is_being_deleted(self) -> None:
        self.add("worker-1")
        self.settle()
        self.remove("worker-1")
        self.add("worker_1")
        made = names.node_group("worker_1", base.RELEASE)
        self.assertEqual(["default-worker", made], self.names())

    def test_names_that_no_chart_takes(self) -> None:
        for name in ("Größe", "control-plane", "1", "世界", "x" * 255):
            self.add(name)
            self.settle()
            self.assertEqual("UPDATE_COMPLETE", self.row().status, name)
            self.assertEqual("CREATE_COMPLETE", self.groups()[name].status)
        self.assertEqual(6, len(set(self.names())))
        self.assertNotIn("control-plane", self.names())
