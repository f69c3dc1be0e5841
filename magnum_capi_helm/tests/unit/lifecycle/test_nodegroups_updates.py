# SPDX-License-Identifier: Apache-2.0

"""Nodegroups are changed, and scaled by the autoscaler."""

from __future__ import annotations

from collections.abc import Mapping
import types
from typing import Any

from magnum.common import exception
from magnum.conductor.handlers import nodegroup_conductor

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.lifecycle import base

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
AUTOSCALED = {"auto_scaling_enabled": "true"}


class UpdateTestCase(base.FlowTestCase):
    """A cluster with a group of the user's."""

    #: Labels of the cluster, and fields of the group.
    labels: Mapping[str, str] = types.MappingProxyType({})
    group: Mapping[str, Any] = types.MappingProxyType({})

    def setUp(self) -> None:
        super().setUp()
        self.complete(labels=dict(self.labels))
        self.add("gpu", node_count=2, **self.group)
        self.settle()
        self.helm_runs = len(self.helm.upgrades)

    def settle(self) -> None:
        """Machines come up, and a poll sees it."""
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def item(self) -> dict[str, Any]:
        """The group as helm was last told of it."""
        [found] = [e for e in self.node_groups() if e["name"] == "gpu"]
        return found

    def taints(self) -> Any:
        """The group's taints in the values."""
        spec = self.item()["kubeadmConfigSpec"]
        return spec["joinConfiguration"]["nodeRegistration"]["taints"]


class UpdateTest(UpdateTestCase):
    """``coe nodegroup update``."""

    def test_labels_reach_the_group_and_nothing_else_changes(self) -> None:
        before = self.helm.upgrades[-1].values
        self.change("gpu", node_labels={"tier": "gpu"})
        after = self.helm.upgrades[-1].values
        self.assertEqual("gpu", self.item()["nodeLabels"].pop("tier"))
        for values in (before, after):
            del values["clusterAnnotations"]
        self.assertEqual(before, after)
        self.assertEqual("UPDATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.groups()["gpu"].status)

    def test_a_label_that_is_taken_away_goes(self) -> None:
        self.change("gpu", node_labels={"a": "1", "b": "2"})
        self.settle()
        self.change("gpu", node_labels={"b": "2"})
        self.assertNotIn("a", self.item()["nodeLabels"])
        self.assertEqual("2", self.item()["nodeLabels"]["b"])

    def test_taints_come_and_go(self) -> None:
        self.change("gpu", node_taints=[TAINT])
        self.assertEqual([TAINT], self.taints())
        self.settle()
        self.change("gpu", node_taints=[])
        self.assertNotIn("kubeadmConfigSpec", self.item())

    def test_two_changes_that_are_not_applied_yet_are_both_made(self) -> None:
        with self.busy():
            self.change("gpu", node_labels={"tier": "gpu"})
            self.change("gpu", node_taints=[TAINT])
        self.poll()
        self.assertEqual("gpu", self.item()["nodeLabels"]["tier"])
        self.assertEqual([TAINT], self.taints())
        self.settle()

    def test_two_requests_that_were_read_before_either_was_served(
        self,
    ) -> None:
        bound, labelled = self.groups()["gpu"], self.groups()["gpu"]
        if "node_labels" not in labelled.fields:
            self.skipTest("nodegroups of this Magnum have no labels of nodes")
        bound.max_node_count = 5
        labelled.node_labels = {"tier": "gpu"}
        for each in (bound, labelled):
            nodegroup_conductor.Handler().nodegroup_update(
                self.context, self.row(), each
            )
        self.settle()
        self.assertEqual("gpu", self.item()["nodeLabels"]["tier"])
        self.assertEqual(5, self.groups()["gpu"].max_node_count)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_change_that_is_taken_back_before_it_is_applied(self) -> None:
        before = self.item()
        with self.busy():
            self.change("gpu", node_labels={"tier": "gpu"})
            self.change("gpu", node_labels={})
        self.poll()
        self.assertEqual(before, self.item())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_without_a_change_nothing_is_applied(self) -> None:
        self.change("gpu")
        self.assertEqual(self.helm_runs, len(self.helm.upgrades))
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("UPDATE_COMPLETE", self.groups()["gpu"].status)

    def test_no_question_goes_to_openstack(self) -> None:
        asked = self.openstack.mocker.call_count
        self.change("gpu", node_labels={"tier": "gpu"})
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_an_applied_update_leaves_no_parked_request(self) -> None:
        self.change("gpu", node_labels={"tier": "gpu"})
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_resize_of_another_group_keeps_it(self) -> None:
        self.change("gpu", node_labels={"tier": "gpu"}, node_taints=[TAINT])
        self.settle()
        wanted = self.item()
        self.resize(4)
        self.assertEqual(wanted, self.item())


class RefusedUpdateTest(UpdateTestCase):
    """What was wrong is not kept: it would look like something to do."""

    def refused(self, words: str, **fields: Any) -> None:
        old = self.groups()["gpu"]
        error = self.assertRaises(
            exception.InvalidParameterValue, self.change, "gpu", **fields
        )
        self.assertIn(words, str(error))
        new = self.groups()["gpu"]
        for name in fields:
            self.assertEqual(getattr(old, name), getattr(new, name))
        self.assertEqual("UPDATE_FAILED", new.status)
        self.assertEqual(self.helm_runs, len(self.helm.upgrades))
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_label_that_no_kubelet_may_set(self) -> None:
        self.refused("node_labels", node_labels={"kubernetes.io/x": "y"})

    def test_a_taint_without_a_known_effect_is_refused(self) -> None:
        self.refused(
            "node_taints", node_taints=[{"key": "a", "effect": "Never"}]
        )

    def test_an_unreachable_management_cluster(self) -> None:
        self.management.unreachable()
        self.assertRaises(
            exception.MagnumException,
            self.change,
            "gpu",
            node_labels={"tier": "gpu"},
        )
        self.assertFalse(self.groups()["gpu"].node_labels)


class AutoscaledTest(UpdateTestCase):
    """Groups of a cluster with the autoscaler."""

    labels = AUTOSCALED
    group = types.MappingProxyType(
        {"labels": AUTOSCALED, "min_node_count": 1, "max_node_count": 4}
    )

    def test_a_new_group_has_bounds_and_no_count(self) -> None:
        self.assertNotIn("machineCount", self.item())
        self.assertEqual(
            (True, 1, 4),
            tuple(
                self.item()[key]
                for key in ("autoscale", "machineCountMin", "machineCountMax")
            ),
        )

    def test_new_bounds_reach_the_values(self) -> None:
        before = self.item()
        self.change("gpu", max_node_count=6)
        self.assertEqual({**before, "machineCountMax": 6}, self.item())
        self.settle()
        self.change("gpu", min_node_count=2)
        self.assertEqual(2, self.item()["machineCountMin"])
        self.assertEqual(6, self.item()["machineCountMax"])

    def test_bounds_that_leave_no_choice_end_the_scaling(self) -> None:
        self.change("gpu", min_node_count=2, max_node_count=2)
        self.assertEqual(2, self.item()["machineCount"])
        for key in ("autoscale", "machineCountMin", "machineCountMax"):
            self.assertNotIn(key, self.item())
        self.settle()
        self.change("gpu", max_node_count=3)
        self.assertNotIn("machineCount", self.item())
        self.assertEqual(3, self.item()["machineCountMax"])

    def test_its_count_is_the_users_within_its_bounds_alone(self) -> None:
        self.assertRaises(
            exception.InvalidParameterValue, self.resize, 5, "gpu"
        )
        self.resize(3, "gpu")
        self.assertEqual(3, self.replicas("gpu"))
        self.assertNotIn("machineCount", self.item())

    def test_a_group_beside_it_is_resized(self) -> None:
        # It has no bounds that leave the autoscaler a choice.
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.settle()

    def test_whatever_the_autoscaler_chooses_is_complete(self) -> None:
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-gpu",
            {"spec": {"replicas": 4}},
        )
        self.change("gpu", node_labels={"tier": "gpu"})
        self.settle()
        self.assertEqual(4, self.replicas("gpu"))

    def test_an_autoscaled_nodegroup_is_deleted(self) -> None:
        self.remove("gpu")
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())
