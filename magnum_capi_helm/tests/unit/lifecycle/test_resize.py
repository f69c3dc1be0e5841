# SPDX-License-Identifier: Apache-2.0

"""Resize of a group, through Magnum's own handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fixtures
from magnum.common import exception
from oslotest import base as test_base

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import resize
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import test_autoscaler_counts

SCALED = test_autoscaler_counts.SCALED


class ResizeTest(base.NodegroupTestCase):
    def test_only_the_count_in_the_values_changes(self) -> None:
        asked = self.openstack.mocker.call_count
        self.resize(3)
        self.assertEqual(asked, self.openstack.mocker.call_count)
        before, after = (call.values for call in self.helm.upgrades)
        self.assertEqual(3, after["nodeGroups"][0]["machineCount"])
        after["nodeGroups"][0]["machineCount"] = 2
        fingerprints = [
            values.pop("clusterAnnotations")["magnum.openstack.org/intent"]
            for values in (before, after)
        ]
        self.assertEqual(before, after)
        self.assertNotEqual(*fingerprints)

    def test_a_resize_is_in_progress_until_machines_are_ready(self) -> None:
        self.save(status="UPDATE_FAILED")
        self.resize(3)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        reason = "nodegroup default-worker: 2 of 3 machines ready"
        self.assertEqual(("UPDATE_IN_PROGRESS", reason), self.state())
        self.assert_updated()
        group = self.groups()["default-worker"]
        self.assertEqual("UPDATE_COMPLETE", group.status)
        self.assertEqual(3, group.node_count)
        self.assertEqual(3, len(group.node_addresses))

    def test_an_update_of_the_node_count_is_a_resize(self) -> None:
        self.handler.cluster_update(self.context, self.row(), 4, None, {})
        self.assertEqual(4, self.replicas())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_a_busy_lease_or_silence_does_not_fail_it(self) -> None:
        with self.busy():
            self.resize(3)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(3, self.groups()["default-worker"].node_count)
        self.assertEqual(2, self.replicas())
        self.poll()
        self.assertEqual(3, self.replicas())
        self.management.unreachable()
        self.resize(4)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.management.recover()
        self.poll()
        self.assertEqual(4, self.replicas())

    def test_two_resizes_at_once_end_at_the_last_one(self) -> None:
        self.resize(3)
        self.resize(5)
        self.assert_updated()
        self.assertEqual(5, self.replicas())
        # It is undone before it was applied.
        self.management.unreachable()
        self.resize(3)
        self.resize(5)
        self.management.recover()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_the_same_count_waits_for_a_poll_that_has_the_lease(self) -> None:
        """To the next poll the same count is nothing to apply."""
        workers = names.machine_deployment(base.RELEASE, "default-worker")
        where = (kinds.MACHINE_DEPLOYMENT, base.NAMESPACE, workers)
        change = {"spec": {"template": {"spec": {"version": "v1.30.0"}}}}
        self.server.patch(*where, change)
        rt = runtime.get()
        rt.lease_wait = 60.0
        self.hold("other")
        self.useFixture(
            fixtures.MockPatch("time.sleep", lambda _: self.hold())
        )
        row = self.row()
        current = cluster_operation.Operation(self.context, row, rt)
        resize.resize(current, row.default_ng_worker, ())
        spec = self.live(kinds.MACHINE_DEPLOYMENT, workers)["spec"]
        self.assertEqual("v1.34.2", spec["template"]["spec"]["version"])


class ControlPlaneTest(base.NodegroupTestCase):
    def masters(self) -> int:
        (found,) = self.server.list(kinds.CONTROL_PLANE, base.NAMESPACE)
        return int(found["spec"]["replicas"])

    def test_a_control_plane_grows_and_shrinks_alone(self) -> None:
        for count in (3, 1):
            self.resize(count, "default-master")
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
            self.assert_updated()
            group = self.groups()["default-master"]
            self.assertEqual("UPDATE_COMPLETE", group.status)
            self.assertEqual(count, self.masters())
            self.assertEqual(count, len(group.node_addresses))
        first, _, last = (call.values for call in self.helm.upgrades)
        for values in (first, last):
            del values["clusterAnnotations"]
        self.assertEqual(first, last)

    def test_a_repeated_resize_succeeds_after_a_failure(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED] * 2
        with self.busy():
            self.resize(3, "default-master")
        self.assertEqual(1, self.masters())
        self.poll()
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.helm.outcomes = []
        self.resize(3, "default-master")
        self.assert_updated()
        self.assertEqual(3, self.masters())


class RefusedResizeTest(base.FlowTestCase):
    def refused(self, words: str, name: str, *args: Any) -> None:
        old = self.groups()[name].node_count
        runs = len(self.helm.upgrades)
        self.management.requests.clear()
        call = self.handler.cluster_resize
        group = self.groups()[name]
        text = self.error_of(call, self.context, self.row(), *args, group)
        self.assertIn(words, text)
        self.assertEqual(old, self.groups()[name].node_count)
        self.assertEqual(("UPDATE_FAILED", text), self.state())
        self.assertEqual(runs, len(self.helm.upgrades))
        asked = {each.verb for each in self.management.requests}
        self.assertLessEqual(asked, {"get", "list"})

    def test_an_invalid_size_of_the_control_plane_is_refused(self) -> None:
        self.set_option(api_load_balancer="requested")
        self.created(master_lb_enabled=False)
        for count in (0, 2, 9):
            self.refused("give 1, 3, 5 or 7", "default-master", count, [])
        self.refused("Cluster API chooses", "default-master", 1, ["m-1"])
        self.refused("no load balancer for its API", "default-master", 3, [])
        self.resize(1, "default-master")

    def test_a_count_beyond_the_autoscalers_bounds_is_refused(self) -> None:
        self.complete(labels=SCALED)
        before = self.replicas()
        self.refused("between 1 and 5", "default-worker", 6, [])
        self.assertEqual(before, self.replicas())
        self.management.unreachable()
        self.refused("does not answer", "default-worker", 3, [])

    def test_a_count_beyond_the_bounds_of_the_group_is_refused(self) -> None:
        self.complete()
        group = self.groups()["default-worker"]
        self.save(group, min_node_count=1, max_node_count=4)
        text = (
            "node_count=5: nodegroup 'default-worker' takes 1 to 4 nodes; "
            "change its bounds first"
        )
        self.refused(text, "default-worker", 5, [])
        self.save(self.groups()["default-worker"], max_node_count=None)
        self.refused("takes 1 or more nodes", "default-worker", 0, [])

    def test_an_update_that_is_to_be_rolled_back(self) -> None:
        self.complete()
        args: Any = (self.context, self.row(), 4, None, {}, True)
        text = self.error_of(self.handler.cluster_update, *args)
        self.assertIn("rollback of a failed update", text)
        self.assertEqual(2, self.groups()["default-worker"].node_count)
        self.assertEqual(1, len(self.helm.upgrades))
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_cluster_without_a_release_is_refused(self) -> None:
        self.saved(status="UPDATE_FAILED")
        self.refused("no release", "default-worker", 3, [])


class AutoscaledTest(base.FlowTestCase):
    """A cluster whose counts the autoscaler owns."""

    def test_within_its_bounds_it_goes_on_from_the_users_count(self) -> None:
        self.complete(labels=SCALED)
        with self.busy():
            self.resize(4)
        # It is not lost.
        self.assertEqual(4, self.replicas())
        self.poll()
        self.assert_updated()
        self.assertNotIn("machineCount", self.node_groups()[0])
        self.assertEqual(4, self.groups()["default-worker"].node_count)

    def test_a_count_that_cannot_be_set_is_refused(self) -> None:
        self.complete(labels=SCALED)
        self.fails(
            "patch",
            kinds.MACHINE_DEPLOYMENT,
            error=errors.ManagementError("refused (403)"),
        )
        before = self.groups()["default-worker"].node_count
        self.assertRaises(exception.MagnumException, self.resize, 4)
        self.assertEqual(before, self.groups()["default-worker"].node_count)


class GrowthTest(base.FlowTestCase):
    by_http = True

    def setUp(self) -> None:
        super().setUp()
        self.created()
        self.set_option(quota_check="refuse")
        self.openstack.quotas.known["instances"] = (10, 9)

    def refused(self, words: str, *args: Any) -> None:
        """A resize is refused, and its count put back."""
        self.assertRaisesRegex(
            exception.InvalidParameterValue, words, self.resize, *args
        )
        self.assertEqual(2, self.groups()["default-worker"].node_count)
        self.assertEqual(1, len(self.helm.upgrades))

    def test_growth_beyond_the_quota_is_refused(self) -> None:
        self.refused("instances: 3 needed, 1 of 10 free", 5)
        self.refused("instances: 2 needed, 1 of 10 free", 3, "default-master")
        self.resize(3)
        self.assertEqual(3, self.replicas())

    def test_disks_of_a_label_that_the_operator_changed_count(self) -> None:
        labels = {"boot_volume_size": "50"}
        order = rollout.Order(labels=labels, replacing=True)
        rollout.apply(self.new_operation(), order)
        self.settle()
        self.openstack.quotas.known["gigabytes"] = (100, 60)
        text = self.error_of(self.resize, 3)
        self.assertRegex(text, ".*50 needed, 40 of 100 free")

    def test_a_smaller_group_always_fits(self) -> None:
        self.openstack.quotas.known["instances"] = (1, 9)
        asked = self.openstack.mocker.call_count
        for count in (2, 0):
            self.resize(count)
            self.assertEqual(count, self.replicas())
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_unreadable_quotas_and_objects_refuse_nothing(self) -> None:
        self.fails(
            "list",
            kinds.CONTROL_PLANE,
            error=errors.ManagementError("refused (403)"),
        )
        self.resize(5)
        self.assertEqual(5, self.replicas())
        self.management.unreachable()
        self.resize(7)
        self.management.recover()
        self.poll()
        self.assertEqual(7, self.replicas())
        for url in (openstack.COMPUTE, openstack.NETWORK):
            self.openstack.stop(url)
        self.resize(9)
        self.assertEqual(9, self.replicas())

    def test_a_group_that_would_be_refused_today_can_grow(self) -> None:
        self.save(labels={"boot_volume_size": "big"})
        self.resize(3)
        self.assertEqual(3, self.replicas())


MARK = "cluster.x-k8s.io/delete-machine"


class RemovalTestCase(base.NodegroupTestCase):
    """A cluster with four workers."""

    def setUp(self) -> None:
        super().setUp()
        self.resize(4)
        self.settle()
        self.m0, self.m1, self.m2, self.m3 = self.machines()

    def machines(self, group: str = "default-worker") -> list[str]:
        found = self.server.list(kinds.MACHINE, base.NAMESPACE)
        owner = f"{base.RELEASE}-{group}"
        return [
            view.name_of(each)
            for each in found
            if view.labels_of(each).get(view.DEPLOYMENT_LABEL) == owner
        ]

    def marked(self) -> set[str]:
        found = self.server.list(kinds.MACHINE, base.NAMESPACE)
        return {
            view.name_of(each)
            for each in found
            if MARK in view.annotations_of(each)
        }

    def shrink(
        self, count: int, nodes: Sequence[str], name: str = "default-worker"
    ) -> None:
        """``coe cluster resize --nodes-to-remove``, through the handler."""
        self.handler.cluster_resize(
            self.context, self.row(), count, list(nodes), self.groups()[name]
        )


class ChosenTest(RemovalTestCase):
    def test_a_count_that_falls_by_more_leaves_them_the_rest(self) -> None:
        self.shrink(1, [self.m0])
        self.capi.settle()
        self.assertNotIn(self.m0, self.machines())
        self.assertEqual(1, len(self.machines()))

    def test_they_are_marked_before_the_count_falls(self) -> None:
        self.management.requests.clear()
        self.helm.upgrades.clear()
        self.fails("get", kinds.LEASE)
        self.shrink(3, [self.m0])
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual({self.m0}, self.marked())

    def test_two_requests_before_the_first_is_applied(self) -> None:
        with self.busy():
            self.shrink(3, [self.m1])
            self.shrink(2, [self.m2])
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.capi.settle()
        self.assertEqual([self.m0, self.m3], self.machines())

    def test_a_count_that_goes_up_again_takes_them_back(self) -> None:
        with self.busy():
            self.shrink(3, [self.m1])
        self.resize(4)
        self.assert_updated()
        self.assertEqual(set(), self.marked())
        self.assertEqual(4, len(self.machines()))

    def test_a_machine_that_was_marked_and_is_still_there_goes(self) -> None:
        self.shrink(3, [self.m1])
        # The count has fallen, and nobody has seen it yet.
        self.resize(3)
        self.assertEqual({self.m1}, self.marked())

    def test_a_foreign_mark_stays(self) -> None:
        mark = {"metadata": {"annotations": {MARK: "yes"}}}
        self.edit(kinds.MACHINE, self.m1, mark)
        self.resize(4)
        self.assertEqual({self.m1}, self.marked())

    def test_a_group_of_the_autoscaler(self) -> None:
        notes = {view.AUTOSCALER_MINIMUM: "1", view.AUTOSCALER_ANNOTATION: "5"}
        workers = names.machine_deployment(base.RELEASE, "default-worker")
        where = (kinds.MACHINE_DEPLOYMENT, base.NAMESPACE, workers)
        self.server.patch(*where, {"metadata": {"annotations": notes}})
        self.shrink(3, [self.m1])
        self.assertEqual({self.m1}, self.marked())
        self.assertEqual(3, self.replicas())


class RefusedRemovalTest(RemovalTestCase):
    def refused(self, count: int, *nodes: str) -> str:
        runs = len(self.helm.upgrades)
        text = self.error_of(self.shrink, count, nodes)
        self.assertEqual(set(), self.marked())
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(4, self.groups()["default-worker"].node_count)
        self.assertEqual(runs, len(self.helm.upgrades))
        return text

    def test_a_request_that_can_not_be_served_is_refused(self) -> None:
        self.assertIn("has no 'x', 'y'", self.refused(2, "x", self.m0, "y"))
        error = errors.ManagementError("refused (403)")
        self.fails("patch", kinds.MACHINE, self.m1, error=error)
        self.refused(2, self.m0, self.m1)
        self.management.unreachable()
        self.refused(3, self.m0)


_GONE = "2026-01-01T00:00:00Z"
_NODE: dict[str, Any] = {"status": {"nodeRef": {"name": "node-1"}}}
#: Count and nodes of a request -> words of the refusal. The group has the
#: machines m0 to m3, and m4 goes already.
REFUSED: tuple[tuple[int, Sequence[str], str], ...] = (
    (3, ("x", "m0", "y"), "nodegroup 'workers' has no 'x', 'y'; its nodes"),
    (3, ("x",), "its nodes are m0, node-1, server-2, m3"),
    (3, ("other",), "has no 'other'"),
    (3, ("master",), "has no 'master'"),
    (3, ("m4",), "has no 'm4'"),
    (2, ("m2", "server-2"), "names m2 more than once"),
    (3, ("m0", "m1"), "has 4 nodes, and without those that are to go"),
    (4, ("m0", "m1"), "node_count is at most 2, not 4"),
)


def machine(
    name: str, group: str = "k1-workers", **fields: Any
) -> view.Object:
    metadata = {"name": name, "labels": {view.DEPLOYMENT_LABEL: group}}
    return {"metadata": {**metadata, **fields.pop("metadata", {})}, **fields}


def cluster(machines: Sequence[view.Object]) -> view.View:
    """Return a cluster whose group ``workers`` has four machines."""
    deployment = {"metadata": {"name": "k1-workers"}, "spec": {"replicas": 4}}
    return view.View("k1", deployments=(deployment,), machines=(*machines,))


class NamesTest(test_base.BaseTestCase):
    objects = cluster(
        [
            machine("m0"),
            machine("m1", **_NODE),
            machine("m2", spec={"providerID": "openstack:///server-2"}),
            machine("m3"),
            machine("m4", metadata={"deletionTimestamp": _GONE}),
            machine("other", "k1-gpu"),
            machine("master", ""),
        ]
    )

    def chosen(
        self, count: int, nodes: Sequence[str], objects: view.View
    ) -> list[str]:
        group = requested_groups.Group("u", "workers", "workers", False, count)
        return resize.chosen_machines(nodes, objects, group)

    def refusal(
        self, count: int, nodes: Sequence[str], objects: view.View
    ) -> str:
        ask = (self.chosen, count, nodes, objects)
        return str(self.assertRaises(errors.InvalidInput, *ask))

    def test_each_name_of_a_node_chooses_its_machine(self) -> None:
        nodes = ("m3", "node-1", "server-2")
        chosen = self.chosen(1, nodes, self.objects)
        self.assertEqual(["m3", "m1", "m2"], chosen)

    def test_names_that_fit_no_machine_are_refused(self) -> None:
        for count, nodes, words in REFUSED:
            with self.subTest(nodes=nodes, count=count):
                text = self.refusal(count, nodes, self.objects)
                self.assertIn(words, text)

    def test_a_refusal_names_twenty_nodes_at_most(self) -> None:
        many = [machine(f"m{n:02}") for n in range(23)]
        text = self.refusal(2, ["x"], cluster(many))
        self.assertTrue(text.endswith("m18, m19 and 3 more"), text)
        self.assertIn("are none", self.refusal(2, ["x"], cluster([])))
