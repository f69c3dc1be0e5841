# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm describe``: the tree of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
import io
import json
import re
import types
from typing import Any
from unittest import mock

import fixtures
from oslotest import base as oslotest
import yaml

from magnum_capi_helm.cli import tree_output
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import tree
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.status import shapes

WORKERS = names.machine_deployment(base.RELEASE, "default-worker")
NO_HOST = shapes.NO_ROOM


class TreeTest(command_case.DescribeTestCase):
    def test_a_cluster_that_is_well(self) -> None:
        self.management.requests.clear()
        self.assertEqual(0, self.describe())
        self.assertEqual(command_case.WELL, self.printed())
        verbs = {each.verb for each in self.management.requests}
        self.assertEqual(set(), verbs & {"create", "replace", "patch"})
        self.out = io.StringIO()
        with self.busy():
            self.assertEqual(0, self.describe())
        self.assertEqual(
            command_case.WELL.replace("nobody holds it", "held by other"),
            self.printed(),
        )

    def test_the_reason_stands_at_the_machine_that_has_no_server(self) -> None:
        machine = self.capi.fail_machine("default-worker")
        machine = machine.replace(base.RELEASE, "R")
        why = f"machine {machine}: {NO_HOST} [no-host]"
        self.assertEqual(
            [
                "cluster web (CREATE_COMPLETE, HEALTHY): not ready: "
                f"nodegroup default-worker: {why}",
                "Cluster R (https://203.0.113.10:6443): not ready",
                "MachineDeployment R-default-worker (nodegroup "
                "default-worker, 1 of 2 ready): not ready",
                f"Machine {machine} (server server-{machine}): not ready: "
                f"{NO_HOST} [no-host]",
            ],
            self.lines(),
        )
        self.assertEqual(1, self.describe())

    def test_a_piped_tree_has_120_columns(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable("COLUMNS", None))
        self.describe()
        longest = max(map(len, self.out.getvalue().splitlines()))
        self.assertIn(longest, range(100, 121))

    def test_reasons_stand_at_their_parts(self) -> None:
        machine = f"{WORKERS}-m0"
        live = self.live(kinds.MACHINE, machine)
        ill = [
            {"type": "Ready", "status": "False", "message": "node is ill"},
            {
                "type": "NodeReady",
                "status": "False",
                "reason": "NodeConditionsFailed",
                "message": "kubelet stopped posting node status",
            },
        ]
        status = {**live["status"], "conditions": ill}
        self.server.set_status(kinds.MACHINE, base.NAMESPACE, machine, status)
        self.capi.fail_addon("ccm-openstack", "[red]\x1b[2Jgone[/red]")
        self.assertEqual(
            [
                "Machine R-default-worker-m0 (192.168.3.11, server "
                "server-R-default-worker-m0): not ready",
                "Node R-default-worker-m0: not ready: kubelet stopped "
                "posting node status",
                "addons (3 of 4 deployed): not ready",
                "HelmRelease R-ccm-openstack: not ready: Failed: "
                "[red]?[2Jgone[/red] (nodes wait for it) [addon]",
            ],
            self.lines()[-4:],
        )

    def test_a_nodegroup_that_was_never_made(self) -> None:
        self.server.delete(kinds.MACHINE_DEPLOYMENT, base.NAMESPACE, WORKERS)
        self.assertIn(
            "MachineDeployment R-default-worker (nodegroup default-worker): "
            "not ready: not created yet",
            self.lines(),
        )

    def test_helm_that_did_not_end(self) -> None:
        self.relabel(1, status="pending-upgrade")
        self.assertEqual(
            [
                "cluster web (CREATE_COMPLETE, HEALTHY): not ready: helm: "
                "revision 1 is pending-upgrade",
                "helm release R (revision 1 pending-upgrade, chart 0.27.0): "
                "not ready: helm: revision 1 is pending-upgrade",
            ],
            self.lines(),
        )

    def test_a_credential_that_keystone_refuses(self) -> None:
        self.openstack.stillborn = True
        [line] = self.lines()[1:]
        self.assertRegex(
            line,
            "^credential R-cloud-credentials: not ready: Keystone refuses",
        )
        self.assertEqual(1, self.describe())

    def test_the_machine_that_was_made_last_comes_last(self) -> None:
        name = f"{WORKERS}-m0"
        first = self.live(kinds.MACHINE, name)
        self.server.delete(kinds.MACHINE, base.NAMESPACE, name)
        self.server.stamp = "2100-01-01T00:00:00Z"
        self.server.apply(kinds.MACHINE, first)
        self.describe()
        found = re.findall(r"Machine R-default-worker-(m\d)", self.printed())
        self.assertEqual(["m1", "m0"], found)

    def test_a_failed_cluster_shows_the_reason_of_its_row(self) -> None:
        self.save(status="UPDATE_FAILED", status_reason="quota exceeded")
        self.assertIn(": not ready: quota exceeded", self.lines()[0])
        # Nothing was made of it.
        self.save(stack_id=None, status="CREATE_FAILED")
        self.out = io.StringIO()
        self.assertEqual(1, self.describe())
        self.assertEqual(
            "cluster web (CREATE_FAILED, HEALTHY): not ready: quota "
            "exceeded\n",
            self.printed(),
        )

    def test_programs_get_the_same_tree(self) -> None:
        self.describe("-f", "json")
        found = json.loads(self.out.getvalue())
        self.out.truncate(self.out.seek(0))
        self.describe("-f", "yaml")
        self.assertEqual(found, yaml.safe_load(self.out.getvalue()))
        self.assertEqual(
            ["helm release", "Cluster", "Lease", "credential"],
            [each["kind"] for each in found["children"]],
        )
        self.assertEqual(
            {
                "kind": "credential",
                "name": base.CREDENTIALS,
                "state": "ready",
                "note": "",
                "reason": "",
                "children": [],
            },
            found["children"][-1],
        )


class AutoscalerTest(command_case.DescribeTestCase):
    fields: Mapping[str, Any] = types.MappingProxyType(
        {
            "labels": {
                "auto_scaling_enabled": "true",
                "min_node_count": "1",
                "max_node_count": "5",
            }
        }
    )

    def test_the_autoscaler_has_a_line_and_its_groups_bounds(self) -> None:
        self.describe()
        printed = self.printed()
        self.assertIn("── autoscaler R-autoscaler: ready", printed)
        self.assertIn("2 of 2 ready, autoscaled from 1 to 5): ready", printed)
        key = (kinds.DEPLOYMENT, base.NAMESPACE, f"{base.RELEASE}-autoscaler")
        condition = {"type": "Available", "status": "False", "message": "why"}
        self.server.set_status(*key, {"conditions": [condition]})
        self.assertIn("autoscaler R-autoscaler: not ready: why", self.lines())
        self.fails("get", kinds.DEPLOYMENT)
        self.assertIn(
            "autoscaler R-autoscaler: unknown: the management cluster does "
            "not say",
            self.lines(),
        )


class OutputTest(command_case.DescribeTestCase):
    def test_a_terminal_gets_lines_as_long_as_it_is_wide(self) -> None:
        self.out = command_case.Terminal()
        for name, value in (
            ("COLUMNS", "60"),
            ("LINES", "100"),
            ("NO_COLOR", "1"),
            ("TERM", "xterm"),
        ):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.describe()
        plain = re.sub(r"\x1b\[\d+m", "", self.printed())
        lines = plain.splitlines()
        self.assertLess(21, len(lines))
        self.assertEqual([], [each for each in lines if len(each) > 60])

    def test_a_silent_management_cluster_is_an_error(self) -> None:
        self.management.unreachable()
        self.assertRaises(errors.ManagementUnreachable, self.describe)


#: 2026-11-21, 18:48 UTC.
SINCE = 1795286880.0


class DrawTest(oslotest.BaseTestCase):
    def drawn(self, since: float, seconds: float = 730.0) -> str:
        """A server with a fault, some seconds later."""
        reason = tree.Reason("no quota", tree.Rank.CLOUD, since, "quota")
        clock = mock.Mock(time=lambda: SINCE + seconds)
        stream = io.StringIO()
        with mock.patch.object(tree_output, "time", clock):
            tree_output.draw(tree.grow("OpenStackServer", "s", reason), stream)
        return stream.getvalue()

    def test_a_fault_has_its_time_and_its_age(self) -> None:
        for seconds, age in (
            (10.0, "0 minutes"),
            (730.0, "12 minutes"),
            (7200.0, "120 minutes"),
            (36000.0, "10 hours"),
        ):
            self.assertEqual(
                "OpenStackServer s: not ready: no quota (since 18:48 UTC) "
                f"[quota], {age} ago\n",
                self.drawn(SINCE, seconds),
            )

    def test_a_fault_of_an_unknown_time_has_no_age(self) -> None:
        self.assertEqual(
            "OpenStackServer s: not ready: no quota [quota]\n", self.drawn(0.0)
        )


RESOURCE = f"{base.NAMESPACE}-{base.RELEASE}"
MADE = f"k8s-clusterapi-cluster-{RESOURCE}"
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
    f"server {WORKERS}-m0 (server-1)",
    "port port-0",
    "port port-1",
    f"volume {WORKERS}-m1-root",
    f"volume {WORKERS}-m1-etcd",
    f"load balancer {MADE}-kubeapi (lb-id)",
    "floating IP 203.0.113.10",
    f"router {MADE} (router-id)",
    f"subnet {MADE} (sub-id)",
    f"network {MADE} (net-id)",
    f"security group k8s-cluster-{RESOURCE}-secgroup-controlplane (group-id)",
    f"security group k8s-cluster-{RESOURCE}-secgroup-worker (group-2-id)",
]


class DescribeDeletionTest(command_case.DescribeTestCase):
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
        for number, name in enumerate((f"{PLANE}-m0", f"{WORKERS}-m0")):
            ports = {"ports": [{"id": f"port-{number}"}]}
            self.openstack_server(
                name,
                {"rootVolume": {"sizeGiB": 20}},
                {"instanceID": f"server-{number}", "resources": ports},
            )
        etcd = {"name": "etcd", "storage": {"type": "Volume"}}
        scratch = {"name": "scratch", "storage": {"type": "Local"}}
        self.openstack_server(
            f"{WORKERS}-m1",
            {
                "rootVolume": {"sizeGiB": 20},
                "additionalBlockDevices": [etcd, scratch],
            },
            {},
        )

    def listed(self) -> list[str]:
        self.out.truncate(self.out.seek(0))
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

    def test_all_that_the_objects_name_in_the_order_of_deletion(self) -> None:
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
        name = f"{WORKERS}-m0"
        self.server.set_status(
            kinds.OPENSTACK_MACHINE,
            base.NAMESPACE,
            name,
            {"instanceID": "server-1"},
        )
        self.assertEqual(f"server {name} (server-1)", self.listed()[0])

    def test_unreadable_servers_leave_the_other_objects_listed(self) -> None:
        self.fails(
            "list",
            kinds.OPENSTACK_SERVER,
            error=responses.ForbiddenError("no"),
        )
        self.assertEqual(OF_ALL[6:], self.listed())

    def test_a_deletion_that_can_log_in_lists_no_object(self) -> None:
        self.openstack.deleted.clear()
        self.describe()
        self.assertNotIn("OpenStack ", self.out.getvalue())
