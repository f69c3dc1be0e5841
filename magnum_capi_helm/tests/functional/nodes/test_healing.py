# SPDX-License-Identifier: Apache-2.0

"""Servers that stop: what health says, and how they are replaced."""

from __future__ import annotations

import time

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.nodes import base

#: The shortest that the label takes. Kubernetes itself needs 50 seconds to
#: miss a node.
_LABELS = {"auto_healing_unhealthy_timeout": "1m"}


class HealingCase(base.NodesCase):
    """A server stops, and Cluster API replaces its machine."""

    def loses(self, part: str) -> None:
        """Stop a server, and wait until another one is in its place.

        :param part: of the cluster, as in names of machines
        """
        machines = self.machines(part)
        uid, machine = min(machines.items())
        node, nodes = self.node_of(machine), self.nodes()
        began = time.monotonic()
        self.stop_server(machine)
        self.record(f"the server of {node} is stopped")

        self.until_health(self.uuid, "UNHEALTHY")
        reason = self.row()["health_status_reason"]
        self.note(began, f"UNHEALTHY: {ill(reason)}")
        self.assertIn(reason[f"{node}.Ready"], ("Unknown", "False"))

        self.until(lambda: uid not in self.machines(part), 300)
        self.note(began, f"Cluster API deletes the machine of {node}")
        self.until(
            lambda: (
                len(now := self.machines(part)) == len(machines)
                and all(map(base.has_node, now.values()))
            ),
            base.PATIENCE,
        )
        self.note(began, "another machine has its node")
        self.until_health(self.uuid, "HEALTHY")
        self.note(began, "HEALTHY")
        self.until(lambda: node not in self.nodes(), 300)
        now = self.nodes()
        self.assertEqual(len(nodes), len(now))
        self.assertEqual(
            {node}, nodes.keys() - now.keys(), "others were replaced as well"
        )
        self.assertTrue(all(map(base.is_ready, now.values())))
        # A replacement is no operation of the user's.
        self.assertEqual("CREATE_COMPLETE", self.row()["status"])

    def note(self, began: float, text: str) -> None:
        """Record a text with the seconds since a server stopped."""
        self.record(f"after {time.monotonic() - began:.0f} s: {text}")


class WorkerTest(HealingCase):
    """A worker's server is stopped."""

    record_name = "nodes-worker-lost"

    def test_a_worker_is_replaced(self) -> None:
        self.make(node_count=2, labels=_LABELS)
        self.record("a cluster with 2 workers is complete")
        client = self.serve()
        client.take()
        self.loses("worker")
        counts = client.take()
        self.record(f"requests to the workload: {counts}")
        self.assertGreater(counts.answered, counts.lost)
        # Afterwards nothing is lost any more.
        time.sleep(30)
        after = client.take()
        self.record(f"in the next half a minute: {after}")
        self.assertEqual(0, after.lost)
        self.the_only_control_plane_server_is_missed()

    def the_only_control_plane_server_is_missed(self) -> None:
        """Cluster API replaces no member of one: the server has to start."""
        [machine] = self.machines("control-plane").values()
        began = time.monotonic()
        self.stop_server(machine)
        self.record("the only server of the control plane is stopped")
        self.until_health(self.uuid, "UNHEALTHY")
        reason = self.row()["health_status_reason"]
        self.note(began, f"UNHEALTHY: {ill(reason)}")
        self.assertNotEqual("ok", reason["api"])
        began = time.monotonic()
        self.start_server(machine)
        self.until_health(self.uuid, "HEALTHY")
        self.record(
            f"HEALTHY {time.monotonic() - began:.0f} s after the server "
            "started again"
        )
        self.assertEqual(
            [view.name_of(machine)],
            list(map(view.name_of, self.machines("control-plane").values())),
        )


class ControlPlaneTest(HealingCase):
    """One of three control plane servers is stopped."""

    record_name = "nodes-control-plane-lost"

    def test_a_member_of_three_is_replaced(self) -> None:
        self.make(master_count=3, node_count=1, labels=_LABELS)
        self.record("a cluster with a control plane of 3 is complete")
        self.members_are_nodes()
        client, api = self.serve(), self.ask_api()
        client.take()
        api.take()
        self.loses("control-plane")
        answered = api.take()
        self.record(f"requests to the workload: {client.take()}")
        self.record(f"requests to the Kubernetes API: {answered}")
        self.members_are_nodes()
        self.assertGreater(answered.answered, 10 * answered.lost)

    def members_are_nodes(self) -> None:
        """Fail if etcd's members are not the three nodes."""
        machines = self.machines("control-plane").values()
        members = self.etcd_members()
        self.assertEqual(set(map(self.node_of, machines)), members)
        self.assertEqual(3, len(members))
        self.record("etcd has 3 members, one on each node")


def ill(reason: dict[str, str]) -> str:
    """Return the parts of a health that are not well, in words."""
    return ", ".join(
        f"{key} {text}"
        for key, text in reason.items()
        if text not in ("ok", "True")
    )
