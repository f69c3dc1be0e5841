# SPDX-License-Identifier: Apache-2.0

"""The management cluster is not the one that a cluster was made on."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import moving

FOREIGN = "the management cluster is not the one that the cluster was made on"


class ElsewhereTest(moving.OriginTestCase):
    """Another management cluster: absent there is not gone."""

    def test_an_empty_one_concludes_no_deletion(self) -> None:
        self.complete()
        self.delete()
        other = self.move()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        reason = self.row().status_reason
        self.assertTrue(reason.startswith(f"deletion waits: {FOREIGN}"))
        self.assertIn("kubeconfig_file", self.log.output)
        self.assertEqual(1, len(self.openstack.credentials))
        self.assert_untouched(other)

    def test_an_equal_namespace_elsewhere_concludes_no_deletion(self) -> None:
        self.complete()
        other = self.move(base.NAMESPACE)
        self.delete()
        self.poll()
        self.assertIn(FOREIGN, self.row().status_reason)
        self.assertEqual(1, len(self.openstack.credentials))
        self.assert_untouched(other)
        self.move_back()
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)

    def test_health_is_unknown_there_and_says_why(self) -> None:
        self.complete()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        other = self.move(base.NAMESPACE)
        row = self.health_poll()
        self.assertEqual("UNKNOWN", row.health_status)
        self.assertIn(FOREIGN, row.health_status_reason["api"])
        self.assert_untouched(other)
        self.move_back()
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_a_management_cluster_without_cluster_api_shows_why(self) -> None:
        self.complete()
        other = self.move()
        other.management.fail(
            errors.ManagementUnserved("no kind Cluster is served"),
            verbs=["list"],
            kind=kinds.CLUSTER,
        )
        reason = self.health_poll().health_status_reason
        self.assertIn(FOREIGN, reason["api"])

    def test_an_update_waits_and_says_why(self) -> None:
        self.complete()
        addresses = self.groups()["default-worker"].node_addresses
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        other = self.move(base.NAMESPACE)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(FOREIGN, self.row().status_reason)
        self.assertEqual(
            addresses, self.groups()["default-worker"].node_addresses
        )
        self.assert_untouched(other)
        self.move_back()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)

    def test_a_create_is_not_continued_there(self) -> None:
        self.helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        other = self.move(base.NAMESPACE)
        self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.assertIn(FOREIGN, self.row().status_reason)
        self.assert_untouched(other)

    def test_a_resize_is_not_applied_there(self) -> None:
        self.complete()
        other = self.move(base.NAMESPACE)
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(FOREIGN, self.row().status_reason)
        self.assert_untouched(other)
        self.move_back()
        self.poll()
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(3, self.replicas())

    def test_a_nodegroup_is_not_made_there(self) -> None:
        self.complete()
        other = self.move(base.NAMESPACE)
        refused = self.assertRaises(
            exception.MagnumException, self.add, "extra"
        )
        self.assertIn(FOREIGN, str(refused))
        self.assert_untouched(other)

    def test_a_nodegroup_is_not_changed_there(self) -> None:
        self.complete()
        self.add("extra")
        self.capi.settle()
        self.poll()
        other = self.move(base.NAMESPACE)
        refused = self.assertRaises(
            exception.MagnumException,
            self.change,
            "extra",
            max_node_count=5,
        )
        self.assertIn(FOREIGN, str(refused))
        self.remove("extra")
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["extra"].status)
        self.assert_untouched(other)
