# SPDX-License-Identifier: Apache-2.0

"""Which management cluster a cluster was made on is remembered."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import moving


class RememberedTest(moving.OriginTestCase):
    """Where a cluster is, is known."""

    def test_a_claim_records_the_identity(self) -> None:
        self.management.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        self.assertEqual(base.RELEASE, self.row().stack_id)
        self.assertEqual(self.here(), self.recorded())

    def test_a_poll_records_the_identity_again(self) -> None:
        self.create()
        self.assertEqual(base.RELEASE, self.recorded())
        self.poll()
        self.assertEqual(self.here(), self.recorded())

    def test_the_identity_is_in_no_other_row(self) -> None:
        self.complete()
        self.assertEqual(base.RELEASE, self.row().stack_id)
        self.assertEqual(
            base.RELEASE, self.groups()["default-worker"].stack_id
        )
        self.assertEqual({}, self.row().labels)

    def test_a_health_poll_records_the_identity(self) -> None:
        self.complete()
        self.forget()
        self.health_poll()
        self.assertEqual(self.here(), self.recorded())

    def test_a_deletion_records_the_identity(self) -> None:
        self.complete()
        self.forget()
        self.delete()
        self.assertEqual(self.here(), self.recorded())

    def test_a_poll_elsewhere_records_no_identity(self) -> None:
        self.complete()
        self.forget()
        self.move(base.NAMESPACE)
        self.health_poll()
        self.assertEqual(base.RELEASE, self.recorded())


class BeforeTheFirstPollTest(moving.OriginTestCase):
    """Magnum has overwritten the record, and the Cluster was not seen yet."""

    def started(self) -> None:
        """The conductor stopped after the credential; helm never ran."""
        self.helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        self.forget()
        expired = {"spec": {"holderIdentity": ""}}
        self.server.patch(kinds.LEASE, base.NAMESPACE, base.RELEASE, expired)

    def test_the_lease_says_where_it_is(self) -> None:
        self.started()
        self.poll()
        self.assertEqual(self.here(), self.recorded())
        self.capi.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_create_does_not_fail_elsewhere(self) -> None:
        self.started()
        for namespaces in ((), (base.NAMESPACE,)):
            other = self.move(*namespaces)
            self.poll()
            self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
            self.assertIn(moving.NO_TRACE, self.row().status_reason)
            self.assertEqual(base.RELEASE, self.recorded())
            self.assert_untouched(other)

    def test_health_elsewhere_is_unknown_and_says_why(self) -> None:
        self.created()
        self.forget()
        other = self.move(base.NAMESPACE)
        row = self.health_poll()
        self.assertEqual("UNKNOWN", row.health_status)
        self.assertIn(moving.NO_TRACE, row.health_status_reason["api"])
        self.assert_untouched(other)

    def test_a_deletion_elsewhere_concludes_nothing(self) -> None:
        self.created()
        self.forget()
        other = self.move(base.NAMESPACE)
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn(moving.NO_TRACE, self.row().status_reason)
        self.assertEqual(1, len(self.openstack.credentials))
        self.assert_untouched(other)
        self.move_back()
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)

    def test_a_deletion_that_removed_its_lease_is_done(self) -> None:
        self.started()
        self.management.kill_before("delete", kinds.LEASE)
        self.delete()
        self.assertRaises(management.Killed, self.poll)
        self.management.recover()
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.poll()
        self.assertTrue(self.gone())

    def test_the_operator_can_say_that_it_is_here(self) -> None:
        self.started()
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.delete()
        self.poll()
        self.assertIn("create that Lease again", self.log.output)
        lease = {"name": base.RELEASE, "namespace": base.NAMESPACE}
        self.server.create(kinds.LEASE, {"metadata": lease})
        self.poll()
        self.assertTrue(self.gone())

    def test_a_cluster_of_1_4_0_has_no_lease_to_look_for(self) -> None:
        self.saved(stack_id="web-xq3k7w2m5n8p", status="CREATE_FAILED")
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
        )
        self.delete()
        self.poll()
        self.assertTrue(self.gone())


class DeletedByHandTest(moving.OriginTestCase):
    """The namespace was deleted, with all that was in it."""

    def delete_namespace(self) -> None:
        """``kubectl delete namespace``."""
        for kind in kinds.ALL:
            if kind is not kinds.NAMESPACE:
                for name in self.server.names(kind):
                    self.server.delete(kind, base.NAMESPACE, name)
                    self.server.release(kind, base.NAMESPACE, name)
        self.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)

    def confirm(self) -> None:
        """``management-cluster accept --lost``."""
        identity.record_gone(base.RELEASE, list(self.groups().values()))

    def test_the_cluster_can_be_deleted_once_that_is_confirmed(self) -> None:
        self.complete()
        self.delete_namespace()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertEqual(1, len(self.openstack.credentials))
        self.assertIn("accept --lost", self.row().status_reason)
        self.confirm()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.assertNotIn(base.NAMESPACE, self.server.names(kinds.NAMESPACE))

    def test_a_credential_of_another_cluster_stays(self) -> None:
        self.complete()
        other = {"id": "f", "name": "magnum-other-1", "user_id": "fake_user"}
        self.openstack.credentials["f"] = other
        self.delete_namespace()
        self.confirm()
        self.delete()
        self.poll()
        self.assertEqual({"f": other}, self.openstack.credentials)

    def test_a_deletion_without_a_record_waits(self) -> None:
        self.complete()
        self.forget()
        self.delete_namespace()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertIn(moving.NO_TRACE, self.row().status_reason)
        self.assertEqual(1, len(self.openstack.credentials))
