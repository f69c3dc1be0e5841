# SPDX-License-Identifier: Apache-2.0

"""Nodegroups are added and changed, through Magnum's own handler."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import types
from typing import Any

import fixtures
from magnum.common import exception
from magnum.conductor.handlers import nodegroup_conductor

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.config import conf
from magnum_capi_helm.lifecycle import nodegroups
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling

_FAR = {"flavor_id": "m1.huge"}
#: Fields of a group -> words of the refusal.
_REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    (_FAR, "there is no such flavor"),
    ({"image_id": "dos"}, "there is no such image"),
    ({"labels": {"boot_volume_size": "big"}}, "boot_volume_size"),
    ({"node_labels": {"tier": "größe"}}, "node_labels: a label of a nodegr"),
)


class AddTest(base.NodegroupTestCase):
    def test_only_the_new_group_is_added_to_the_values(self) -> None:
        before = self.helm.upgrades[-1].values
        self.add("gpu", node_count=3)
        after = self.helm.upgrades[-1].values
        new = after["nodeGroups"].pop()
        self.assertEqual("gpu", new["name"])
        self.assertEqual(3, new["machineCount"])
        self.assertEqual("m1.medium", new["machineFlavor"])
        self.assertEqual("i-1", new["machineImageId"])
        self.assertEqual("1.34.2", new["kubernetesVersion"])
        for values in (before, after):
            del values["clusterAnnotations"]
        self.assertEqual(before, after)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_only_its_own_labels_are_looked_at(self) -> None:
        self.add("gpu", labels={"pods_cidr": "banana", "owner": "me"})
        self.assertEqual(
            [
                f"WARNING cluster {base.UUID}: label 'owner' is not known; "
                "label pods_cidr is read from the template and the cluster "
                "alone"
            ],
            self.warnings(),
        )
        labels = {
            "owner": "me",
            "capi_helm_chart_version": "0.1.0",
            "audit_log_policy_level": "Request",
            # Without a size: 1.4.0 took it without effect.
            "boot_volume_type": "fast",
        }
        self.save(labels=labels)
        self.set_option(unknown_labels="reject")
        # Magnum copies the cluster's labels.
        self.add("copy", labels=dict(self.row().labels))
        self.assertEqual(["default-worker", "gpu", "copy"], self.names())

    def test_a_group_is_in_progress_until_machines_are_ready(self) -> None:
        self.add("gpu", node_count=2)
        self.poll()
        waiting = "nodegroup gpu: 0 of 2 machines ready"
        self.assertEqual(("UPDATE_IN_PROGRESS", waiting), self.state())
        self.assertEqual("CREATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.capi.fail_machine("gpu")
        self.poll()
        self.assertIn("No valid host", self.groups()["gpu"].status_reason)
        self.assertIn("nodegroup gpu", self.why())
        self.assert_updated()
        group = self.groups()["gpu"]
        self.assertEqual("CREATE_COMPLETE", group.status)
        self.assertEqual(2, len(group.node_addresses))
        self.assertEqual(base.RELEASE, group.stack_id)
        for count in (0, 3):
            self.resize(count, "gpu")
            self.assert_updated()
            self.assertEqual(count, self.replicas("gpu"))
        self.assertEqual(2, self.replicas())

    def test_a_group_of_another_project_is_the_clusters(self) -> None:
        self.add("gpu", project_id="an-admins-project")
        self.settle()
        self.resize(3)
        self.assertEqual(["default-worker", "gpu"], self.names())
        self.assert_updated()

    def test_names_that_1_4_0_took_for_one_are_two_groups(self) -> None:
        for name in ("worker-1", "worker_1"):
            self.add(name)
        made = names.node_group("worker_1", base.RELEASE)
        self.assertEqual(["default-worker", "worker-1", made], self.names())
        self.assert_updated()
        self.remove("worker-1")
        self.assertEqual(["default-worker", made], self.names())
        self.poll()
        self.assertIn("worker-1", self.groups())
        # A name next to one that is being deleted.
        self.add("worker.1")
        other = names.node_group("worker.1", base.RELEASE)
        self.assertEqual(["default-worker", made, other], self.names())
        self.capi.remove_group("worker-1")
        self.assert_updated()
        self.assertNotIn("worker-1", self.groups())
        self.assertEqual(1, self.replicas(made))


class RefusedAddTest(base.NodegroupTestCase):
    def refused(self, words: str, name: str = "gpu", **fields: Any) -> None:
        runs = len(self.helm.upgrades)
        self.management.requests.clear()
        error = self.assertRaises(
            exception.InvalidParameterValue, self.add, name, **fields
        )
        self.assertIn(words, str(error))
        written = {"create", "replace", "apply", "patch", "delete"}
        self.assertEqual(
            [], [r for r in self.management.requests if r.verb in written]
        )
        group = self.groups()[name]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertEqual(str(error), group.status_reason)
        self.assertIsNone(group.stack_id)
        self.assertEqual(runs, len(self.helm.upgrades))
        failed = ("UPDATE_FAILED", f"nodegroup {name}: {error}")
        self.assertEqual(failed, self.state())

    def test_an_unfit_group_is_refused(self) -> None:
        for number, (fields, words) in enumerate(_REFUSED):
            self.refused(words, f"gpu-{number}", **fields)
        words = "not enough quota: instances"
        refusal = errors.InvalidInput(words)
        with fixtures.MockPatchObject(
            quota, "check_group", side_effect=refusal
        ):
            self.refused(words)
        self.management.unreachable()
        self.error_of(self.add, "late")
        self.assertEqual("CREATE_FAILED", self.groups()["late"].status)

    def test_the_cluster_recovers_and_the_group_can_be_removed(self) -> None:
        self.refused("no such flavor", **_FAR)
        # The cluster says no more of it once it is gone.
        self.remove("gpu")
        self.poll()
        self.assertEqual(("UPDATE_COMPLETE", None), self.state())
        self.refused("no such flavor", **_FAR)
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("CREATE_FAILED", self.groups()["gpu"].status)
        # No other operation makes it.
        self.resize(3)
        self.assertEqual(["default-worker"], self.names())
        self.settle()
        runs = len(self.helm.upgrades)
        self.remove("gpu")
        self.assertNotIn("gpu", self.groups())
        self.assertEqual(runs, len(self.helm.upgrades))
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())


class ServerGroupTest(base.NodegroupTestCase):
    """A group whose label asks for a Nova server group."""

    def setUp(self) -> None:
        super().setUp()
        self.labels = {"server_group_policies": "anti-affinity"}
        self.ensure = self.use("ensure", return_value={"gpu": "sg-1"})
        self.discard = self.use("delete")

    def use(self, name: str, **options: Any) -> Any:
        return self.useFixture(
            fixtures.MockPatchObject(server_groups, name, **options)
        ).mock

    def test_a_server_group_comes_and_goes_with_its_nodegroup(self) -> None:
        self.add("gpu", labels=self.labels)
        self.assertEqual("sg-1", self.node_groups()[-1]["serverGroupId"])
        self.assertEqual({"gpu": "anti-affinity"}, self.ensure.call_args[0][4])
        self.settle()
        self.remove("gpu")
        self.settle()
        self.discard.assert_not_called()
        # A Nova that refuses does not keep the group.
        self.discard.side_effect = errors.CloudError("Nova: no")
        self.capi.remove_group("gpu")
        self.assert_updated()
        self.assertEqual(["gpu"], self.discard.call_args[0][2])
        self.assertNotIn("gpu", self.groups())

    def test_a_lease_that_stays_busy_refuses_it(self) -> None:
        # Nobody but the user can make it, and polls have no token.
        self.useFixture(fixtures.MockPatchObject(nodegroups, "LEASE_WAIT", -1))
        with self.busy():
            self.assertRaises(
                exception.OperationInProgress,
                self.add,
                "gpu",
                labels=self.labels,
            )
        self.ensure.assert_not_called()
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())


_SAME = ("capi_helm", "quota_check", "off")
_BACKEND = {"fixed_network": "backend"}
_DUAL = {
    "pods_cidr": "10.100.0.0/16,fd00:100::/56",
    "service_cluster_ip_range": "10.254.0.0/16,fd00:254::/112",
}
_OPEN = {"api_master_lb_allowed_cidrs": "192.0.2.0/24"}
#: Fields of template and cluster, and an option once the cluster is there.
_CASES: tuple[tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]], ...] = (
    ({"network_driver": "cilium"}, {**_BACKEND, "labels": _DUAL}, _SAME),
    # Pods where a network of the driver's own would be.
    ({}, {**_BACKEND, "labels": {"pods_cidr": "10.0.0.0/16"}}, _SAME),
    ({}, {}, ("capi_helm_cluster_labels", "pods_cidr", ("10.0.0.0/16",))),
    (
        {},
        {"master_lb_enabled": False, "labels": _OPEN},
        ("capi_helm", "api_load_balancer", "requested"),
    ),
)


class LivingTest(base.FlowTestCase):
    """Today's options would make the cluster otherwise."""

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        four = catalogue.Subnet("four", "net-2", "192.168.0.0/24")
        six = catalogue.Subnet("six", "net-2", "fd00:3::/64")
        return dataclasses.replace(
            super().catalogue(session),
            networks={"public": "net-1", "backend": "net-2"},
            subnets={"four": four, "six": six},
        )

    def test_a_group_is_checked_beside_what_its_cluster_has(self) -> None:
        for template, fields, (group, option, value) in _CASES:
            self.created(template, **fields)
            conf.CONF.set_override(option, value, group)
            self.add("gpu")
            self.assert_updated()
            status = self.groups()["gpu"].status
            self.assertEqual("CREATE_COMPLETE", status, str(fields))
            conf.CONF.clear_override(option, group)
            self.vanish()


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
AUTOSCALED = {"auto_scaling_enabled": "true"}


class UpdateTestCase(base.FlowTestCase):
    """A cluster with a group of the user's."""

    #: Labels of the cluster, and fields of the group.
    labels: Mapping[str, str] = types.MappingProxyType({})
    group: Mapping[str, Any] = types.MappingProxyType({})

    def setUp(self) -> None:
        super().setUp()
        self.complete(labels=dict(self.labels))
        self.add("gpu", node_count=2, **self.group)
        self.assert_updated()
        self.helm_runs = len(self.helm.upgrades)

    def item(self) -> dict[str, Any]:
        [found] = [e for e in self.node_groups() if e["name"] == "gpu"]
        return found

    def taints(self) -> Any:
        spec = self.item()["kubeadmConfigSpec"]
        return spec["joinConfiguration"]["nodeRegistration"]["taints"]


class UpdateTest(UpdateTestCase):
    def test_labels_reach_the_group_and_nothing_else_changes(self) -> None:
        before = self.helm.upgrades[-1].values
        asked = self.openstack.mocker.call_count
        self.change("gpu", node_labels={"tier": "gpu"})
        self.assertEqual(asked, self.openstack.mocker.call_count)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        after = self.helm.upgrades[-1].values
        self.assertEqual("gpu", self.item()["nodeLabels"].pop("tier"))
        for values in (before, after):
            del values["clusterAnnotations"]
        self.assertEqual(before, after)
        self.assertEqual("UPDATE_IN_PROGRESS", self.groups()["gpu"].status)
        self.assert_updated()
        self.assertEqual("UPDATE_COMPLETE", self.groups()["gpu"].status)

    def test_labels_and_taints_come_and_go(self) -> None:
        labels = {"a": "1", "b": "2"}
        self.change("gpu", node_labels=labels, node_taints=[TAINT])
        self.assertEqual([TAINT], self.taints())
        self.assert_updated()
        wanted = self.item()
        # A resize of another group keeps them.
        self.resize(4)
        self.assertEqual(wanted, self.item())
        self.assert_updated()
        self.change("gpu", node_labels={"b": "2"})
        self.assertNotIn("a", self.item()["nodeLabels"])
        self.assertEqual("2", self.item()["nodeLabels"]["b"])
        self.assert_updated()
        self.change("gpu", node_taints=[])
        self.assertNotIn("kubeadmConfigSpec", self.item())

    def test_two_changes_that_are_not_applied_yet_are_both_made(self) -> None:
        with self.busy():
            self.change("gpu", node_labels={"tier": "gpu"})
            self.change("gpu", node_taints=[TAINT])
        self.poll()
        self.assertEqual("gpu", self.item()["nodeLabels"]["tier"])
        self.assertEqual([TAINT], self.taints())
        self.assert_updated()

    def test_two_requests_read_before_either_was_served(self) -> None:
        bound, labelled = self.groups()["gpu"], self.groups()["gpu"]
        if "node_labels" not in labelled.fields:
            self.skipTest("nodegroups of this Magnum have no labels of nodes")
        bound.max_node_count = 5
        labelled.node_labels = {"tier": "gpu"}
        for each in (bound, labelled):
            nodegroup_conductor.Handler().nodegroup_update(
                self.context, self.row(), each
            )
        self.assert_updated()
        self.assertEqual("gpu", self.item()["nodeLabels"]["tier"])
        self.assertEqual(5, self.groups()["gpu"].max_node_count)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_change_that_is_taken_back_before_it_is_applied(self) -> None:
        before = self.item()
        with self.busy():
            self.change("gpu", node_labels={"tier": "gpu"})
            self.change("gpu", node_labels={})
        self.poll()
        self.assertEqual(before, self.item())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_without_a_change_nothing_is_applied(self) -> None:
        self.change("gpu")
        self.assertEqual(self.helm_runs, len(self.helm.upgrades))
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("UPDATE_COMPLETE", self.groups()["gpu"].status)


class RefusedUpdateTest(UpdateTestCase):
    """What was wrong is not kept: it would look like something to do."""

    def refused(self, words: str, **fields: Any) -> None:
        old = self.groups()["gpu"]
        error = self.assertRaises(
            exception.InvalidParameterValue, self.change, "gpu", **fields
        )
        self.assertIn(words, str(error))
        new = self.groups()["gpu"]
        for name in fields:
            self.assertEqual(getattr(old, name), getattr(new, name))
        self.assertEqual("UPDATE_FAILED", new.status)
        self.assertEqual(self.helm_runs, len(self.helm.upgrades))
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_labels_that_no_kubelet_takes_are_refused(self) -> None:
        self.refused("node_labels", node_labels={"kubernetes.io/x": "y"})
        never = [{"key": "a", "effect": "Never"}]
        self.refused("node_taints", node_taints=never)
        self.management.unreachable()
        self.error_of(self.change, "gpu", node_labels={"tier": "gpu"})
        self.assertFalse(self.groups()["gpu"].node_labels)


class AutoscaledTest(UpdateTestCase):
    labels = AUTOSCALED
    group = types.MappingProxyType(
        {"labels": AUTOSCALED, "min_node_count": 1, "max_node_count": 4}
    )

    def bounds(self) -> tuple[object, ...]:
        """Whether it is scaled, its bounds, and its count in the values."""
        keys = ("autoscale", "machineCountMin", "machineCountMax")
        return tuple(map(self.item().get, (*keys, "machineCount")))

    def test_new_bounds_reach_the_values(self) -> None:
        self.assertEqual((True, 1, 4, None), self.bounds())
        before = self.item()
        self.change("gpu", max_node_count=6)
        self.assertEqual({**before, "machineCountMax": 6}, self.item())
        self.assert_updated()
        self.change("gpu", min_node_count=2)
        self.assertEqual((True, 2, 6, None), self.bounds())
        self.assert_updated()
        # Bounds that leave no choice end the scaling.
        self.change("gpu", min_node_count=2, max_node_count=2)
        self.assertEqual((None, None, None, 2), self.bounds())
        self.assert_updated()
        self.change("gpu", max_node_count=3)
        self.assertEqual((True, 2, 3, None), self.bounds())


LABELS = {"capi_helm_nodegroup_profiles": "gpu"}
PROFILE = """
nodeLabels: {accelerator: a100}
kubeadmConfigSpec: {preKubeadmCommands: [modprobe nvidia]}
"""


class NodegroupProfileTest(rolling.RolloutTestCase):
    """Of one group; that of the cluster has the same name, and is empty."""

    def setUp(self) -> None:
        super().setUp()
        folder = self.folder / "groups"
        folder.mkdir()
        self.own = folder / "gpu.yaml"
        self.own.write_text(PROFILE)
        self.set_option(nodegroup_profile_dir=str(folder))

    def items(self) -> dict[str, dict[str, Any]]:
        return {each["name"]: each for each in self.told()["nodeGroups"]}

    def of_profile(self) -> tuple[str | None, list[str]]:
        item = self.items()["gpu"]
        commands = item["kubeadmConfigSpec"]["preKubeadmCommands"]
        return item["nodeLabels"].get("accelerator"), commands

    def test_a_wrong_profile_is_refused_before_a_write(self) -> None:
        for name, content, text in (
            (
                "big",
                "",
                "label capi_helm_nodegroup_profiles: give names of the "
                "operator's profiles. It is 'big'; there are gpu",
            ),
            (
                "gpu",
                "machineCount: 9",
                "nodegroup profile gpu: machineCount is not a nodegroup's to "
                "set: give ",
            ),
        ):
            self.own.write_text(content)
            before = self.kept(), len(self.helm.upgrades)
            labels = {"capi_helm_nodegroup_profiles": name}
            error = self.error_of(self.add, f"of-{name}", labels=labels)
            self.assertIn(text, self.log.output)
            told = "not configured for this" if content else text
            self.assertIn(told, error)
            self.assertEqual(before, (self.kept(), len(self.helm.upgrades)))

    def test_commands_of_all_groups_stay(self) -> None:
        self.add("gpu", labels=LABELS)
        self.settle()
        self.all.write_text(
            "nodeGroupDefaults: "
            "{kubeadmConfigSpec: {preKubeadmCommands: [sysctl -p]}}"
        )
        self.rolled_out(files=True, replacing=True)
        self.assertEqual(
            ("a100", ["sysctl -p", "modprobe nvidia"]), self.of_profile()
        )
        # New node labels keep those of the profile.
        self.change("gpu", node_labels={"tier": "2"})
        self.assertEqual("2", self.items()["gpu"]["nodeLabels"]["tier"])
        self.assertEqual("a100", self.of_profile()[0])

    def test_a_changed_profile_comes_with_a_rollout(self) -> None:
        self.add("gpu", labels=LABELS)
        self.settle()
        others = self.items()["default-worker"]
        self.own.write_text("nodeLabels: {accelerator: h100}")
        self.assertEqual(
            "machines would be replaced, in gpu (1): --allow-replacement "
            "lets them be",
            self.no(),
        )
        self.rolled_out(files=True, replacing=True)
        # As for clusters: what is left out stays until an upgrade.
        self.assertEqual(("h100", ["modprobe nvidia"]), self.of_profile())
        self.assertEqual(others, self.items()["default-worker"])
        self.assertIsNone(self.look().desired)
        self.upgrade(self.row().cluster_template)
        item = self.items()["gpu"]
        self.assertEqual("h100", item["nodeLabels"]["accelerator"])
        self.assertNotIn("kubeadmConfigSpec", item)
