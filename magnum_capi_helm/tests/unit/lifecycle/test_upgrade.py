# SPDX-License-Identifier: Apache-2.0

"""Upgrade of a cluster and of one nodegroup, through Magnum's handler."""

from __future__ import annotations

import collections
from typing import Any
from unittest import mock

import fixtures
from magnum import objects
import sqlalchemy

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.features import nodes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import (
    test_template_guard_builds as builds,
)

_OLD = {"control-plane": upgrading.OLD, "default-worker": upgrading.OLD}
#: Of the control plane alone, and of both.
_ALONE = {"control-plane": upgrading.NEW, "default-worker": upgrading.OLD}
_BOTH = {"control-plane": upgrading.NEW, "default-worker": upgrading.NEW}


class UpgradeTest(upgrading.UpgradeTestCase):
    """``coe cluster upgrade``."""

    def test_image_version_and_template_reach_cluster_and_rows(self) -> None:
        before = self.row().as_dict()
        new = self.template(
            image_id="ubuntu-1.35", flavor_id="m1.large", labels={"a": "b"}
        )
        self.management.requests.clear()
        self.upgrade(new)
        tried = {
            each.kind
            for each in self.management.requests
            if each.verb == "dry-run"
        }
        changed = {
            kinds.CONTROL_PLANE.name,
            kinds.MACHINE_DEPLOYMENT.name,
            kinds.OPENSTACK_MACHINE_TEMPLATE.name,
        }
        self.assertLessEqual(changed, tried)
        for _ in range(2):
            # A former status does not complete it.
            self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
            self.poll()
        self.assertEqual(_ALONE, self.machines())
        images = {each.image_id for each in self.groups().values()}
        self.assertEqual({"ubuntu-1.35"}, images)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(_BOTH, self.machines())
        after = self.row().as_dict()
        self.assertEqual("v1.35.1", after["coe_version"])
        self.assertEqual(new.uuid, after["cluster_template_id"])
        # Fields that clients set stay.
        self.assertEqual(
            {"cluster_template_id", "coe_version", "status", "updated_at"},
            {key for key in after if after[key] != before[key]},
        )

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
        self.assertEqual({"BEGIN": 16, "SELECT": 16, "UPDATE": 5}, told)

    def test_a_poll_that_has_the_lease_is_waited_for(self) -> None:
        runtime.get().lease_wait = 60.0
        self.hold("other")
        self.useFixture(
            fixtures.MockPatch("time.sleep", lambda _: self.hold())
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())

    def test_a_group_with_an_image_or_flavor_of_its_own_keeps_it(self) -> None:
        self.add("mine", image_id="ubuntu-1.34.3", flavor_id="own")
        self.add("theirs")
        self.settle()
        policies = {"server_group_policies": "soft-anti-affinity"}
        # 1.34.3 does not follow the template; what does, moves.
        new = {"image_id": "ubuntu-1.35", "flavor_id": "m1.large"}
        new["master_flavor_id"] = "m1.medium"
        self.upgrade(self.template(**new, labels=policies))
        self.settle()
        own = ("1.34.3", "i-1.34.3")
        expected = {**_BOTH, "mine": own, "theirs": upgrading.NEW}
        self.assertEqual(expected, self.machines())
        self.assertEqual("ubuntu-1.34.3", self.groups()["mine"].image_id)
        self.assertEqual({"UPDATE_COMPLETE"}, self.upgraded_statuses())
        told = self.helm.upgrades[-1].values
        machines = (told["controlPlane"], *told["nodeGroups"])
        self.assertEqual(
            ["m1.medium", "m1.large", "own", "m1.large"],
            [each["machineFlavor"] for each in machines],
        )
        self.assertEqual("m1.large", self.groups()["default-worker"].flavor_id)
        # All others have server groups of the template.
        ids = set(self.openstack.server_groups.groups)
        self.assertEqual(3, len(ids))
        found = {each.get("serverGroupId") for each in machines}
        self.assertEqual({*ids, None}, found)

    def test_upgrades_follow_each_other_and_counts_stay(self) -> None:
        self.resize(5)
        self.settle()
        self.upgrade(self.row().cluster_template)
        self.assert_updated()
        self.assertEqual(_OLD, self.machines())
        for image in ("ubuntu-1.35", "ubuntu-1.36"):
            self.upgrade(self.template(image_id=image))
            self.settle()
            self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual("v1.36.0", self.row().coe_version)
        self.assertEqual(5, self.replicas())

    def test_a_chart_that_the_template_names_is_taken(self) -> None:
        self.set_option(default_helm_chart_version="0.26.1")
        labels = {"capi_helm_chart_version": "0.27.0"}
        for given, chart in (({}, "0.27.0"), (labels, "0.27.0")):
            self.upgrade(self.template(labels=given))
            self.settle()
            self.assertEqual(chart, self.helm.upgrades[-1].chart_version)

    def test_the_named_nodegroup_alone_is_upgraded(self) -> None:
        """One nodegroup, to the template that the cluster has by now."""
        self.add("mine", image_id="ubuntu-1.34.3", flavor_id="own")
        self.settle()
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        before = self.helm.upgrades[-1].values
        self.upgrade(self.row().cluster_template, nodegroup="mine")
        after = self.helm.upgrades[-1].values
        self.assertEqual({**_BOTH, "mine": upgrading.NEW}, self.machines())
        self.assertEqual(before["controlPlane"], after["controlPlane"])
        self.assertEqual(before["nodeGroups"][0], after["nodeGroups"][0])
        self.assertEqual("own", after["nodeGroups"][1]["machineFlavor"])
        self.assertEqual("ubuntu-1.35", self.groups()["mine"].image_id)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.groups()["mine"].status)

    def test_as_many_workers_roll_at_once_by_default_one(self) -> None:
        """``--max-batch-size``."""
        self.resize(3)
        self.settle()
        self.add("one")
        self.settle()
        rolling = {"rollingUpdate": {"maxUnavailable": 2}}
        for image, batch, expected in (
            # Never more than a group has.
            ("ubuntu-1.34.3", 2, [rolling, None]),
            ("ubuntu-1.35", 1, [None, None]),
            ("ubuntu-1.36", None, [None, None]),
        ):
            self.upgrade(self.template(image_id=image), batch=batch)
            self.settle()
            found = [e.get("rolloutStrategy") for e in self.node_groups()]
            self.assertEqual(expected, found)

    def test_paths_of_the_infrastructure_keep_their_values(self) -> None:
        """What the webhooks forbid to change is as it was."""
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

    def test_idle_labels_are_a_fault_of_the_new_template_alone(self) -> None:
        """1.4.0 took volume types without a volume; nobody can change them."""
        idle = ("boot_volume_type", "etcd_volume_type")
        for name in idle:
            new = self.template(image_id="ubuntu-1.35", labels={name: "fast"})
            self.assertIn(f"label {name}: ", self.refused(new))
        self.save(labels=dict.fromkeys(idle, "fast"))
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())


class AloneTest(upgrading.UpgradeTestCase):
    """``coe cluster upgrade --nodegroup default-master``."""

    def alone(self) -> None:
        """The control plane gets the new version, and all comes up."""
        new = self.template(image_id="ubuntu-1.35")
        self.upgrade(new, nodegroup="default-master")
        self.settle()

    def test_workers_and_their_row_stay(self) -> None:
        self.alone()
        self.assertEqual(_ALONE, self.machines())
        row = self.row()
        self.assertEqual("UPDATE_COMPLETE", row.status)
        self.assertEqual("v1.35.1", row.coe_version)
        self.assertEqual("ubuntu-1.35", row.cluster_template.image_id)
        self.assertEqual(
            {"default-master": "ubuntu-1.35", "default-worker": "ubuntu-1.34"},
            {each.name: each.image_id for each in self.groups().values()},
        )
        self.assertNotIn(upgrade_steps.Upgrade.KEY, self.intent_keys())
        # A new group has the version of the control plane.
        self.add("later", image_id=row.cluster_template.image_id)
        self.assertEqual(upgrading.NEW, self.machines()["later"])

    def test_the_plain_request_replaces_the_workers_alone(self) -> None:
        self.add("theirs")
        self.add("mine", image_id="ubuntu-1.34.3")
        self.settle()
        self.alone()
        told, before = len(self.helm.upgrades), self.helm.upgrades[-1].values
        self.upgrade(self.row().cluster_template)
        self.settle()
        own = ("1.34.3", "i-1.34.3")
        expected = {**_BOTH, "theirs": upgrading.NEW, "mine": own}
        self.assertEqual(expected, self.machines())
        self.assertEqual(told + 1, len(self.helm.upgrades))
        after = self.helm.upgrades[-1].values
        self.assertEqual(before["controlPlane"], after["controlPlane"])
        self.assertEqual({"UPDATE_COMPLETE"}, self.upgraded_statuses())

    def refused_alone(self, **fields: Any) -> str:
        new = self.template(**{"image_id": "ubuntu-1.35", **fields})
        return self.refused(new, nodegroup="default-master")

    def test_requests_that_the_workers_do_not_fit_are_refused(self) -> None:
        with fixtures.MockPatchObject(nodes, "SKEW", 0):
            self.assertEqual(
                "upgrade or delete the nodegroup that keeps its image first: "
                "a control plane works with nodes of its own minor version "
                "of Kubernetes or up to 0 older ones. Nodegroup "
                "'default-worker' has v1.34.2, and the control plane gets "
                "v1.35.1",
                self.refused_alone(),
            )
        self.assertEqual(
            "flavor_id: choose a template with the flavor of the cluster's "
            "template, or upgrade the whole cluster, without --nodegroup. It "
            "is 'm1.large', and the cluster's template has 'm1.medium'",
            self.refused_alone(flavor_id="m1.large"),
        )
        builds.put_build(self.helm, builds.PATCHED)
        self.assertEqual(
            "nodegroup: upgrade the whole cluster, without --nodegroup, since "
            "chart, labels or options change the machines of workers as well. "
            "They are those of default-worker",
            self.refused_alone(),
        )


class LabelsTest(upgrading.UpgradeTestCase):
    """Labels that came from the old template, and those of the user."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        old = {
            "kube_tag": "v1.34.2",
            "boot_volume_size": "20",
            "api_server_log_level": "3",
            "audit_log_enabled": "true",
        }
        own = {**old, "api_server_log_level": "7"}
        self.complete(template={"labels": old}, labels=own)

    def test_inherited_ones_follow_the_template_own_ones_stay(self) -> None:
        # The second template has what the first one had: a comparison with
        # the present template would take the user's for inherited.
        for level in ("7", "4"):
            labels = {"boot_volume_size": "30", "api_server_log_level": level}
            new = self.template(image_id="ubuntu-1.35", labels=labels)
            self.upgrade(new)
            self.settle()
        self.assertEqual(upgrading.NEW, self.machines()["control-plane"])
        told = self.helm.upgrades[-1].values
        self.assertEqual(7, told["apiServer"].get("logLevel"))
        # Magnum copies the cluster's labels, which are those of before.
        copied = self.row().labels
        own = {**copied, "boot_volume_size": "40"}
        self.add("copy", image_id="ubuntu-1.35", labels=copied)
        self.add("own", image_id="ubuntu-1.35", labels=own)
        sizes = {
            each["name"]: each["machineRootVolume"]["diskSize"]
            for each in self.node_groups()
        }
        self.assertEqual({"default-worker": 30, "copy": 30, "own": 40}, sizes)


class AutoscaledTest(upgrading.UpgradeTestCase):
    """Bounds from labels that the template had, and four machines."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.labels = {
            "auto_scaling_enabled": "true",
            "min_node_count": "1",
            "max_node_count": "5",
        }
        self.complete(template={"labels": self.labels}, labels=self.labels)
        self.scale(4)

    def upgraded(self, **bounds: str) -> tuple[int | None, ...]:
        """Bounds and count that helm was told of in an upgrade."""
        self.settle()
        new = {**self.labels, **bounds}
        self.upgrade(self.template(image_id="ubuntu-1.35", labels=new))
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        return self.bounds()

    def bounds(self) -> tuple[int | None, ...]:
        fields = ("machineCountMin", "machineCountMax", "machineCount")
        return tuple(map(self.node_groups()[0].get, fields))

    def test_bounds_follow_the_template_and_the_count_stays(self) -> None:
        found = self.upgraded(min_node_count="3", max_node_count="9")
        self.assertEqual((3, 9, None), found)
        self.assertEqual(4, self.replicas())

    def test_switched_off_the_machines_of_today_stay(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual(4, self.node_groups()[0]["machineCount"])
        self.assertEqual(4, self.groups()["default-worker"].node_count)
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        # The row's labels still say that it autoscales.
        self.resize(2)
        self.assertEqual(2, self.replicas())

    def test_a_changed_bound_outlives_an_upgrade(self) -> None:
        self.change("default-worker", min_node_count=2)
        self.assertEqual((2, 5, None), self.upgraded(min_node_count="3"))
        self.change("default-worker", max_node_count=9)
        self.settle()
        # Nothing else is upgraded.
        self.upgrade(self.row().cluster_template)
        self.assertEqual((2, 9, None), self.bounds())

    def test_a_group_that_was_taken_back(self) -> None:
        self.resize(2)
        self.settle()
        self.change("default-worker", min_node_count=2, max_node_count=2)
        self.assertEqual((None, None, 2), self.upgraded(min_node_count="3"))


#: Where it dies, after how many such requests -> the version of all machines.
_KILLS = (
    ("replace", kinds.LEASE, 0, "1.34.2"),
    ("dry-run", kinds.CONTROL_PLANE, 0, "1.34.2"),
    ("patch", kinds.SECRET, 0, "1.34.2"),
    ("patch", kinds.SECRET, 1, "1.35.1"),
)


class CrashTest(upgrading.UpgradeTestCase):
    def rows_refuse(self) -> Any:
        return mock.patch.object(
            objects.NodeGroup, "save", side_effect=management.Killed
        )

    def assert_ends(self, new: Any, version: str) -> None:
        for _ in range(3):
            self.poll()
            self.settle()
        self.assertLessEqual(
            self.statuses(), {"UPDATE_COMPLETE", "CREATE_COMPLETE"}
        )
        found = {each for each, _ in self.machines().values()}
        self.assertEqual({version}, found)
        moved = self.row().cluster_template_id == new.uuid
        self.assertEqual(version != "1.34.2", moved)
        images = {each.image_id for each in self.groups().values()}
        self.assertEqual(1, len(images))
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_an_upgrade_killed_before_the_intent_does_not_happen(self) -> None:
        """Once the intent is stored, it goes on."""
        for verb, kind, after, version in _KILLS:
            new = self.template(image_id="ubuntu-1.35")
            with self.dies(verb, kind, after=after):
                self.upgrade(new)
            self.assert_ends(new, version)

    def test_an_upgrade_killed_before_rows_or_helm_wrote_goes_on(self) -> None:
        new = self.template(image_id="ubuntu-1.35")
        with self.rows_refuse(), self.dies():
            self.upgrade(new)
        self.assert_ends(new, "1.35.1")
        new = self.template(image_id="ubuntu-1.36")
        self.helm.outcomes = [fake_helm.Outcome.KILLED]
        with self.dies():
            self.upgrade(new)
        # Nobody works on the pending revision any more.
        self.poll()
        self.plane.clock.advance(400)
        self.assert_ends(new, "1.36.0")

    def test_labels_alone_are_applied_after_a_kill(self) -> None:
        # Nothing that the rows show is different: the desired state says it.
        new = self.template(labels={"api_server_log_level": "5"})
        with self.rows_refuse(), self.dies():
            self.upgrade(new)
        self.poll()
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        told = self.helm.upgrades[-1].values
        self.assertEqual(5, told["apiServer"]["logLevel"])
