# SPDX-License-Identifier: Apache-2.0

"""What the namespace ``kube-system`` says, and how old that may be."""

from __future__ import annotations

from collections.abc import Callable
import json
import math
import time
from typing import Any, cast

from magnum.common import exception
from oslotest import base as oslotest_base

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


def namespace(**annotations: str) -> client.Object:
    noted = {
        f"magnum.openstack.org/{key.replace('_', '-')}": value
        for key, value in annotations.items()
    }
    return {"metadata": {"uid": "u-1", "annotations": noted}}


class ParsedTest(oslotest_base.BaseTestCase):
    def test_annotations_of_the_namespace_give_the_state(self) -> None:
        etcd = maintenance.Freeze("etcd", 5.0, "x")
        rows: tuple[tuple[client.Object | None, maintenance.State], ...] = (
            (None, maintenance.State("")),
            ({"metadata": {"uid": "u-1"}}, maintenance.State("u-1")),
            (
                namespace(frozen='{"reason": "etcd", "since": 5, "by": "x"}'),
                maintenance.State("u-1", etcd),
            ),
            (
                namespace(was_frozen="[[1, 2], [3.5, 4]]"),
                maintenance.State("u-1", None, ((1.0, 2.0), (3.5, 4.0))),
            ),
            # Written by hand, it freezes as well.
            *(
                (
                    namespace(frozen=text),
                    maintenance.State(
                        "u-1", maintenance.Freeze(text, -math.inf)
                    ),
                )
                for text in ("", "by hand", "[]", "7", '{"reason": "x"}')
            ),
            (namespace(was_frozen="never"), maintenance.State("u-1")),
            (namespace(was_frozen="[1]"), maintenance.State("u-1")),
        )
        for found, state in rows:
            self.assertEqual(state, maintenance.parsed(found), str(found))

    def test_a_freeze_by_hand_has_no_known_start(self) -> None:
        state = maintenance.parsed(
            namespace(frozen="x", was_frozen="[[1, 2]]")
        )
        self.assertEqual(((1.0, 2.0), (-math.inf, 9.0)), state.spans(9.0))

    def test_the_seconds_of_freezes_count_from_a_moment_on(self) -> None:
        now = maintenance.Freeze("x", 80.0)
        for state, since, seconds in (
            (maintenance.State(), 0.0, 0.0),
            (maintenance.State("u", now), 0.0, 20.0),
            (maintenance.State("u", now), 90.0, 10.0),
            (maintenance.State("u", None, ((1.0, 3.0), (5.0, 9.0))), 2.0, 5.0),
            (maintenance.State("u", now, ((70.0, 75.0),)), 72.0, 23.0),
            (maintenance.State("u", maintenance.Freeze("x")), 60.0, 40.0),
        ):
            self.assertEqual(seconds, state.seconds(since, 100.0))


class ReadTest(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.now = 100.0
        self.management = management.FakeManagement(api_server.ApiServer())
        self.maintenance = maintenance.Maintenance(
            cast("client.Client", self.management), "east", lambda: self.now
        )

    def test_identity_is_the_uid_of_kube_system(self) -> None:
        real, transport = api.over(
            api.Answer(200, {"metadata": {"uid": "u-1"}})
        )
        self.assertEqual("u-1", maintenance.Maintenance(real).read().identity)
        self.assertEqual(
            [("GET", "v1 namespaces/kube-system")], transport.asked
        )

    def test_an_answer_is_used_for_five_seconds(self) -> None:
        for ahead, reads in ((0.0, 1), (4.9, 1), (5.0, 2), (9.9, 2)):
            self.now = 100.0 + ahead
            self.maintenance.check()
            self.assertEqual(reads, len(self.management.requests))

    def test_frozen_it_refuses_with_the_reason(self) -> None:
        self.maintenance.freeze("etcd moves", "op@host", 1000.0)
        error = self.assertRaises(errors.Frozen, self.maintenance.check)
        self.assertRegex(
            str(error),
            "cluster east is frozen .* says: etcd moves$",
        )
        self.assertTrue(error.retriable)

    def test_another_reason_is_the_same_maintenance(self) -> None:
        self.maintenance.freeze("one", "a", 1000.0)
        self.maintenance.freeze("two", "b", 2000.0)
        self.assertEqual(
            maintenance.Freeze("two", 1000.0, "b"),
            self.maintenance.read().freeze,
        )

    def test_a_reason_is_one_that_says_something(self) -> None:
        for wrong in ("", "  ", "x" * 201):
            error = self.assertRaises(
                errors.InvalidInput, self.maintenance.freeze, wrong, "a", 1.0
            )
            self.assertIn("give 1 to 200 characters", str(error))
        self.assertEqual([], self.management.requests)

    def test_twenty_that_are_over_are_remembered(self) -> None:
        spans = [(each * 10.0, each * 10.0 + 1) for each in range(25)]
        for began, ended in spans:
            self.maintenance.freeze("x", "a", began)
            self.maintenance.thaw(ended)
        self.maintenance.check()
        found = self.maintenance.read()
        self.assertEqual(tuple(spans[5:]), found.before)
        self.maintenance.thaw(3000.0)
        self.assertEqual(found, self.maintenance.read())

    def test_a_freeze_by_hand_is_ended_and_not_remembered(self) -> None:
        change = {"metadata": {"annotations": {maintenance.FROZEN: "by hand"}}}
        self.management.patch(kinds.NAMESPACE, "", "kube-system", change)
        self.assertRaises(errors.Frozen, self.maintenance.check)
        self.maintenance.thaw(1000.0)
        self.maintenance.check()
        self.assertEqual((), self.maintenance.read().before)

    def test_an_unreachable_one_stays_frozen(self) -> None:
        self.management.unreachable()
        self.assertRaises(errors.ManagementUnreachable, self.maintenance.check)
        self.management.recover()
        self.maintenance.freeze("x", "a", 1000.0)
        self.management.unreachable()
        self.now += 60
        self.assertRaises(errors.Frozen, self.maintenance.check)
        self.assertRaises(errors.ManagementUnreachable, self.maintenance.read)

    def test_other_annotations_stay(self) -> None:
        change = {"metadata": {"annotations": {"theirs": "1"}}}
        self.management.patch(kinds.NAMESPACE, "", "kube-system", change)
        self.maintenance.freeze("x", "a", 1000.0)
        self.maintenance.thaw(1001.0)
        found = self.management.get(kinds.NAMESPACE, "", "kube-system") or {}
        spans = json.dumps([[1000.0, 1001.0]])
        self.assertEqual(
            {"theirs": "1", maintenance.WAS_FROZEN: spans},
            found["metadata"]["annotations"],
        )


class RefusedTest(placing.FrozenTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.add("extra")
        self.settle()
        self.before = self.wants()
        self.began = self.helms()
        self.freeze()

    def wants(self) -> list[tuple[Any, ...]]:
        return sorted(
            (each.name, each.node_count, each.max_node_count, each.stack_id)
            for each in self.groups().values()
        )

    def refused(self, call: Callable[..., Any], *args: Any, **kw: Any) -> None:
        self.assertIn(placing.MESSAGE, self.error_of(call, *args, **kw))
        self.assert_quiet()
        self.assertEqual(self.began, self.helms())

    def heal(self) -> None:
        self.health_poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assert_quiet()
        self.thaw()
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_changes_are_refused_and_put_back(self) -> None:
        update = (self.context, self.row(), 5, None, None, False)
        for call, args, fields in (
            (self.resize, (5,), {}),
            (self.handler.cluster_update, update, {}),
            (self.change, ("extra",), {"max_node_count": 9}),
            (self.remove, ("extra",), {}),
        ):
            self.refused(call, *args, **fields)
            self.assertEqual(self.before, self.wants())
        self.heal()
        self.assertEqual("UPDATE_COMPLETE", self.groups()["extra"].status)

    def test_upgrade_and_rotation_are_refused_with_no_writes(self) -> None:
        template = self.template(image_id="ubuntu-1.34")
        group = self.groups()["default-worker"]
        upgrade = (self.context, self.row(), template, 1, group)
        with self.saves() as saves:
            self.refused(self.handler.cluster_upgrade, *upgrade)
            self.refused(self.rotate)
        self.assertEqual([], saves)
        self.assertEqual(1, len(self.openstack.credentials))

    def test_a_new_nodegroup_is_refused_and_fails(self) -> None:
        self.refused(self.add, "more")
        group = self.groups()["more"]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertIsNone(group.stack_id)
        self.assertIn(placing.MESSAGE, group.status_reason)
        self.heal()

    def test_a_new_cluster_of_which_nothing_is_made(self) -> None:
        self.uuid = "5d12f6fd-a196-4bf0-ae4c-2f639a523a52"
        self.refused(self.create)
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn(placing.MESSAGE, row.status_reason)
        self.assertIsNone(row.stack_id)
        self.assertEqual(1, len(self.openstack.credentials))
        self.delete()
        self.poll()
        self.assertTrue(self.gone())


class WaitsTest(placing.FrozenTestCase):
    def test_a_deletion_is_accepted_and_waits(self) -> None:
        self.complete()
        self.freeze()
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(f"deletion waits: {placing.MESSAGE}", self.why())
        self.assert_quiet()
        self.assertEqual([], self.warnings())
        self.thaw()
        self.poll()
        self.freeze()
        self.capi.finish()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assert_quiet()
        self.thaw()
        self.poll()
        self.assertTrue(self.gone())

    def test_polls_go_on_reporting_and_finish_afterwards(self) -> None:
        self.complete()
        self.resize(3)
        self.freeze()
        self.poll()
        self.assertIn("worker", self.why())
        self.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(placing.MESSAGE, self.why())
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assert_quiet()
        self.assertEqual([], self.warnings())
        self.thaw()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_pending_work_of_helm_waits(self) -> None:
        self.complete()
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.resize(3)
        began = self.helms()
        self.freeze()
        self.poll_after(600)
        self.assertEqual(began, self.helms())
        self.assert_quiet()
        self.assertEqual(placing.MESSAGE, self.why())
        self.thaw()
        self.poll()
        self.assertEqual(began + 1, self.helms())

    def test_a_failed_cluster_is_left_alone(self) -> None:
        self.complete()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.freeze()
        self.plane.clock.advance(600)
        before = len(self.warnings())
        self.health_poll()
        self.assert_quiet()
        self.assertEqual(before, len(self.warnings()))

    def test_old_credentials_wait_and_health_is_told(self) -> None:
        self.complete()
        self.rotate()
        self.assertEqual(2, len(self.openstack.credentials))
        self.set_option(app_cred_grace=0)
        self.freeze()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assert_quiet()
        self.assertEqual(2, len(self.openstack.credentials))

    def test_work_under_way_is_finished(self) -> None:
        self.complete()
        upgrade = self.helm.upgrade

        def frozen_meanwhile(*args: Any, **kwargs: Any) -> float:
            self.freeze()
            return upgrade(*args, **kwargs)

        self.helm.upgrade = frozen_meanwhile  # type: ignore[method-assign]
        self.resize(3)
        self.assertEqual(3, self.replicas())
        found = self.live(kinds.LEASE)
        self.assertEqual("", found["spec"]["holderIdentity"])

    def test_no_namespace_is_made_for_a_project(self) -> None:
        self.freeze()
        self.assertRaises(exception.NotSupported, self.create)
        self.assert_quiet()
        self.assertEqual({}, self.openstack.credentials)


class AtWorkTest(placing.FrozenTestCase):
    def test_living_holders_of_leases_are_at_work(self) -> None:
        self.complete()
        rt = runtime.get()
        self.assertEqual([], rt.leases.holders())
        with self.busy():
            self.assertEqual([base.RELEASE], rt.leases.holders())
            self.plane.clock.advance(lease.DURATION + 1)
            self.assertEqual([], rt.leases.holders())

    def test_leases_of_others_are_not_asked(self) -> None:
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": "elsewhere"}}
        )
        spec = {"holderIdentity": "leader", "renewTime": "now"}
        meta = {"name": "leader", "namespace": "elsewhere"}
        self.server.create(kinds.LEASE, {"metadata": meta, "spec": spec})
        self.assertEqual([], runtime.get().leases.holders())


class ClockTest(placing.FrozenTestCase):
    def test_a_create_gets_the_time_of_a_freeze_back(self) -> None:
        self.create()
        rows: tuple[tuple[float, float, str], ...] = (
            # created, frozen: minutes ago
            (70, 0, "CREATE_FAILED"),
            (70, 20, "CREATE_IN_PROGRESS"),
            (90, 20, "CREATE_FAILED"),
            (70, 5, "CREATE_FAILED"),
        )
        for created, frozen, status in rows:
            self.save(status="CREATE_IN_PROGRESS")
            base.install(self, self.plane.runtime())
            noted: Any = {"metadata": {"annotations": None}}
            self.server.patch(kinds.NAMESPACE, "", "kube-system", noted)
            self.backdate(created)
            if frozen:
                self.freeze(frozen)
                self.thaw()
            self.poll()
            self.assertEqual(status, self.row().status, frozen)

    def test_a_deletion_gets_the_time_of_a_freeze_back(self) -> None:
        self.complete()
        self.delete()
        limit = conf.CONF.capi_helm.operation_timeout
        asked = time.gmtime(time.time() - (limit + 5) * 60)
        text = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", asked)
        mark = {"metadata": {"annotations": {lease.DELETE_MARK: text}}}
        self.edit(kinds.LEASE, base.RELEASE, mark)
        self.freeze(10)
        for _ in range(2):
            self.poll()
            self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
            self.thaw()


class SeveralTest(placing.LocationTestCase):
    def freeze(self, name: str) -> None:
        rt = self.planes[name].runtime("operator")
        rt.maintenance.freeze("etcd moves", "op@host", time.time())
        for each in self.planes.values():
            each.clock.advance(6)

    def test_a_template_that_names_the_frozen_one_is_refused(self) -> None:
        self.freeze("b")
        frozen = "the management cluster b is frozen"
        self.assertIn(frozen, self.error_of(self.make))
        self.assertIsNone(self.row().stack_id)

    def test_clusters_of_the_other_are_changed_as_ever(self) -> None:
        self.made()
        self.freeze("a")
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
