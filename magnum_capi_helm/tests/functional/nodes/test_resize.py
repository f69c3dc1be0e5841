# SPDX-License-Identifier: Apache-2.0

"""Workers come and go under load, drained, and only those that are named."""

from __future__ import annotations

import time

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.nodes import base

#: The workload's budget while none of its pods may go, and afterwards.
_STRICT, _RELAXED = (
    '{"spec": {"minAvailable": 2}}',
    '{"spec": {"minAvailable": 1}}',
)


class ResizeTest(base.NodesCase):
    """One cluster for all: making one takes most of the time."""

    record_name = "nodes-resize"

    def test_workers_come_and_go_under_load(self) -> None:
        self.make(node_count=2)
        self.record("a cluster with 2 workers is complete")
        self.client = self.serve()
        self.one_more_worker_serves_soon()
        self.a_budget_holds_the_node_that_is_named()

    def one_more_worker_serves_soon(self) -> None:
        self.client.take()
        before, began = self.nodes(), time.monotonic()
        self.ask(3)
        self.complete()
        counts = self.client.take()
        self.record(
            f"2 to 3 workers: {time.monotonic() - began:.0f} s; "
            f"requests: {counts}"
        )
        nodes = self.nodes()
        self.assertEqual(4, len(nodes))
        self.assertLess(before.keys(), nodes.keys())
        self.assertTrue(all(map(base.is_ready, nodes.values())))
        self.assert_served(counts)

    def a_budget_holds_the_node_that_is_named(self) -> None:
        self.budget(_STRICT)
        before, nodes = self.machines(), self.nodes()
        named = self.node_of_a_pod()
        gone = {
            uid for uid, each in before.items() if self.node_of(each) == named
        }
        self.client.take()
        began = time.monotonic()
        self.ask(2, named)
        shown = self.until_reason("keep it from being drained")
        self.record(
            f"3 to 2 workers, {named} is named. status_reason after "
            f"{time.monotonic() - began:.0f} s: {shown}"
        )
        # What hinders it, where, and in the nodegroup as well.
        [pod] = self.pods_on(named)
        self.assertIn(f"default/{pod}", shown)
        self.assertIn("nodegroup default-worker: machine ", shown)
        group = self.magnum.nodegroups(self.uuid)["default-worker"]
        self.assertEqual("UPDATE_IN_PROGRESS", group["status"])
        self.assertIn(f"default/{pod}", group["status_reason"])
        held = self.nodes()
        self.assertEqual(nodes.keys(), held.keys())
        self.assertTrue(view.spec_of(held[named]).get("unschedulable"))

        self.budget(_RELAXED)
        freed = time.monotonic()
        self.complete()
        counts = self.client.take()
        self.record(
            f"the budget is relaxed; complete after "
            f"{time.monotonic() - freed:.0f} s; requests: {counts}"
        )
        left = self.nodes()
        self.assertEqual(nodes.keys() - {named}, left.keys())
        self.assertEqual(before.keys() - gone, self.machines().keys())
        # The other nodes are the same ones, not others of their names.
        self.assertLess(uids(left), uids(nodes))
        self.assert_served(counts)

    # Helpers

    def budget(self, change: str) -> None:
        """Change the PodDisruptionBudget of the workload."""
        self.kubectl(
            "patch", "poddisruptionbudget", "web", f"--patch={change}"
        )

    def node_of_a_pod(self) -> str:
        """Return the node of one pod of the workload."""
        pods = self.get("pods", "--selector=app=web")
        return str(view.spec_of(pods[0])["nodeName"])

    def pods_on(self, node: str) -> list[str]:
        """Return the workload's pods on a node."""
        pods = self.get("pods", "--selector=app=web")
        return [
            view.name_of(each)
            for each in pods
            if view.spec_of(each)["nodeName"] == node
        ]


def uids(nodes: dict[str, view.Object]) -> set[str]:
    """Return the UIDs of nodes."""
    return {str(each["metadata"]["uid"]) for each in nodes.values()}
