# SPDX-License-Identifier: Apache-2.0

"""Groups grow and shrink, the control plane too, as users ask for it."""

from __future__ import annotations

from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base


class ResizeCase(base.LabCase):
    """Helpers of the tests below."""

    def setUp(self) -> None:
        super().setUp()
        self.uuid = ""
        self.release = ""

    def make(self, **fields: Any) -> None:
        """A complete cluster."""
        self.uuid = self.cluster(self.template(), **fields)
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])

    def machines(self, part: str = "worker") -> dict[str, view.Object]:
        """Live machines of a part of the cluster, by UID."""
        found = self.plane.list(
            kinds.MACHINE,
            self.namespace,
            f"{view.CLUSTER_NAME_LABEL}={self.release}",
        )
        return {
            each["metadata"]["uid"]: each
            for each in found
            if part in view.name_of(each) and not view.deleting(each)
        }

    def ask(self, count: int, *nodes: str, nodegroup: str = "") -> None:
        """Ask for a resize, and wait for nothing."""
        body: dict[str, Any] = {"node_count": count}
        if nodes:
            body["nodes_to_remove"] = list(nodes)
        if nodegroup:
            body["nodegroup"] = nodegroup
        path = f"/clusters/{self.uuid}/actions/resize"
        self.magnum.call("POST", path, body)

    def complete(self) -> dict[str, Any]:
        """The cluster, once the update is over."""
        self.until_status(self.uuid, ("UPDATE_IN_PROGRESS",), 90)
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        return done

    def refused(self, words: str) -> None:
        """The update failed with such a reason."""

        def reason() -> str:
            found = self.magnum.find(self.uuid) or {}
            failed = found["status"] == "UPDATE_FAILED"
            return str(found["status_reason"]) if failed else ""

        self.until(lambda: words in reason(), 60, words)


class ResizeTest(ResizeCase):
    """A cluster whose counts are the user's."""

    def test_masters_workers_and_chosen_nodes(self) -> None:
        # One cluster for all: making one takes most of the time.
        self.make(node_count=2)
        self.masters_come_and_go()
        self.workers_go_to_none_and_back()
        self.nodes_go_by_each_of_their_names()
        self.an_update_is_a_resize_without_rollback()
        self.unknown_nodes_are_refused()

    def masters_come_and_go(self) -> None:
        first = set(self.machines("control-plane"))
        workers = set(self.machines())
        for count in (3, 1):
            self.ask(count, nodegroup="default-master")
            done = self.complete()
            self.assertEqual(count, done["master_count"])
            self.assertEqual(count, len(done["master_addresses"]))
            self.assertEqual(count, len(self.machines("control-plane")))
            if count == 3:
                self.assertLess(first, set(self.machines("control-plane")))
        self.assertEqual(workers, set(self.machines()))
        error = self.assertRaises(
            ka_exceptions.BadRequest, self.ask, 2, nodegroup="default-master"
        )
        self.assertIn("give 1, 3, 5 or 7", str(error))
        shown = self.magnum.find(self.uuid) or {}
        self.assertEqual("UPDATE_COMPLETE", shown["status"])

    def workers_go_to_none_and_back(self) -> None:
        for count in (0, 4):
            self.ask(count)
            self.assertEqual(count, self.complete()["node_count"])
            self.assertEqual(count, len(self.machines()))

    def nodes_go_by_each_of_their_names(self) -> None:
        before = self.machines()
        first, second, third, stays = before
        server = view.spec_of(before[first])["providerID"].split("/")[-1]
        node = view.status_of(before[second])["nodeRef"]["name"]
        self.ask(1, server, node, view.name_of(before[third]))
        self.complete()
        self.assertEqual({stays}, set(self.machines()))

    def unknown_nodes_are_refused(self) -> None:
        known, _ = self.machines().values()
        self.ask(0, "nobody")
        self.refused("nodegroup 'default-worker' has no 'nobody'")
        self.ask(2, view.name_of(known))
        self.refused("node_count is at most 1, not 2")
        for each in self.machines().values():
            self.assertNotIn(
                "cluster.x-k8s.io/delete-machine", view.annotations_of(each)
            )
        self.assertEqual(
            2,
            self.magnum.nodegroups(self.uuid)["default-worker"]["node_count"],
        )

    def an_update_is_a_resize_without_rollback(self) -> None:
        change = [{"op": "replace", "path": "/node_count", "value": 2}]
        path = f"/clusters/{self.uuid}"
        self.magnum.call("PATCH", f"{path}?rollback=True", change)
        self.refused("rollback of a failed update is not supported")
        # Magnum takes no update of a failed cluster; this one is well.
        self.healed(self.uuid)
        self.assertEqual(1, len(self.machines()))
        self.magnum.call("PATCH", path, change)
        self.assertEqual(2, self.complete()["node_count"])
