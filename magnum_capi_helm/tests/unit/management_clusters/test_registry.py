# SPDX-License-Identifier: Apache-2.0

"""Several management clusters: where a cluster is, goes to, and lives."""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock
import uuid

from magnum import objects
from magnum.common import exception
from oslotest import base as oslotest_base

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing

SILENT = "the management cluster b does not answer"
NONE_IS_IT = (
    "none of the management clusters a, b is the one that the cluster was "
    "made on"
)


class LifeTest(placing.LocationTestCase):
    """A complete cluster on b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def test_every_call_goes_there(self) -> None:
        before = self.requests("a")
        for call in (
            lambda: self.resize(3),
            lambda: self.add("extra"),
            lambda: self.change("extra", max_node_count=5),
            lambda: self.remove("extra"),
            self.rotate,
        ):
            call()
            self.settle()
            self.poll()
            self.assertNotIn("FAILED", self.row().status)
        self.delete()
        self.poll()
        self.planes["b"].cluster_api(base.NAMESPACE, base.RELEASE).finish()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual(before, self.requests("a"))

    def test_a_known_one_costs_no_request(self) -> None:
        self.health_poll()
        row = self.row()
        before = self.requests("a"), self.requests("b")
        self.assertEqual("b", registry.runtime_of(row).management_cluster.name)
        self.assertEqual(before, (self.requests("a"), self.requests("b")))

    def test_a_cluster_stays_in_place_with_another_label(self) -> None:
        labels = {"capi_management_cluster": "a"}
        self.save(cluster_template_id=self.template(labels=labels).uuid)
        self.restart()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_cluster_is_found_under_another_name(self) -> None:
        self.configure("a", "west")
        self.restart(a="a", west="b")
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assertTrue(self.recorded().endswith("@west"))
        self.stop("b")
        self.restart(a="a", west="b")
        self.assertIn(
            "does not answer", str(self.health_poll().health_status_reason)
        )

    def test_a_management_cluster_is_found_again_at_its_address(self) -> None:
        row = self.row()
        another = plane.Plane(
            conf.CONF.capi_helm.chart_store, self.planes["b"].home
        )
        self.restart()
        runtime.use(another.runtime())
        self.assertRaises(identity.ElsewhereError, registry.runtime_of, row)
        # No restart: behind the same address is the right one again.
        runtime.use(self.planes["b"].runtime())
        self.assertEqual("b", registry.runtime_of(row).management_cluster.name)

    def test_while_it_is_down_the_state_stays_and_health_says(self) -> None:
        self.stop("b")
        for restarted in (False, True):
            if restarted:
                self.restart()
            row = self.health_poll()
            self.assertEqual("CREATE_COMPLETE", row.status)
            self.assertEqual("UNKNOWN", row.health_status)
            self.assertIn(SILENT, row.health_status_reason["api"])
        # The other one is asked once.
        before = self.requests("a")
        self.health_poll()
        self.assertEqual(before, self.requests("a"))
        self.planes["b"].management.recover()
        self.forget_silence()
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_while_it_is_down_what_is_in_progress_says_why(self) -> None:
        self.resize(3)
        self.stop("b")
        for restarted in (False, True):
            if restarted:
                self.restart()
            self.poll()
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
            self.assertIn(SILENT, self.why())
        self.planes["b"].management.recover()
        self.forget_silence()
        self.settle()
        self.poll()
        self.assertEqual(("UPDATE_COMPLETE", None), self.state())

    def test_a_rebuilt_one_is_none(self) -> None:
        store = conf.CONF.capi_helm.chart_store
        home = self.planes["b"].home
        self.planes["b"] = plane.Plane(store, home)
        runtime.use(self.planes["b"].runtime())
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn("the operator has to", self.why())
        self.restart()
        self.poll()
        self.assertIn(NONE_IS_IT, self.why())
        self.assertEqual(1, len(self.openstack.credentials))


class EndTest(placing.LocationTestCase):
    def test_a_deletion_ends_after_magnum_removed_the_groups(self) -> None:
        self.make("a")
        self.settle("a")
        self.poll()
        self.delete()
        self.planes["a"].cluster_api(base.NAMESPACE, base.RELEASE).finish()
        # The conductor stops between the rows of groups and cluster.
        with mock.patch.object(objects.Cluster, "destroy"):
            self.poll()
        self.assertEqual({}, self.groups())
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.restart()
        self.poll()
        self.assertTrue(self.gone())


class SwitchTest(base.FlowTestCase):
    several = placing.LocationTestCase.configure

    def start(self, down: bool = False) -> plane.Plane:
        """The old one is called old, and there is a new one."""
        self.several("new", "old")
        runtime.reset()
        self.addCleanup(runtime.reset)
        new = plane.Plane(
            conf.CONF.capi_helm.chart_store, runtime.settings_of("new")
        )
        self.plane.home = runtime.settings_of("old")
        runtime.use(new.runtime())
        runtime.use(self.plane.runtime())
        return new

    def test_clusters_keep_their_management_cluster(self) -> None:
        """By their record, or by their object."""
        self.complete()
        for found in (True, False):
            master = self.groups()["default-master"]
            self.assertNotIn("old", master.stack_id)
            if found:
                self.save(master, stack_id=base.RELEASE)
            self.start()
            self.assertEqual("HEALTHY", self.health_poll().health_status)
            master = self.groups()["default-master"]
            self.assertTrue(master.stack_id.endswith("@old"), master.stack_id)
            self.save(master, stack_id=master.stack_id.removesuffix("@old"))
        self.resize(3)
        self.assert_updated()

    def test_clusters_go_back_to_one_without_a_name(self) -> None:
        self.complete()
        self.start()
        self.health_poll()
        conf.CONF.clear_override("management_clusters", "capi_helm")
        runtime.reset()
        self.plane.home = runtime.settings_of("")
        runtime.use(self.plane.runtime())
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.assert_updated()

    def test_a_cluster_that_1_4_0_left_nowhere_can_be_deleted(self) -> None:
        self.saved(stack_id="web-xq3k7w2m5n8p", status="CREATE_FAILED")
        new = self.start()
        for each in (new, self.plane):
            each.server.create(
                kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
            )
        self.delete()
        self.poll()
        self.assertTrue(self.gone())


class CreateTest(placing.LocationTestCase):
    def test_a_cluster_is_made_where_its_template_says(self) -> None:
        for name, other in (("a", "b"), ("b", "a")):
            self.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
            release = names.release("web", self.uuid)
            self.make(name)
            has, has_not = (self.planes[each].server for each in (name, other))
            where = (kinds.CLUSTER, base.NAMESPACE, release)
            self.assertIsNotNone(has.get(*where))
            self.assertIsNone(has_not.get(*where))

    def test_the_one_that_the_template_names_has_to_answer(self) -> None:
        self.stop("b")
        self.assertRaises(exception.MagnumException, self.make)
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn("management cluster b does not", row.status_reason)
        self.assertIsNone(row.stack_id)

    def test_an_interrupted_create_goes_on_where_it_began(self) -> None:
        there = self.planes["b"].management
        self.planes["b"].helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.stop("a")
        self.assertRaises(management.Killed, self.make, on="")
        there.recover()
        # By now it would go there.
        self.planes["a"].management.recover()
        expired = {"spec": {"holderIdentity": ""}}
        self.planes["b"].server.patch(
            kinds.LEASE, base.NAMESPACE, base.RELEASE, expired
        )
        for lost in (False, True):
            if lost:
                self.forget()
            self.restart()
            self.poll()
            self.assertFalse(self.there("a"))
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_the_record_names_it_from_the_claim_on(self) -> None:
        there = self.planes["b"].management
        there.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.make)
        there.recover()
        self.assertEqual(
            f"{base.RELEASE}@{there.identity()}@b", self.recorded()
        )
        # An unclaimed cluster leaves no Lease.
        self.save(stack_id=None)
        self.delete()
        self.poll()
        self.assertFalse(self.there("b"))


class WindowTest(placing.LocationTestCase):
    """Magnum has overwritten the record, and there was no poll yet."""

    def setUp(self) -> None:
        super().setUp()
        self.make()
        self.assertEqual(base.RELEASE, self.recorded())

    def test_the_first_poll_finds_it_and_records_it(self) -> None:
        """Also while the other place is down."""
        here = self.planes["b"].management.identity()
        for down in (False, True):
            self.forget()
            self.restart()
            if down:
                self.stop("a")
                self.settle()
            self.poll()
            self.assertEqual(f"{base.RELEASE}@{here}@b", self.recorded())
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_while_it_is_down_it_is_waited_for(self) -> None:
        self.stop("b")
        self.restart()
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.assertIn("still to answer: b: ", self.why())
        self.assertFalse(self.there("a"))
        self.planes["b"].management.recover()
        self.forget_silence()
        self.settle()
        self.poll()
        self.assertEqual(("CREATE_COMPLETE", None), self.state())

    def test_a_deletion_waits_for_it(self) -> None:
        self.stop("b")
        self.restart()
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn("deletion waits: the cluster is on none", self.why())
        self.assertEqual(1, len(self.openstack.credentials))

    def test_a_cluster_that_is_nowhere_is_not_gone(self) -> None:
        server = self.planes["b"].server
        for kind in (kinds.CLUSTER, kinds.LEASE):
            server.delete(kind, base.NAMESPACE, base.RELEASE)
            server.release(kind, base.NAMESPACE, base.RELEASE)
        for name in server.names(kinds.SECRET):
            server.delete(kinds.SECRET, base.NAMESPACE, name)
        self.delete()
        self.poll()
        self.assertIn(NONE_IS_IT, self.why())


DOWN = errors.ManagementUnreachable("no answer")

NONE = ("", "")

#: Record, whether each is the one, the name; None: none of them is.
FOUND: list[tuple[str, tuple[str, str], dict[str, Any], str | None]] = [
    ("as recorded", ("1", "a"), {"a": True, "b": False}, "a"),
    ("no name recorded", ("2", ""), {"a": False, "b": True}, "b"),
    ("renamed", ("1", "a"), {"b": False, "c": True}, "c"),
    ("names changed places", ("1", "a"), {"a": False, "b": True}, "b"),
    ("it is down", ("1", "a"), {"a": DOWN, "b": False}, "a"),
    ("renamed, the old name is down", ("1", "a"), {"a": DOWN, "b": True}, "b"),
    ("another is down", ("1", "a"), {"a": True, "b": DOWN}, "a"),
    ("two names of one", ("1", "b"), {"a": True, "b": True}, "b"),
    ("two other names of one", ("1", "c"), {"a": True, "b": True}, "a"),
    ("taken out of the list", ("1", "a"), {"b": False, "c": False}, None),
    ("one has objects", NONE, {"a": False, "b": True}, "b"),
    ("one has objects, another is down", NONE, {"a": DOWN, "b": True}, "b"),
    ("none has objects", NONE, {"a": False, "b": False}, None),
]

#: Record, whether each is the one, the message as a pattern.
LOST: list[tuple[str, tuple[str, str], dict[str, Any], str]] = [
    (
        "without a name it may be the one that is down",
        ("1", ""),
        {"a": DOWN, "b": False},
        "on none .* that answer; still .*: a: no answer. .*kube-system: 1$",
    ),
    (
        "another one has its name, and one is down",
        ("1", "a"),
        {"a": False, "b": DOWN},
        "on none .* answer; still .*: b: no answer. It was called a. .*: 1$",
    ),
    (
        "the one that is down may have objects",
        NONE,
        {"a": DOWN, "b": False},
        "on none .* that answer; still to answer: a: no answer. .*: unknown$",
    ),
    (
        "two have objects",
        NONE,
        {"a": True, "b": True, "c": False},
        "the management clusters a, b all have .* web: .* remove it from",
    ),
]


class LocateTest(oslotest_base.BaseTestCase):
    def test_answers_give_the_location(self) -> None:
        for case, record, answers, expected in FOUND:
            recorded = identity.Record(*record)
            name = registry.locate(recorded, "web", answers)
            self.assertEqual(expected, name, case)

    def test_an_uncertain_location_is_refused(self) -> None:
        for case, record, answers, expected in LOST:
            asked = (identity.Record(*record), "web", answers)
            error = self.assertRaises(
                identity.ElsewhereError, registry.locate, *asked
            )
            self.assertRegex(errors.explained(error), expected, case)


class AskTest(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        runtime.reset()
        self.addCleanup(runtime.reset)
        self.planes = {
            name: plane.Plane("", options.ManagementCluster(name, "", ""))
            for name in "ab"
        }
        for each in self.planes.values():
            runtime.use(each.runtime())
        self.clock = plane.Clock()
        runtime.cache().clock = self.clock

    def asked(self, name: str) -> int:
        return len(self.planes[name].management.requests)

    def test_each_answers_or_says_why_not(self) -> None:
        self.planes["b"].management.unreachable()
        found = registry.ask(["a", "b"], identity.read)
        self.assertEqual(self.planes["a"].management.identity(), found["a"])
        self.assertIsInstance(found["b"], errors.ManagementUnreachable)

    def test_a_silent_one_is_not_asked_for_five_seconds(self) -> None:
        self.planes["b"].management.unreachable()
        first = registry.ask(["a", "b"], identity.read)
        before = self.asked("b")
        again = registry.ask(["a", "b"], identity.read)
        self.assertEqual(before, self.asked("b"))
        self.assertIs(first["b"], again["b"])
        self.planes["b"].management.recover()
        self.clock.advance(6)
        self.assertIsInstance(registry.ask(["b"], identity.read)["b"], str)

    def test_a_refusing_one_is_asked_again_at_once(self) -> None:
        self.planes["b"].management.fail(errors.ManagementError("no"))
        for _ in range(2):
            found = registry.ask(["b"], identity.read)
            self.assertEqual("no", str(found["b"]))
        self.planes["b"].management.recover()
        self.assertIsInstance(registry.ask(["b"], identity.read)["b"], str)

    def test_management_clusters_are_asked_at_the_same_time(self) -> None:
        both = threading.Barrier(2, timeout=30)
        found = registry.ask(["a", "b"], lambda _: both.wait() >= 0)
        self.assertEqual({"a": True, "b": True}, found)
