# SPDX-License-Identifier: Apache-2.0

"""Users read what keeps a machine or a cluster from being deleted.

One cluster meets one obstacle after the other, in the order in which CAPO
deletes: servers, their ports, load balancer, network.
"""

from __future__ import annotations

from typing import Any

from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import project
from magnum_capi_helm.tests.functional.cloud import fault_case

_DELETION = "deletion of the cluster"
#: Seconds after which the driver asks for events of a machine that is to go.
_MUTE = 60


class DeletionTest(fault_case.OneCluster):
    """Obstacles that users and operators make."""

    def test_each_obstacle_to_a_deletion_is_named(self) -> None:
        self.make(node_count=2)
        self.complete("CREATE")
        self._locked_server()
        network = self.mine.network
        subnet = project.Project(self).subnet_of(self.name)
        foreign = network.create_port(
            network_id=subnet["network_id"], name="of-the-user"
        )
        self.addCleanup(network.delete_port, foreign)
        self.on("port-policy")
        self.magnum.call("DELETE", f"/clusters/{self.uuid}")
        port = self._watch(
            "Neutron's policy forbids the deletion of a port",
            f"{self.name}-",
            "Failed to delete port",
            r"machine \S+: .*port",
            silent=_MUTE,
        )
        self.off("port-policy")
        self.look_again(kinds.OPENSTACK_SERVER, self.name)
        self.finish(port)
        self._halt_octavia()
        self._balancer()
        watch = self._watch(
            "the network has another port",
            self.name,
            "Failed to delete network",
            r"network \S{36} .*ports",
        )
        network.delete_port(foreign)
        self._go_on(watch)
        self.until(lambda: self.gone(self.uuid), 240)
        self.assert_all_gone(self.name)

    def _watch(
        self, fault: str, owner: str, phrase: str, reads: str, silent: int = 0
    ) -> fault_case.Watch:
        """Wait until an obstacle to the deletion is named."""
        said = self.refused(owner, phrase)
        watch = self.watch(fault, said, reads, where=_DELETION, silent=silent)
        self.until_named(watch, seconds=180)
        return watch

    def _go_on(self, watch: fault_case.Watch) -> None:
        self.look_again(kinds.OPENSTACK_CLUSTER, self.name)
        self.finish(watch)

    def _locked_server(self) -> None:
        """A resize removes a machine whose server an administrator locked."""
        admin: Any = faults.connect()
        servers = [
            each
            for each in self.mine.compute.servers()
            if each.name.startswith(f"{self.name}-default-worker")
        ]
        for each in servers:
            admin.compute.lock_server(each, locked_reason="maintenance")
            self.addCleanup(self._unlock, admin, each)
        self.ask(self.uuid, 1)
        watch = self.watch(
            "the server is locked",
            self.refused(f"{self.name}-default-worker", "locked"),
            r"machine \S+: .*locked",
            where="resize down",
        )
        self.until_named(watch)
        for each in servers:
            admin.compute.unlock_server(each)
        self.look_again(kinds.OPENSTACK_SERVER, self.name)
        self.finish(watch)
        self.complete("UPDATE")

    def _unlock(self, admin: Any, server: Any) -> None:
        found = admin.compute.find_server(server.id, all_projects=True)
        if found:
            admin.compute.unlock_server(found)

    def _halt_octavia(self) -> None:
        """Let the load balancer stay PENDING_UPDATE.

        The last machine leaves it first, and waits for its own port then.
        """
        self.on("port-policy")
        balancer = self.balancer(self.name)
        [pool] = balancer.pools
        members = self.mine.load_balancer.members
        self.until(lambda: not list(members(pool["id"])), 240)
        self.on("octavia-stuck")
        self.mine.load_balancer.update_load_balancer(
            balancer, description="is changed"
        )
        self.off("port-policy")
        self.look_again(kinds.OPENSTACK_SERVER, self.name)

    def _balancer(self) -> None:
        watch = self._watch(
            "load balancer in PENDING_UPDATE",
            self.name,
            "Invalid state PENDING",
            "load balancer .*PENDING",
        )
        self.off("octavia-stuck")
        self._go_on(watch)
