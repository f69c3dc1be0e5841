# SPDX-License-Identifier: Apache-2.0

"""Users read of faults of the cloud within two status polls.

Real services refuse or fail, CAPO's own controllers meet that, and
``openstack coe cluster show`` has the reason. There is a fault for each way
in which the driver learns of one; unit tests have the words of others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional.cloud import fault_case

#: Seconds after which the driver asks OpenStack what CAPO does not say.
_MUTE = 60


class NetworkTest(fault_case.OneCluster):
    """A cluster meets faults of its network."""

    def test_a_cluster_meets_each_fault_and_gets_over_it(self) -> None:
        self.on("networks", "octavia")
        self.make()
        quota = self.watch(
            "Neutron's quota of networks",
            self.refused(self.name, "Quota exceeded .*'network'"),
            "infrastructure: Quota exceeded for 'network'",
            where=fault_case.CONTROL_PLANE,
        )
        self.until_named(quota)
        self.off("networks")
        self.look_again(kinds.OPENSTACK_CLUSTER, self.name)
        self.finish(quota)
        balancer = self.watch(
            "load balancer in ERROR",
            self.balancer_failed(self.name),
            r"infrastructure: load balancer \S+ is in state ERROR",
            where=fault_case.CONTROL_PLANE,
        )
        self.until_named(balancer)
        self.off("octavia")
        made = self.balancer(self.name)
        self.mine.load_balancer.delete_load_balancer(made, cascade=True)
        self.finish(balancer, how=", when it was deleted")
        self.complete("CREATE")


class WorkersTest(fault_case.OneCluster):
    """Nodegroups of a cluster that is complete."""

    def test_each_nodegroup_names_its_fault(self) -> None:
        # The type can't be changed while a volume has it.
        self.on("volume-type")
        self.off("flavor")
        self.make(self.template(flavor_id=faults.FLAVOR), node_count=0)
        self.complete("CREATE")
        # One after the other: no poll writes a reason while helm runs.
        no_host = self._broken_group(
            "nohost",
            "no host fits the flavor",
            self.in_error,
            "No valid host was found",
            flavor_id="m1.worker.nohost",
        )
        labels = {
            "boot_volume_size": "20",
            "boot_volume_type": faults.VOLUME_TYPE,
        }
        no_type = self._broken_group(
            "type",
            "no backend has the volume type",
            self.no_volume,
            "Could not find any available weighted backend",
            labels=labels,
        )
        self._drop(no_host)
        self._drop(no_type)
        self._quotas()
        self._flavor()

    def _quotas(self) -> None:
        self.on("cores")
        cores = self._broken_group(
            "cores",
            "Nova's quota of cores",
            lambda owner: self.refused(owner, "Quota exceeded for cores"),
            "Quota exceeded for cores",
        )
        self.on("ports")
        ports = self._broken_group(
            "ports",
            "Neutron's quota of ports",
            lambda owner: self.refused(owner, "Quota exceeded .*'port'"),
            "Quota exceeded for 'port'",
        )
        self.off("cores", "ports")
        self.look_again(kinds.OPENSTACK_SERVER, f"{self.name}-ports")
        # CAPO gives up on such a machine: it needs a new one.
        self.replace(f"{self.name}-cores")
        self.finish(cores, how=f", with {fault_case.AGAIN}")
        self.finish(ports)
        self.complete("UPDATE")

    def _flavor(self) -> None:
        """CAPO tells of it in its log alone: the driver asks OpenStack."""
        self.on("flavor")
        said = self.mute(f"{self.name}-default-worker", "[Ff]lavor")
        self.ask(self.uuid, 1)
        watch = self.watch(
            "the flavor is gone",
            said,
            r"flavor \S+ does not exist",
            silent=_MUTE,
        )
        self.until_named(watch, seconds=180)
        self.off("flavor")
        self.look_again(kinds.OPENSTACK_SERVER, self.name)
        self.finish(watch)
        self.complete("UPDATE")

    def _broken_group(
        self,
        group: str,
        fault: str,
        said: Callable[[str], Callable[[], str]],
        reads: str,
        **fields: Any,
    ) -> fault_case.Watch:
        """Make a nodegroup of one machine, and wait for its fault.

        :param said: takes the beginning of the machine's name
        """
        body = {"name": group, "flavor_id": "m1.worker", "node_count": 1}
        path = f"/clusters/{self.uuid}/nodegroups"
        self.magnum.call(
            "POST", path, {**body, "merge_labels": True, **fields}
        )
        owner = f"{self.name}-{group}"
        watch = self.watch(fault, said(owner), reads, nodegroup=group)
        self.until_named(watch)
        return watch

    def _drop(self, watch: fault_case.Watch) -> None:
        """Delete a nodegroup."""
        groups = self.magnum.nodegroups(self.uuid)
        group = groups[str(watch.nodegroup)]
        path = f"/clusters/{self.uuid}/nodegroups/{group['uuid']}"
        self.magnum.call("DELETE", path)
        self.until(
            lambda: group["name"] not in self.magnum.nodegroups(self.uuid), 120
        )
        watch.row.over = "the nodegroup was deleted"
        self.keep(watch)
