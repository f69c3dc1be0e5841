# SPDX-License-Identifier: Apache-2.0

"""Users read what is wrong with servers that have joined.

While nothing changes, the health alone has it; a change has it as its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.cloud import fault_case

#: Seconds until Kubernetes misses a kubelet (node-monitor-grace-period).
_GRACE = 50
_HEALING = {
    "auto_healing_unhealthy_timeout": "1m",
    "auto_healing_max_unhealthy": "1",
}


class NodesTest(fault_case.OneCluster):
    """Two workers, of which Cluster API replaces one at a time."""

    project = "demo"

    def test_each_fault_of_servers_is_named(self) -> None:
        self.make(labels=_HEALING, merge_labels=True, node_count=2)
        self.complete("CREATE")
        self._in_error()
        self._all_stopped()

    def _workers(self) -> list[Any]:
        name = f"{self.name}-default-worker"
        found = self.mine.compute.servers()
        return [each for each in found if each.name.startswith(name)]

    def _in_error(self) -> None:
        """Nova loses a server that has joined."""
        worker = self._workers()[0]
        admin: Any = faults.connect()
        admin.compute.reset_server_state(worker, "error")
        self.look_again(kinds.OPENSTACK_SERVER, worker.name)
        self.ask(self.uuid, 2)
        watch = self.watch(
            "a server that has joined goes into ERROR",
            lambda: f"status: {self._status(worker)}",
            r"machine \S+: the server went into the state ERROR",
            entry=f"{worker.name}.Ready: ",
        )
        self.until_named(watch)
        self.finish(watch, how=": auto-healing has replaced the machine")
        self.complete("UPDATE")

    def _stopped(self, server: Any) -> Callable[[], str]:
        def said() -> str:
            status = self._status(server)
            return f"status: {status}" if status == "SHUTOFF" else ""

        return said

    def _status(self, server: Any) -> str:
        return str(self.mine.compute.get_server(server.id).status)

    def _all_stopped(self) -> None:
        """More machines are ill than may be replaced."""
        workers = self._workers()
        for each in workers:
            self.mine.compute.stop_server(each)
        stopped = self.watch(
            "all servers of a group are stopped",
            self._stopped(workers[1]),
            "",
            silent=_GRACE,
            entry=f"{workers[1].name}.Ready: ",
        )
        self.until_named(stopped)
        many = self.watch(
            "more machines are ill than maxUnhealthy",
            self._not_allowed(),
            "no machine is replaced: 2 of 2 are unhealthy, at most 1 may be",
            entry=r"\.Ready: Unknown",
        )
        self.until(many.said, 240)
        self.ask(self.uuid, 2)
        self.until_named(many)
        for each in workers:
            self.mine.compute.start_server(each)
        self.look_at_all(self.name)
        self.finish(many, stopped)
        self.complete("UPDATE")

    def _not_allowed(self) -> Callable[[], str]:
        """Give the message of the group's MachineHealthCheck."""

        def said() -> str:
            for each in self.plane.list(kinds.HEALTH_CHECK, self.namespace):
                if view.name_of(each) == f"{self.name}-default-worker":
                    found = conditions.merged(each).get("RemediationAllowed")
                    # Machines that are not started yet count as well.
                    if found and "unhealthy: 2" in found.message:
                        return found.message
            return ""

        return said
