# SPDX-License-Identifier: Apache-2.0

"""Which management cluster a cluster was made on, and what it has of it.

One that was restored from a backup may be older than the cluster.
"""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing

NEITHER = f"neither the Cluster nor the helm release {base.RELEASE} is in"


LABELED = {"capi.stackhpc.com/cluster": base.RELEASE}


class MissingTestCase(placing.OriginTestCase):
    def lose(self) -> None:
        """All of the cluster, but for the namespace of its project."""
        for kind in kinds.ALL:
            if kind is not kinds.NAMESPACE:
                for name in self.server.names(kind):
                    self.server.delete(kind, base.NAMESPACE, name)
                    self.server.release(kind, base.NAMESPACE, name)
        self.management.requests.clear()
        self.helm.upgrades.clear()

    def confirm(self) -> None:
        """``management-cluster accept --lost``."""
        identity.record_gone(base.RELEASE, list(self.groups().values()))

    def make(self, kind: kinds.Kind, name: str, **labels: str) -> None:
        meta = {"name": name, "namespace": base.NAMESPACE}
        self.server.create(kind, {"metadata": {**meta, "labels": labels}})

    def assert_nothing_made(self) -> None:
        self.assert_untouched(self.plane)
        self.assertEqual(1, len(self.openstack.credentials))

    def assert_gone(self) -> None:
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)


class MissingTest(MissingTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.lose()

    def test_health_is_unknown_and_names_what_to_do(self) -> None:
        row = self.health_poll()
        self.assertEqual("CREATE_COMPLETE", row.status)
        self.assertEqual("UNKNOWN", row.health_status)
        reason = row.health_status_reason["api"]
        self.assertIn(NEITHER, reason)
        self.assertIn("magnum-capi-helm management-cluster accept", reason)
        self.assert_nothing_made()

    def test_its_deletion_waits_until_that_is_confirmed(self) -> None:
        self.delete()
        for _ in range(2):
            self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertTrue(self.why().startswith(f"deletion waits: {NEITHER}"))
        self.assert_nothing_made()
        # What is left of it goes too.
        left = {"magnum.openstack.org/cluster-uuid": self.uuid}
        self.make(kinds.SECRET, f"{base.RELEASE}-ca", **left)
        self.confirm()
        self.poll()
        self.assert_gone()
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_removed_by_hand_may_go(self) -> None:
        name = f"{base.RELEASE}-cni-calico-config"
        self.make(kinds.SECRET, name, **LABELED)
        self.delete()
        self.poll()
        self.assertEqual(f"still to be deleted: Secret {name}", self.why())
        self.poll()
        self.assertTrue(self.gone())

    def test_a_failed_deletion_is_not_resumed(self) -> None:
        self.save(status="DELETE_FAILED")
        self.health_poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assert_nothing_made()

    def test_a_confirmed_one_waits_while_it_is_frozen(self) -> None:
        # Something is left that nobody guards.
        self.make(kinds.CONFIG_TEMPLATE, "left", **LABELED)
        self.confirm()
        self.plane.runtime("operator").maintenance.freeze("x", "op", 1000.0)
        self.management.requests.clear()
        self.delete()
        self.poll()
        self.assertIn("is frozen", self.why())
        self.assert_nothing_made()

    def test_a_resize_waits_and_makes_nothing(self) -> None:
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(NEITHER, self.why())
        self.assert_nothing_made()

    def test_upgrade_and_rotation_are_refused_with_no_writes(self) -> None:
        group = self.groups()["default-worker"]
        upgrade = (self.context, self.row(), self.template(), 1, group)
        for call, args in (
            (self.handler.cluster_upgrade, upgrade),
            (self.rotate, ()),
        ):
            with self.saves() as saves:
                self.assertIn(NEITHER, self.error_of(call, *args))
            self.assertEqual([], saves)
            self.assert_nothing_made()

    def test_a_missing_cluster_gets_no_lease(self) -> None:
        leases = runtime.get().leases
        for _ in range(2):
            hold = leases.hold(base.NAMESPACE, base.RELEASE, {})
            self.assertRaises(helm_records.MissingError, hold.__enter__)
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_confirmed_too_early_it_is_forgotten_when_it_is_back(self) -> None:
        self.confirm()
        self.make(kinds.CLUSTER, base.RELEASE, **LABELED)
        self.health_poll()
        self.lose()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())


class FirstMinutesTest(MissingTestCase):
    """The backup that was restored is of the minute before helm ran."""

    def lose(self) -> None:
        """Lease and Secrets of the driver are back, and nothing else."""
        kept = [(kinds.LEASE, base.RELEASE)]
        kept += [(kinds.SECRET, e) for e in (base.CREDENTIALS, base.INTENT)]
        before = [(kind, self.live(kind, name)) for kind, name in kept]
        super().lose()
        for kind, each in before:
            self.server.create(kind, each)

    def test_a_deletion_waits_for_the_operator(self) -> None:
        self.complete()
        self.lose()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertIn(NEITHER, self.why())
        self.assertEqual(1, len(self.openstack.credentials))
        self.confirm()
        self.poll()
        self.assert_gone()
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_that_never_had_an_api_server_goes(self) -> None:
        self.create()
        self.lose()
        self.assertIsNone(self.row().api_address)
        self.delete()
        self.poll()
        self.assertTrue(self.gone())


class SomethingIsLeftTest(MissingTestCase):
    """Of one trace it is known that nothing else was lost."""

    def test_a_trace_of_a_cluster_is_enough(self) -> None:
        self.complete()
        rt = runtime.get()
        scope = (base.NAMESPACE, base.RELEASE)
        self.server.delete(kinds.LEASE, *scope)
        identity.check_present(rt, scope)
        self.helm.uninstall(base.RELEASE, base.NAMESPACE)
        identity.check_present(rt, scope)
        self.lose()
        self.assertRaises(
            helm_records.MissingError, identity.check_present, rt, scope
        )

    def test_an_unreadable_cluster_is_not_missing(self) -> None:
        self.complete()
        self.lose()
        self.fails(kind=kinds.SECRET)
        scope = (base.NAMESPACE, base.RELEASE)
        error = self.assertRaises(
            errors.ManagementUnreachable,
            *(identity.check_present, runtime.get(), scope),
        )
        self.assertEqual("no answer", str(error))

    def test_a_deletion_that_was_killed_at_its_end_concludes(self) -> None:
        self.complete()
        self.delete()
        self.capi.finish()
        with self.dies("delete", kinds.LEASE):
            self.poll()
        self.assertFalse(self.gone())
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.poll()
        self.assertTrue(self.gone())

    def test_a_deletion_that_was_killed_earlier_goes_on(self) -> None:
        self.complete()
        with self.dies("delete", kinds.SECRET, f"{base.RELEASE}-sa"):
            self.vanish()
        self.assertFalse(self.gone())
        self.poll()
        self.assertTrue(self.gone())


class RememberedTest(placing.OriginTestCase):
    def test_a_claim_records_the_identity(self) -> None:
        self.management.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        self.assertEqual(base.RELEASE, self.row().stack_id)
        self.assertEqual(self.here(), self.recorded())

    def test_a_poll_records_the_identity_again_in_one_row(self) -> None:
        self.create()
        self.assertEqual(base.RELEASE, self.recorded())
        self.poll()
        self.assertEqual(self.here(), self.recorded())
        group = self.groups()["default-worker"]
        found = (self.row().stack_id, group.stack_id, self.row().labels)
        self.assertEqual((base.RELEASE, base.RELEASE, {}), found)

    def test_health_polls_and_deletions_record_the_identity(self) -> None:
        self.complete()
        for record in (self.health_poll, self.delete):
            self.forget()
            record()
            self.assertEqual(self.here(), self.recorded())

    def test_a_poll_elsewhere_records_no_identity_and_says_why(self) -> None:
        self.complete()
        self.forget()
        other = self.move(base.NAMESPACE)
        row = self.health_poll()
        self.assertEqual(base.RELEASE, self.recorded())
        self.assertEqual("UNKNOWN", row.health_status)
        self.assertIn(placing.NO_TRACE, row.health_status_reason["api"])
        self.assert_untouched(other)


class BeforeTheFirstPollTest(placing.OriginTestCase):
    """Magnum has overwritten the record, and the Cluster was not seen yet."""

    def started(self) -> None:
        """The conductor stopped after the credential; helm never ran."""
        self.helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        self.forget()
        self.hold()

    def test_the_lease_says_where_it_is(self) -> None:
        self.started()
        self.poll()
        self.assertEqual(self.here(), self.recorded())
        self.settle()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_create_does_not_fail_elsewhere(self) -> None:
        self.started()
        for namespaces in ((), (base.NAMESPACE,)):
            other = self.move(*namespaces)
            self.poll()
            self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
            self.assertIn(placing.NO_TRACE, self.why())
            self.assertEqual(base.RELEASE, self.recorded())
            self.assert_untouched(other)

    def test_a_deletion_elsewhere_concludes_nothing(self) -> None:
        self.created()
        self.forget()
        other = self.move(base.NAMESPACE)
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn(placing.NO_TRACE, self.why())
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
        self.delete()
        with self.dies("delete", kinds.LEASE):
            self.poll()
        self.assertFalse(self.gone())
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


class DeletedByHandTest(MissingTestCase):
    def delete_namespace(self) -> None:
        """``kubectl delete namespace``."""
        self.lose()
        self.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)

    def test_the_cluster_can_be_deleted_once_that_is_confirmed(self) -> None:
        self.complete()
        other = {"id": "f", "name": "magnum-other-1", "user_id": "fake_user"}
        self.openstack.credentials["f"] = other
        self.delete_namespace()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertEqual(2, len(self.openstack.credentials))
        self.assertIn("accept --lost", self.why())
        self.confirm()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({"f": other}, self.openstack.credentials)
        self.assertNotIn(base.NAMESPACE, self.server.names(kinds.NAMESPACE))

    def test_a_deletion_without_a_record_waits(self) -> None:
        self.complete()
        self.forget()
        self.delete_namespace()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertIn(placing.NO_TRACE, self.why())
        self.assertEqual(1, len(self.openstack.credentials))


FOREIGN = "the management cluster is not the one that the cluster was made on"


class ElsewhereTest(placing.OriginTestCase):
    def test_another_one_concludes_no_deletion(self) -> None:
        self.complete()
        self.delete()
        for namespaces in ((), (base.NAMESPACE,)):
            other = self.move(*namespaces)
            self.poll()
            self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
            reason = self.why()
            self.assertTrue(reason.startswith(f"deletion waits: {FOREIGN}"))
            self.assertIn("kubeconfig_file", self.log.output)
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
        unserved = errors.ManagementUnserved("no kind Cluster is served")
        self.move().management.fail(
            unserved, verbs=["list"], kind=kinds.CLUSTER
        )
        reason = self.health_poll().health_status_reason
        self.assertIn(FOREIGN, reason["api"])

    def test_a_resize_is_not_applied_there(self) -> None:
        self.complete()
        addresses = self.groups()["default-worker"].node_addresses
        other = self.move(base.NAMESPACE)
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(FOREIGN, self.why())
        group = self.groups()["default-worker"]
        self.assertEqual(addresses, group.node_addresses)
        self.assert_untouched(other)
        self.move_back()
        self.poll()
        self.assert_updated()
        self.assertIsNone(self.why())
        self.assertEqual(3, self.replicas())

    def test_a_nodegroup_is_neither_made_nor_changed_there(self) -> None:
        self.complete()
        self.add("extra")
        self.settle()
        other = self.move(base.NAMESPACE)
        for call, name, fields in (
            (self.add, "more", {}),
            (self.change, "extra", {"max_node_count": 5}),
        ):
            self.assertIn(FOREIGN, self.error_of(call, name, **fields))
        self.remove("extra")
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["extra"].status)
        self.assert_untouched(other)
