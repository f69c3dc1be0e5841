# SPDX-License-Identifier: Apache-2.0

"""The life of a cluster on one of several management clusters."""

from __future__ import annotations

from unittest import mock

from magnum import objects
from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class LifeTest(placing.LocationTestCase):
    """A complete cluster on b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def test_every_call_goes_there(self) -> None:
        before = self.requests("a")
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.add("extra")
        self.settle()
        self.poll()
        self.change("extra", max_node_count=5)
        self.poll()
        self.remove("extra")
        self.settle()
        self.poll()
        self.rotate()
        self.poll()
        self.delete()
        self.poll()
        self.planes["b"].cluster_api(base.NAMESPACE, base.RELEASE).finish()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual(before, self.requests("a"))

    def test_a_known_one_costs_no_request(self) -> None:
        self.health_poll()
        row = self.row()
        before = self.requests("a"), self.requests("b")
        self.assertEqual("b", registry.runtime_of(row).management_cluster.name)
        self.assertEqual(before, (self.requests("a"), self.requests("b")))

    def test_a_cluster_stays_in_place_with_another_label(self) -> None:
        labels = {"capi_management_cluster": "a"}
        row = self.row()
        row.cluster_template_id = self.template(labels=labels).uuid
        row.save()
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

    def test_a_cluster_is_found_with_exchanged_kubeconfigs(self) -> None:
        self.restart(a="b", b="a")
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertFalse(self.there("a"))

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

    def test_while_it_is_down_the_last_state_stays_and_health_says_why(
        self,
    ) -> None:
        self.stop("b")
        for restarted in (False, True):
            if restarted:
                self.restart()
            row = self.health_poll()
            self.assertEqual("CREATE_COMPLETE", row.status)
            self.assertEqual("UNKNOWN", row.health_status)
            self.assertIn(
                "the management cluster b does not answer",
                row.health_status_reason["api"],
            )
        self.planes["b"].management.recover()
        self.forget_silence()
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_while_it_is_down_the_other_one_is_asked_once(self) -> None:
        self.stop("b")
        self.restart()
        self.health_poll()
        before = self.requests("a")
        self.health_poll()
        self.assertEqual(before, self.requests("a"))

    def test_while_it_is_down_what_is_in_progress_says_why(self) -> None:
        self.resize(3)
        self.stop("b")
        for restarted in (False, True):
            if restarted:
                self.restart()
            self.poll()
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
            self.assertIn(
                "the management cluster b does not answer",
                self.row().status_reason,
            )
        self.planes["b"].management.recover()
        self.forget_silence()
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)

    def test_a_rebuilt_one_is_none(self) -> None:
        store = conf.CONF.capi_helm.chart_store
        home = self.planes["b"].home
        self.planes["b"] = plane.Plane(store, home)
        runtime.use(self.planes["b"].runtime())
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn("the operator has to", self.row().status_reason)
        self.restart()
        self.poll()
        self.assertIn(
            "none of the management clusters a, b is the one",
            self.row().status_reason,
        )
        self.assertEqual(1, len(self.openstack.credentials))


class EndTest(placing.LocationTestCase):
    """A cluster on a that is deleted."""

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
        self.assertRaises(exception.ClusterNotFound, self.row)
