# SPDX-License-Identifier: Apache-2.0

"""Servers and load balancers change behind Cluster API's back.

Users and operators do so with ``openstack server`` and ``openstack
loadbalancer``. Health polls report it, and Cluster API and CAPO repair it.
"""

from __future__ import annotations

from typing import Any

from lab import faults
from magnum_capi_helm.tests.functional.cloud import fault_case


class OutsideChangesTest(fault_case.FaultCase):
    """A complete cluster of one control plane node and one worker."""

    def setUp(self) -> None:
        super().setUp()
        self.admin: Any = faults.connect("admin")

    def test_servers_and_load_balancer(self) -> None:
        cluster = self.cluster(self.template())
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"], str(done))
        release = done["stack_id"]
        self.until_health(cluster, "HEALTHY")
        self._stop(cluster, release)
        self._set_to_error(cluster, release)
        self._delete(cluster, release)
        self._delete_load_balancer(cluster, release)
        self.delete(cluster)
        self.assert_all_gone(release)

    def _stop(self, cluster: str, release: str) -> None:
        """A stopped server is not ready until it is started."""
        worker = self._worker(release)
        self.mine.compute.stop_server(worker)
        ill = self.until_health(cluster, "UNHEALTHY")
        reason = ill["health_status_reason"][f"{worker.name}.Ready"]
        self.assertNotEqual("True", reason)
        self.mine.compute.start_server(worker)
        self.until_health(cluster, "HEALTHY")
        self.assertEqual(worker.id, self._worker(release).id)

    def _set_to_error(self, cluster: str, release: str) -> None:
        """Cluster API replaces a machine whose server is in ERROR."""
        worker = self._worker(release)
        self.admin.compute.reset_server_state(worker, "error")
        self.look_at_all(release)
        self._until_replaced(cluster, release, worker)

    def _delete(self, cluster: str, release: str) -> None:
        """Cluster API replaces a machine whose server is gone."""
        worker = self._worker(release)
        self.mine.compute.delete_server(worker)
        self.look_at_all(release)
        self._until_replaced(cluster, release, worker)

    def _delete_load_balancer(self, cluster: str, release: str) -> None:
        """CAPO makes the API's load balancer again, with its address."""
        old = self.balancer(release)
        address = (self.magnum.find(cluster) or {})["api_address"]
        balancers = self.mine.load_balancer
        balancers.delete_load_balancer(old, cascade=True)
        self.until(lambda: self.balancer(release) is None, 60)
        self.look_at_all(release)
        new = self.until(lambda: self._working_balancer(release), 120)
        self.assertNotEqual(old.id, new.id)
        port = new.vip_port_id
        [floating] = self.mine.network.ips(port_id=port)
        self.assertIn(floating.floating_ip_address, address)
        self.until_health(cluster, "HEALTHY")

    def _until_replaced(self, cluster: str, release: str, old: Any) -> None:
        self.until(
            lambda: (
                (new := self._worker(release)) is not None
                and new.id != old.id
                and new.status == "ACTIVE"
            ),
            240,
            lambda: str(self.magnum.find(cluster)),
        )
        self.until_health(cluster, "HEALTHY")
        shown = self.magnum.find(cluster) or {}
        self.assertEqual(
            ("CREATE_COMPLETE", 1), (shown["status"], shown["node_count"])
        )

    def _worker(self, release: str) -> Any:
        """Return the server of the only worker, if there is one."""
        name = f"{release}-default-worker"
        found = list(self.mine.compute.servers(name=name))
        return found[0] if len(found) == 1 else None

    def _working_balancer(self, release: str) -> Any:
        """Return the load balancer once its pool has a member."""
        balancer = self.balancer(release)
        if balancer is None or balancer.provisioning_status != "ACTIVE":
            return None
        for pool in balancer.pools:
            if list(self.mine.load_balancer.members(pool["id"])):
                return balancer
        return None
