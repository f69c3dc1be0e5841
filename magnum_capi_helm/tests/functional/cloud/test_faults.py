# SPDX-License-Identifier: Apache-2.0

"""Users read of faults of the cloud within two status polls.

Real services refuse or fail, CAPO's own controllers meet that, and
``openstack coe cluster show`` has the reason.
"""

from __future__ import annotations

from typing import Any

from lab import fault_table
from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional.cloud import fault_case

_NO_VOLUME = "Could not find any available weighted backend"
_VOLUME = {"boot_volume_size": "20"}


def _row(fault: str, where: str) -> fault_table.Row:
    return fault_table.Row(fault, where)


class NetworkTest(fault_case.OneCluster):
    """A cluster meets each fault of its network."""

    def test_one_cluster_meets_each_fault_and_gets_over_it(self) -> None:
        quotas = (
            "networks",
            "routers",
            "security-groups",
            "load-balancers",
            "floating-ips",
        )
        self.on(*quotas)
        self.make()
        for quota, resource in (
            ("networks", "network"),
            ("routers", "router"),
            ("security-groups", "security_group"),
        ):
            watch = self._quota(quota, resource)
            self._get_over(watch, kinds.OPENSTACK_CLUSTER, quota)
        self._balancers()
        watch = self._quota("floating-ips", "floatingip")
        # The next port is that of the first machine.
        self.on("ports")
        self._get_over(watch, kinds.OPENSTACK_CLUSTER, "floating-ips")
        machine = f"{self.name}-control-plane"
        watch = self._port(machine, fault_case.CONTROL_PLANE)
        self._get_over(watch, kinds.OPENSTACK_SERVER, "ports")
        self.complete("CREATE")

    def _quota(self, quota: str, resource: str) -> fault_case.Watch:
        """Wait until a quota of Neutron is named."""
        watch = fault_case.Watch(
            _row(f"Neutron's quota of {quota}", fault_case.CONTROL_PLANE),
            self.uuid,
            self.refused(self.name, f"Quota exceeded .*'{resource}'"),
            rf"infrastructure: Quota exceeded for '{resource}'",
        )
        self.until_named(watch)
        return watch

    def _balancers(self) -> None:
        watch = fault_case.Watch(
            _row(
                "Octavia's quota of load balancers",
                fault_case.CONTROL_PLANE,
            ),
            self.uuid,
            self.refused(self.name, "Quota has been met"),
            r"infrastructure: Quota exceeded for Load ?Balancer",
        )
        self.until_named(watch)
        self.on("octavia")
        self._get_over(watch, kinds.OPENSTACK_CLUSTER, "load-balancers")
        watch = fault_case.Watch(
            _row("load balancer in ERROR", fault_case.CONTROL_PLANE),
            self.uuid,
            self.balancer_failed(self.name),
            r"infrastructure: load balancer \S+ is in state ERROR",
        )
        self.until_named(watch)
        self.off("octavia")
        made = self.balancer(self.name)
        self.mine.load_balancer.delete_load_balancer(made, cascade=True)
        self.until_over(watch)
        watch.row.over += ", when it was deleted"
        self.keep(watch)

    def _port(self, machine: str, where: str) -> fault_case.Watch:
        watch = fault_case.Watch(
            _row("Neutron's quota of ports", where),
            self.uuid,
            self.refused(machine, "Quota exceeded .*'port'"),
            rf"machine {machine}\S*: Quota exceeded for 'port'",
        )
        self.until_named(watch)
        return watch

    def _get_over(
        self, watch: fault_case.Watch, kind: kinds.Kind, fault: str
    ) -> None:
        """End a fault, and wait until its reason is gone."""
        self.off(fault)
        self.look_again(kind, self.name)
        self.until_over(watch)
        self.keep(watch)


class WorkersTest(fault_case.OneCluster):
    """Nodegroups of a cluster that is complete."""

    def test_each_nodegroup_names_its_fault(self) -> None:
        # The type can't be changed while a volume has it.
        self.on("volume-type")
        self.make()
        self.complete("CREATE")
        # One after the other: no poll writes a reason while helm runs.
        no_host = self._of_group("nohost", "no host fits the flavor")
        no_host.said = self.in_error(
            self._group("nohost", flavor_id="m1.worker.nohost")
        )
        no_host.reads = "No valid host was found"
        self.until_named(no_host)
        no_type = self._of_group("type", "no backend has the volume type")
        labels = {**_VOLUME, "boot_volume_type": faults.VOLUME_TYPE}
        no_type.said = self.no_volume(self._group("type", labels=labels))
        no_type.reads = _NO_VOLUME
        self.until_named(no_type)
        self._drop("nohost", no_host)
        self._drop("type", no_type)
        self._quotas_of_workers()

    def _quotas_of_workers(self) -> None:
        self.on("volumes")
        disk = self._group("disk", labels=_VOLUME)
        volumes = self._of_group("disk", "Cinder's quota of volumes")
        volumes.said = self.refused(disk, "VolumeLimitExceeded|Maximum number")
        volumes.reads = "Quota exceeded for volumes"
        self.until_named(volumes)
        self.on("cores")
        cores = self._of_group("cores", "Nova's quota of cores")
        owner = self._group("cores")
        cores.said = self.refused(owner, "Quota exceeded for cores")
        cores.reads = "Quota exceeded for cores"
        self.until_named(cores)
        self.on("ports")
        port = self._group("ports")
        ports = self._of_group("ports", "Neutron's quota of ports")
        ports.said = self.refused(port, "Quota exceeded .*'port'")
        ports.reads = "Quota exceeded for 'port'"
        self.until_named(ports)
        self.off("cores", "volumes", "ports")
        self.look_again(kinds.OPENSTACK_SERVER, port)
        self._give_new_machines(volumes, disk)
        self._give_new_machines(cores, owner)
        self.until_over(ports)
        self.keep(ports)
        self.complete("UPDATE")

    def _group(self, name: str, **fields: Any) -> str:
        """Make a nodegroup of one machine; return its machines' names."""
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        path = f"/clusters/{self.uuid}/nodegroups"
        self.magnum.call(
            "POST", path, {**body, "merge_labels": True, **fields}
        )
        return f"{self.name}-{name}"

    def _of_group(self, group: str, fault: str) -> fault_case.Watch:
        row = _row(fault, fault_case.WORKERS)
        return fault_case.Watch(
            row, self.uuid, lambda: "", "", nodegroup=group
        )

    def _give_new_machines(self, watch: fault_case.Watch, owner: str) -> None:
        self.replace(owner)
        self.until_over(watch)
        watch.row.over += f", with {fault_case.AGAIN}"
        self.keep(watch)

    def _drop(self, group: str, watch: fault_case.Watch) -> None:
        """Delete a nodegroup."""
        groups = self.magnum.nodegroups(self.uuid)
        path = f"/clusters/{self.uuid}/nodegroups/{groups[group]['uuid']}"
        self.magnum.call("DELETE", path)
        self.until(lambda: group not in self.magnum.nodegroups(self.uuid), 120)
        watch.row.over = "the nodegroup was deleted"
        self.keep(watch)


class _ControlPlanes(fault_case.FaultCase):
    """Control planes whose first machine can't be made.

    CAPO gives up on such a machine: it needs a new one.
    """

    def make(self, fault: str, reads: str, **fields: Any) -> fault_case.Watch:
        """Make a cluster whose control plane meets a fault."""
        row = _row(fault, fault_case.CONTROL_PLANE)
        cluster = self.cluster(self.template(**fields))
        return fault_case.Watch(row, cluster, lambda: "", reads)

    def machine(self, watch: fault_case.Watch) -> str:
        """Return the first part of the names of control plane machines."""
        return f"{self.release(watch.cluster)}-control-plane"

    def give_new_machines(self, *watches: fault_case.Watch) -> None:
        """Replace the machines, and wait until the reasons are gone."""
        for each in watches:
            self.replace(self.machine(each))
        for each in watches:
            self.until_over(each)
            each.row.over += f", with {fault_case.AGAIN}"
        self.keep(*watches)


class MachineTest(_ControlPlanes):
    def test_each_control_plane_names_its_fault(self) -> None:
        faults.end("image")
        self.on("volume-type", "pool")
        no_host = self.make(
            "no host fits the flavor",
            "No valid host was found",
            master_flavor_id="m1.control.nohost",
        )
        no_host.said = self.in_error(self.machine(no_host))
        no_type = self.make(
            "no backend has the volume type",
            _NO_VOLUME,
            labels={**_VOLUME, "boot_volume_type": faults.VOLUME_TYPE},
        )
        no_type.said = self.no_volume(self.machine(no_type))
        image = self.make(
            "the image is too large for the flavor",
            "the flavor's disk is too small",
            image_id=faults.LARGE_IMAGE,
        )
        image.said = self.refused(self.machine(image), "disk is smaller")
        pool = self.make(
            "the pool of floating IPs is empty",
            r"infrastructure: network \S+ has no free address",
            external_network_id=faults.NETWORK,
        )
        pool.said = self.refused(
            self.release(pool.cluster), "No more IP addresses available"
        )
        # The driver refuses the image if it is too large before.
        self.on("image")
        self.until_named(no_host, no_type, image, pool, seconds=180)
        self.off("pool", "image")
        self.look_again(kinds.OPENSTACK_CLUSTER, self.release(pool.cluster))
        self.until_over(pool)
        self.give_new_machines(image)
        for each in (no_host, no_type):
            each.row.over = "the cluster was deleted"
        self.keep(pool, no_host, no_type)


class QuotaTest(_ControlPlanes):
    def test_each_control_plane_names_the_quota(self) -> None:
        self.on("instances", "gigabytes")
        instances = self.make(
            "Nova's quota of servers", "Quota exceeded for instances"
        )
        instances.said = self.refused(
            self.machine(instances), "Quota exceeded for instances"
        )
        gigabytes = self.make(
            "Cinder's quota of gigabytes",
            "Quota exceeded for gigabytes",
            labels=_VOLUME,
        )
        gigabytes.said = self.refused(
            self.machine(gigabytes), "gigabytes quota|GigabytesLimit"
        )
        self.until_named(instances, gigabytes, seconds=180)
        self.off("instances", "gigabytes")
        self.give_new_machines(instances, gigabytes)
