# SPDX-License-Identifier: Apache-2.0

"""Nodes that go when a group shrinks, where the user chooses them."""

from __future__ import annotations

from collections.abc import Sequence

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.lifecycle import base

MARK = "cluster.x-k8s.io/delete-machine"


class RemovalTestCase(base.FlowTestCase):
    """A cluster with four workers."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.resize(4)
        self.capi.settle()
        self.poll()
        self.m0, self.m1, self.m2, self.m3 = self.machines()

    def machines(self, group: str = "default-worker") -> list[str]:
        """Names of a group's machines."""
        found = self.server.list(kinds.MACHINE, base.NAMESPACE)
        owner = f"{base.RELEASE}-{group}"
        return [
            view.name_of(each)
            for each in found
            if view.labels_of(each).get(view.DEPLOYMENT_LABEL) == owner
        ]

    def marked(self) -> set[str]:
        """Names of the machines that are marked to go."""
        found = self.server.list(kinds.MACHINE, base.NAMESPACE)
        return {
            view.name_of(each)
            for each in found
            if MARK in view.annotations_of(each)
        }

    def shrink(
        self, count: int, nodes: Sequence[str], name: str = "default-worker"
    ) -> None:
        """``coe cluster resize --nodes-to-remove``, through the handler."""
        self.handler.cluster_resize(
            self.context, self.row(), count, list(nodes), self.groups()[name]
        )


class ChosenTest(RemovalTestCase):
    """Nodes that the group has."""

    def test_each_of_a_nodes_names(self) -> None:
        self.server.set_status(
            kinds.MACHINE,
            base.NAMESPACE,
            self.m2,
            {"nodeRef": {"name": "node-2"}},
        )
        self.shrink(1, [self.m0, "node-2", f"server-{self.m3}"])
        self.assertEqual({self.m0, self.m2, self.m3}, self.marked())
        self.capi.settle()
        self.poll()
        self.assertEqual([self.m1], self.machines())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_count_that_falls_by_more_leaves_the_rest_to_the_group(
        self,
    ) -> None:
        self.shrink(1, [self.m0])
        self.capi.settle()
        self.assertNotIn(self.m0, self.machines())
        self.assertEqual(1, len(self.machines()))

    def test_they_are_marked_before_the_count_falls(self) -> None:
        self.management.requests.clear()
        self.helm.upgrades.clear()
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["get"],
            kind=kinds.LEASE,
        )
        self.shrink(3, [self.m0])
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual({self.m0}, self.marked())

    def test_a_busy_lease_does_not_lose_them(self) -> None:
        with self.busy():
            self.shrink(3, [self.m1])
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.capi.settle()
        self.assertEqual([self.m0, self.m2, self.m3], self.machines())

    def test_two_requests_before_the_first_is_applied(self) -> None:
        with self.busy():
            self.shrink(3, [self.m1])
            self.shrink(2, [self.m2])
        self.poll()
        self.capi.settle()
        self.assertEqual([self.m0, self.m3], self.machines())

    def test_a_count_that_goes_up_again_takes_them_back(self) -> None:
        with self.busy():
            self.shrink(3, [self.m1])
        self.resize(4)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(set(), self.marked())
        self.assertEqual(4, len(self.machines()))

    def test_a_machine_that_was_marked_and_is_still_there_goes(self) -> None:
        self.shrink(3, [self.m1])
        # The count has fallen, and nobody has seen it yet.
        self.resize(3)
        self.assertEqual({self.m1}, self.marked())

    def test_a_foreign_mark_stays(self) -> None:
        self.server.patch(
            kinds.MACHINE,
            base.NAMESPACE,
            self.m1,
            {"metadata": {"annotations": {MARK: "yes"}}},
        )
        self.resize(4)
        self.assertEqual({self.m1}, self.marked())

    def test_a_group_of_the_autoscaler(self) -> None:
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            f"{base.RELEASE}-default-worker",
            {
                "metadata": {
                    "annotations": {
                        view.AUTOSCALER_MINIMUM: "1",
                        view.AUTOSCALER_ANNOTATION: "5",
                    }
                }
            },
        )
        self.shrink(3, [self.m1])
        self.assertEqual({self.m1}, self.marked())
        self.assertEqual(3, self.replicas())


class RefusedRemovalTest(RemovalTestCase):
    """What is refused marks nothing, and the count is put back."""

    def refused(self, words: str, count: int, nodes: Sequence[str]) -> None:
        name = "default-worker"
        old = self.groups()[name].node_count
        runs = len(self.helm.upgrades)
        error = self.assertRaises(
            exception.InvalidParameterValue, self.shrink, count, nodes, name
        )
        self.assertIn(words, str(error))
        self.assertEqual(set(), self.marked())
        self.assertEqual(old, self.groups()[name].node_count)
        self.assertEqual(runs, len(self.helm.upgrades))

    def test_a_node_that_is_not_there(self) -> None:
        self.refused(
            "nodegroup 'default-worker' has no 'x', 'y'; its nodes are "
            f"{self.m0}, {self.m1}, {self.m2}, {self.m3}",
            2,
            ["x", self.m0, "y"],
        )

    def test_a_machine_that_cannot_be_marked(self) -> None:
        self.management.fail(
            errors.ManagementError("refused (403)"),
            verbs=["patch"],
            kind=kinds.MACHINE,
            name=self.m1,
        )
        self.assertRaises(
            exception.MagnumException, self.shrink, 2, [self.m0, self.m1]
        )
        self.assertEqual(set(), self.marked())
        self.assertEqual(4, self.groups()["default-worker"].node_count)

    def test_an_unreachable_management_cluster(self) -> None:
        self.management.unreachable()
        self.assertRaises(exception.MagnumException, self.shrink, 3, [self.m0])
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(4, self.groups()["default-worker"].node_count)
