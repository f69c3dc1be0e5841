# SPDX-License-Identifier: Apache-2.0

"""A management cluster that is frozen: nothing begins, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import freezing


class RefusedTest(freezing.FrozenTestCase):
    """What Magnum asks for, of a complete cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.add("extra")
        self.capi.settle()
        self.poll()
        self.before = self.wants()
        self.began = self.helms()
        self.freeze()

    def wants(self) -> list[tuple[Any, ...]]:
        """What the rows want, whatever their status."""
        return sorted(
            (each.name, each.node_count, each.max_node_count, each.stack_id)
            for each in self.groups().values()
        )

    def refused(self, call: Callable[..., Any], *args: Any, **kw: Any) -> None:
        """Refused with the operator's reason, and nothing written."""
        error = self.assertRaises(exception.NotSupported, call, *args, **kw)
        self.assertIn(freezing.MESSAGE, str(error))
        self.assert_quiet()
        self.assertEqual(self.began, self.helms())

    def heal(self) -> None:
        """Polls of the frozen one change nothing; after it, all is well."""
        self.health_poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assert_quiet()
        self.thaw()
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_resize_whose_count_magnum_puts_back(self) -> None:
        self.refused(self.resize, 5)
        self.assertEqual(self.before, self.wants())
        self.assertIn(freezing.MESSAGE, self.row().status_reason)
        self.heal()

    def test_an_update_of_the_count(self) -> None:
        self.refused(
            self.handler.cluster_update,
            self.context,
            self.row(),
            5,
            None,
            None,
            False,
        )
        self.assertEqual(self.before, self.wants())
        self.heal()

    def test_an_upgrade_is_refused_with_untouched_rows(self) -> None:
        template = self.template(image_id="ubuntu-1.34")
        with self.saves() as saves:
            self.refused(
                self.handler.cluster_upgrade,
                self.context,
                self.row(),
                template,
                1,
                self.groups()["default-worker"],
            )
        self.assertEqual([], saves)

    def test_a_rotation_is_refused_with_untouched_rows(self) -> None:
        with self.saves() as saves:
            self.refused(self.rotate)
        self.assertEqual([], saves)
        self.assertEqual(1, len(self.openstack.credentials))

    def test_a_new_nodegroup_is_refused_and_fails(self) -> None:
        self.refused(self.add, "more")
        group = self.groups()["more"]
        self.assertEqual("CREATE_FAILED", group.status)
        self.assertIsNone(group.stack_id)
        self.assertIn(freezing.MESSAGE, group.status_reason)
        self.heal()

    def test_a_change_of_a_nodegroup_whose_fields_are_put_back(self) -> None:
        self.refused(self.change, "extra", max_node_count=9)
        self.assertEqual(self.before, self.wants())
        self.heal()

    def test_the_deletion_of_a_nodegroup_which_lives_on(self) -> None:
        self.refused(self.remove, "extra")
        self.assertEqual(self.before, self.wants())
        self.heal()
        self.assertEqual("UPDATE_COMPLETE", self.groups()["extra"].status)

    def test_a_new_cluster_of_which_nothing_is_made(self) -> None:
        self.uuid = "5d12f6fd-a196-4bf0-ae4c-2f639a523a52"
        self.refused(self.create)
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn(freezing.MESSAGE, row.status_reason)
        self.assertIsNone(row.stack_id)
        self.assertEqual(1, len(self.openstack.credentials))
        self.delete()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_a_resize_is_refused_while_it_does_not_answer(self) -> None:
        self.health_poll()
        runtime.get().maintenance.read()
        self.management.unreachable()
        self.plane.clock.advance(60)
        self.refused(self.resize, 5)


class FirstTest(freezing.FrozenTestCase):
    def test_no_namespace_is_made_for_a_project(self) -> None:
        self.freeze()
        self.assertRaises(exception.NotSupported, self.create)
        self.assert_quiet()
        self.assertEqual({}, self.openstack.credentials)


class WaitsTest(freezing.FrozenTestCase):
    """What was accepted before."""

    def test_a_deletion_is_accepted_and_waits(self) -> None:
        self.complete()
        self.freeze()
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(
            f"deletion waits: {freezing.MESSAGE}", self.row().status_reason
        )
        self.assert_quiet()
        self.assertEqual([], self.warnings())
        self.thaw()
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_a_deletion_under_way_goes_on_afterwards(self) -> None:
        self.complete()
        self.delete()
        self.freeze()
        self.capi.finish()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assert_quiet()
        self.thaw()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_polls_go_on_reporting_and_finish_afterwards(self) -> None:
        self.complete()
        self.resize(3)
        self.freeze()
        self.poll()
        self.assertIn("worker", self.row().status_reason)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(freezing.MESSAGE, self.row().status_reason)
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
        self.plane.clock.advance(600)
        self.poll()
        self.assertEqual(began, self.helms())
        self.assert_quiet()
        self.assertEqual(freezing.MESSAGE, self.row().status_reason)
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
        conf.CONF.set_override("app_cred_grace", 0, "capi_helm")
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
        found = self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        assert found is not None
        self.assertEqual("", found["spec"]["holderIdentity"])

    def test_a_poll_of_a_healthy_cluster_pays_nothing_for_it(self) -> None:
        self.complete()
        self.health_poll()
        self.management.requests.clear()
        for _ in range(3):
            self.plane.clock.advance(60)
            self.health_poll()
        kinds_read = {each.kind for each in self.management.requests}
        self.assertNotIn("Namespace", kinds_read)


class AtWorkTest(freezing.FrozenTestCase):
    """Who is still at work on a management cluster."""

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
