# SPDX-License-Identifier: Apache-2.0

"""Upgrade of a cluster and of one nodegroup, through Magnum's handler."""

from __future__ import annotations

import collections
from typing import Any

import fixtures
import sqlalchemy

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading


class WholeTest(upgrading.UpgradeTestCase):
    """``coe cluster upgrade``, with no nodegroup named."""

    def test_image_version_and_template_reach_cluster_and_rows(self) -> None:
        new = self.template(image_id="ubuntu-1.35")
        self.upgrade(new)
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(
            {"control-plane": upgrading.NEW, "default-worker": upgrading.OLD},
            self.machines(),
        )
        self.assertEqual(new.uuid, self.row().cluster_template_id)
        self.assertEqual(
            {"ubuntu-1.35"},
            {each.image_id for each in self.groups().values()},
        )
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(
            {"control-plane": upgrading.NEW, "default-worker": upgrading.NEW},
            self.machines(),
        )
        self.assertEqual("v1.35.1", self.row().coe_version)

    def test_requests_and_statements_of_an_upgrade_in_two_steps(self) -> None:
        new = self.template(image_id="ubuntu-1.35")
        self.management.requests.clear()
        statements: list[str] = []
        event = (sqlalchemy.engine.Engine, "before_cursor_execute")

        def listen(*args: Any) -> None:
            statements.append(args[2].split()[0])

        sqlalchemy.event.listen(*event, listen)
        self.addCleanup(sqlalchemy.event.remove, *event, listen)
        self.upgrade(new)
        asked = collections.Counter(e.verb for e in self.management.requests)
        self.assertEqual(
            {"get": 17, "list": 19, "dry-run": 6, "patch": 11, "replace": 2},
            asked,
        )
        told = collections.Counter(statements)
        self.assertEqual({"BEGIN": 20, "SELECT": 20, "UPDATE": 5}, told)

    def test_a_poll_that_has_the_lease_is_waited_for(self) -> None:
        runtime.get().lease_wait = 60.0
        lease = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        held = {"holderIdentity": "other", "renewTime": "now"}
        self.server.patch(*lease, {"spec": held})

        def sleep(_: float) -> None:
            self.server.patch(*lease, {"spec": {"holderIdentity": ""}})

        self.useFixture(fixtures.MockPatch("time.sleep", sleep))
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())

    def test_an_upgrade_is_not_complete_by_a_former_status(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        for _ in range(2):
            self.poll()
            self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())

    def test_fields_that_clients_set_stay(self) -> None:
        before = self.row().as_dict()
        self.upgrade(
            self.template(
                image_id="ubuntu-1.35", flavor_id="m1.large", labels={"a": "b"}
            )
        )
        self.settle()
        after = self.row().as_dict()
        changed = {key for key in after if after[key] != before[key]}
        self.assertEqual(
            {
                "cluster_template_id",
                "coe_version",
                "status",
                "updated_at",
            },
            changed,
        )

    def test_a_group_with_an_image_of_its_own_keeps_it(self) -> None:
        self.add("mine", image_id="ubuntu-1.34.3")
        self.add("theirs")
        self.settle()
        # 1.34.3 does not follow the template; what does, moves.
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual(
            {
                "control-plane": upgrading.NEW,
                "default-worker": upgrading.NEW,
                "mine": ("1.34.3", "i-1.34.3"),
                "theirs": upgrading.NEW,
            },
            self.machines(),
        )
        self.assertEqual("ubuntu-1.34.3", self.groups()["mine"].image_id)
        self.assertEqual({"UPDATE_COMPLETE"}, self.upgraded_statuses())

    def test_machines_get_the_server_groups_of_the_template(self) -> None:
        policies = {"server_group_policies": "soft-anti-affinity"}
        self.upgrade(self.template(image_id="ubuntu-1.35", labels=policies))
        self.settle()
        ids = set(self.openstack.server_groups.groups)
        values = self.helm.upgrades[-1].values
        machines = (values["controlPlane"], *values["nodeGroups"])
        self.assertEqual(2, len(ids))
        self.assertEqual(ids, {each["serverGroupId"] for each in machines})

    def test_an_inherited_flavor_follows_the_template(self) -> None:
        self.add("mine", flavor_id="own")
        self.settle()
        self.upgrade(
            self.template(flavor_id="m1.large", master_flavor_id="m1.medium")
        )
        told = self.helm.upgrades[-1].values
        self.assertEqual(
            {
                "control-plane": "m1.medium",
                "default-worker": "m1.large",
                "mine": "own",
            },
            {
                "control-plane": told["controlPlane"]["machineFlavor"],
                **{
                    each["name"]: each["machineFlavor"]
                    for each in told["nodeGroups"]
                },
            },
        )
        self.assertEqual("m1.large", self.groups()["default-worker"].flavor_id)

    def test_the_same_template_again_is_applied_and_ends(self) -> None:
        self.upgrade(self.row().cluster_template)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(
            {"control-plane": upgrading.OLD, "default-worker": upgrading.OLD},
            self.machines(),
        )

    def test_another_upgrade_may_follow(self) -> None:
        for image in ("ubuntu-1.35", "ubuntu-1.36"):
            self.upgrade(self.template(image_id=image))
            self.settle()
            self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual("v1.36.0", self.row().coe_version)

    def test_counts_stay(self) -> None:
        self.resize(5)
        self.settle()
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual(5, self.replicas())

    def test_a_chart_that_the_template_names_is_taken(self) -> None:
        conf.CONF.set_override(
            "default_helm_chart_version", "0.26.1", "capi_helm"
        )
        labels = {"capi_helm_chart_version": "0.27.0"}
        for given, chart in (({}, "0.27.0"), (labels, "0.27.0")):
            self.upgrade(self.template(labels=given))
            self.settle()
            self.assertEqual(chart, self.helm.upgrades[-1].chart_version)


class GroupTest(upgrading.UpgradeTestCase):
    """One nodegroup, to the template that the cluster has by now."""

    def setUp(self) -> None:
        super().setUp()
        self.add("mine", image_id="ubuntu-1.34.3", flavor_id="own")
        self.settle()
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()

    def test_the_named_nodegroup_alone_is_upgraded(self) -> None:
        before = self.helm.upgrades[-1].values
        self.upgrade(self.row().cluster_template, nodegroup="mine")
        after = self.helm.upgrades[-1].values
        self.assertEqual(
            {
                "control-plane": upgrading.NEW,
                "default-worker": upgrading.NEW,
                "mine": upgrading.NEW,
            },
            self.machines(),
        )
        self.assertEqual(before["controlPlane"], after["controlPlane"])
        self.assertEqual(before["nodeGroups"][0], after["nodeGroups"][0])
        self.assertEqual("own", after["nodeGroups"][1]["machineFlavor"])
        self.assertEqual("ubuntu-1.35", self.groups()["mine"].image_id)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.groups()["mine"].status)

    def test_a_new_group_has_the_new_version(self) -> None:
        self.add("later", image_id=self.row().cluster_template.image_id)
        self.settle()
        self.assertEqual(upgrading.NEW, self.machines()["later"])


class BatchTest(upgrading.UpgradeTestCase):
    """``--max-batch-size``."""

    def strategies(self) -> list[object]:
        """How each group was told to roll."""
        return [each.get("rolloutStrategy") for each in self.node_groups()]

    def test_more_than_one_is_how_many_workers_roll_at_once(self) -> None:
        self.resize(3)
        self.settle()
        self.add("one")
        self.settle()
        self.upgrade(self.template(image_id="ubuntu-1.35"), batch=2)
        self.settle()
        rolling = {"rollingUpdate": {"maxUnavailable": 2}}
        # Never more than a group has.
        self.assertEqual([rolling, None], self.strategies())

    def test_the_next_upgrade_is_back_at_one(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"), batch=2)
        self.settle()
        self.upgrade(self.template(image_id="ubuntu-1.36"))
        self.settle()
        self.assertEqual([None], self.strategies())

    def test_none_is_one(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"), batch=None)
        self.assertEqual([None], self.strategies())


class FrozenTest(upgrading.UpgradeTestCase):
    """What the webhooks forbid to change is as it was."""

    def test_paths_of_the_infrastructure_keep_their_values(self) -> None:
        before = self.helm.upgrades[-1].values
        self.upgrade(
            self.template(
                image_id="ubuntu-1.35",
                external_network_id="other",
                network_driver="cilium",
                apiserver_port=8443,
                floating_ip_enabled=False,
                labels={
                    "octavia_provider": "ovn",
                    "fixed_subnet_cidr": "10.9.0.0/24",
                    "pods_cidr": "10.100.0.0/16",
                },
            )
        )
        after = self.helm.upgrades[-1].values
        for key in ("apiServer", "clusterNetworking", "kubeNetwork"):
            self.assertEqual(before.get(key), after.get(key))
        self.assertEqual("calico", after["addons"]["cni"]["type"])

    def test_name_servers_of_charts_that_can_follow(self) -> None:
        self.upgrade(self.template(dns_nameserver="8.8.8.8"))
        networking = self.helm.upgrades[-1].values["clusterNetworking"]
        self.assertEqual(
            ["8.8.8.8"], networking["internalNetwork"]["dnsNameservers"]
        )

    def test_each_changed_object_is_tried(self) -> None:
        self.management.requests.clear()
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        tried = {
            each.kind
            for each in self.management.requests
            if each.verb == "dry-run"
        }
        self.assertLessEqual(
            {
                kinds.CONTROL_PLANE.name,
                kinds.MACHINE_DEPLOYMENT.name,
                kinds.OPENSTACK_MACHINE_TEMPLATE.name,
            },
            tried,
        )
