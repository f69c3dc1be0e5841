# SPDX-License-Identifier: Apache-2.0

"""``describe`` of a cluster whose deletion cannot log in to OpenStack."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import described
from magnum_capi_helm.tests.unit.lifecycle import base

RESOURCE = f"{base.NAMESPACE}-{base.RELEASE}"
MADE = f"k8s-clusterapi-cluster-{RESOURCE}"
WORKER = f"{base.RELEASE}-default-worker"
PLANE = f"{base.RELEASE}-control-plane"
#: What cluster-api-provider-openstack 0.14.6 writes when all is made.
INFRASTRUCTURE: dict[str, Any] = {
    "ready": True,
    "network": {
        "name": MADE,
        "id": "net-id",
        "subnets": [{"name": MADE, "id": "sub-id", "cidr": "192.168.3.0/24"}],
    },
    "router": {"name": MADE, "id": "router-id"},
    "apiServerLoadBalancer": {
        "name": f"{MADE}-kubeapi",
        "id": "lb-id",
        "ip": "203.0.113.10",
        "internalIP": "192.168.3.5",
    },
    "controlPlaneSecurityGroup": {
        "name": f"k8s-cluster-{RESOURCE}-secgroup-controlplane",
        "id": "group-id",
    },
    "workerSecurityGroup": {
        "name": f"k8s-cluster-{RESOURCE}-secgroup-worker",
        "id": "group-2-id",
    },
}
OF_ALL = [
    f"server {PLANE}-m0 (server-0)",
    f"server {WORKER}-m0 (server-1)",
    "port port-0",
    "port port-1",
    f"volume {WORKER}-m1-root",
    f"volume {WORKER}-m1-etcd",
    f"load balancer {MADE}-kubeapi (lb-id)",
    "floating IP 203.0.113.10",
    f"router {MADE} (router-id)",
    f"subnet {MADE} (sub-id)",
    f"network {MADE} (net-id)",
    f"security group k8s-cluster-{RESOURCE}-secgroup-controlplane (group-id)",
    f"security group k8s-cluster-{RESOURCE}-secgroup-worker (group-2-id)",
]


class DescribeDeletionTest(described.DescribeTestCase):
    """The project is deleted, and then the cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.infrastructure(INFRASTRUCTURE)
        self.openstack.deleted.add(openstack.PROJECT)
        self.delete()
        self.poll()

    def infrastructure(
        self, status: dict[str, Any], **spec: dict[str, Any] | str
    ) -> None:
        key = (kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*key, {"spec": spec})
        self.server.set_status(*key, status)

    def openstack_server(
        self, name: str, spec: dict[str, Any], status: dict[str, Any]
    ) -> None:
        meta = {
            "name": name,
            "namespace": base.NAMESPACE,
            "labels": {"cluster.x-k8s.io/cluster-name": base.RELEASE},
        }
        made = {"metadata": meta, "spec": spec}
        self.server.create(kinds.OPENSTACK_SERVER, made)
        self.server.set_status(
            kinds.OPENSTACK_SERVER, base.NAMESPACE, name, status
        )

    def openstack_servers(self) -> None:
        """Two servers, and one that has volumes only."""
        for number, name in enumerate((f"{PLANE}-m0", f"{WORKER}-m0")):
            ports = {"ports": [{"id": f"port-{number}"}]}
            self.openstack_server(
                name,
                {"rootVolume": {"sizeGiB": 20}},
                {"instanceID": f"server-{number}", "resources": ports},
            )
        etcd = {"name": "etcd", "storage": {"type": "Volume"}}
        scratch = {"name": "scratch", "storage": {"type": "Local"}}
        self.openstack_server(
            f"{WORKER}-m1",
            {
                "rootVolume": {"sizeGiB": 20},
                "additionalBlockDevices": [etcd, scratch],
            },
            {},
        )

    def listed(self) -> list[str]:
        self.out.seek(0)
        self.out.truncate()
        self.assertEqual(1, self.describe())
        lines = [e.strip("│├└─ ") for e in self.out.getvalue().splitlines()]
        [start] = [
            at
            for at, each in enumerate(lines)
            if each.startswith("OpenStack ")
        ]
        return lines[start + 1 :]

    def test_the_tree_names_the_deleted_project(self) -> None:
        self.assertIn(
            f"project {openstack.PROJECT} is deleted",
            "\n".join(self.lines()),
        )

    def test_all_that_the_objects_name_in_the_order_of_deletion(
        self,
    ) -> None:
        self.openstack_servers()
        self.assertEqual(OF_ALL, self.listed())

    def test_objects_of_the_user_are_not_listed(self) -> None:
        theirs = {"name": "theirs", "id": "their-id"}
        self.infrastructure(
            {
                **INFRASTRUCTURE,
                "network": {**theirs, "subnets": [theirs]},
                "router": theirs,
                "controlPlaneSecurityGroup": theirs,
                "workerSecurityGroup": None,
            },
            apiServerFloatingIP="203.0.113.10",
        )
        self.assertEqual(
            [f"load balancer {MADE}-kubeapi (lb-id)"], self.listed()
        )

    def test_the_address_is_listed_if_capo_v1beta2_made_it(self) -> None:
        balancer = INFRASTRUCTURE["apiServerLoadBalancer"]
        newer = {
            "apiServerManagedLoadBalancer": balancer,
            "apiServerLoadBalancer": None,
        }
        for spec, is_listed in (
            ({"port": 6443}, True),
            ({"enableFloatingIP": True}, True),
            ({"enableFloatingIP": False}, False),
            ({"floatingIP": "203.0.113.10"}, False),
        ):
            with self.subTest(str(spec)):
                self.infrastructure(newer, apiServer=spec)
                found = self.listed()
                self.assertEqual(OF_ALL[6], found[0])
                self.assertEqual(is_listed, OF_ALL[7] in found)

    def test_servers_of_an_older_provider_are_listed(self) -> None:
        """There is no OpenStackServer; OpenStackMachines have the ids."""
        name = f"{WORKER}-m0"
        self.server.set_status(
            kinds.OPENSTACK_MACHINE,
            base.NAMESPACE,
            name,
            {"instanceID": "server-1"},
        )
        self.assertEqual(f"server {name} (server-1)", self.listed()[0])

    def test_unreadable_servers_leave_the_other_objects_listed(self) -> None:
        self.management.fail(
            responses.ForbiddenError("no"),
            verbs=["list"],
            kind=kinds.OPENSTACK_SERVER,
        )
        self.assertEqual(OF_ALL[6:], self.listed())

    def test_a_deletion_that_can_log_in_lists_no_object(self) -> None:
        self.openstack.deleted.clear()
        self.describe()
        self.assertNotIn("OpenStack ", self.out.getvalue())
