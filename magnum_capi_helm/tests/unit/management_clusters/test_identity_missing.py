# SPDX-License-Identifier: Apache-2.0

"""The right management cluster has nothing of a cluster any more.

It was restored from a backup that is older than the cluster.
"""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base

NEITHER = f"neither the Cluster nor the helm release {base.RELEASE} is in"


class MissingTestCase(base.FlowTestCase):
    """Helpers of the tests below."""

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

    def gone(self) -> bool:
        """Whether Magnum has removed the cluster's row."""
        try:
            self.row()
        except exception.ClusterNotFound:
            return True
        return False

    def assert_untouched(self) -> None:
        """Nothing was made, neither there nor by helm."""
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, {"get", "list"})
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.helm.uninstalls)
        self.assertEqual(1, len(self.openstack.credentials))


class MissingTest(MissingTestCase):
    """It was complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.lose()

    def test_health_is_unknown_and_names_what_to_do(self) -> None:
        row = self.health_poll()
        self.assertEqual("CREATE_COMPLETE", row.status)
        self.assertEqual("UNKNOWN", row.health_status)
        self.assertIn(NEITHER, row.health_status_reason["api"])
        self.assertIn(
            "magnum-capi-helm management-cluster accept",
            row.health_status_reason["api"],
        )
        self.assert_untouched()

    def test_its_deletion_waits_until_that_is_confirmed(self) -> None:
        self.delete()
        for _ in range(2):
            self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertTrue(
            self.row().status_reason.startswith(f"deletion waits: {NEITHER}")
        )
        self.assert_untouched()
        self.confirm()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_removed_by_hand_may_go(self) -> None:
        meta = {
            "name": f"{base.RELEASE}-cni-calico-config",
            "namespace": base.NAMESPACE,
            "labels": {"capi.stackhpc.com/cluster": base.RELEASE},
        }
        self.server.create(kinds.SECRET, {"metadata": meta})
        self.delete()
        self.poll()
        self.assertEqual(
            f"still to be deleted: Secret {base.RELEASE}-cni-calico-config",
            self.row().status_reason,
        )
        self.poll()
        self.assertTrue(self.gone())

    def test_a_failed_deletion_is_not_resumed(self) -> None:
        row = self.row()
        row.status = "DELETE_FAILED"
        row.save()
        self.health_poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assert_untouched()

    def test_a_confirmed_one_waits_while_it_is_frozen(self) -> None:
        # Something is left that nobody guards.
        meta = {
            "name": "left",
            "namespace": base.NAMESPACE,
            "labels": {"capi.stackhpc.com/cluster": base.RELEASE},
        }
        self.server.create(kinds.CONFIG_TEMPLATE, {"metadata": meta})
        self.confirm()
        self.plane.runtime("operator").maintenance.freeze("x", "op", 1000.0)
        self.management.requests.clear()
        self.delete()
        self.poll()
        self.assertIn("is frozen", self.row().status_reason)
        self.assert_untouched()

    def test_confirmed_what_is_left_of_it_goes_too(self) -> None:
        meta = {"name": f"{base.RELEASE}-ca", "namespace": base.NAMESPACE}
        labels = {"magnum.openstack.org/cluster-uuid": self.uuid}
        self.server.create(
            kinds.SECRET, {"metadata": {**meta, "labels": labels}}
        )
        self.confirm()
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_resize_waits_and_makes_nothing(self) -> None:
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(NEITHER, self.row().status_reason)
        self.assert_untouched()

    def test_an_upgrade_is_refused_with_untouched_rows(self) -> None:
        with self.saves() as saves:
            error = self.assertRaises(
                exception.NotSupported,
                self.handler.cluster_upgrade,
                self.context,
                self.row(),
                self.template(),
                1,
                self.groups()["default-worker"],
            )
        self.assertIn(NEITHER, str(error))
        self.assertEqual([], saves)
        self.assert_untouched()

    def test_a_rotation_is_refused(self) -> None:
        error = self.assertRaises(exception.MagnumException, self.rotate)
        self.assertIn(NEITHER, str(error))
        self.assert_untouched()

    def test_nodegroups_are_refused_or_wait(self) -> None:
        self.assertRaises(exception.MagnumException, self.add, "extra")
        self.nodegroup(
            self.row(),
            name="more",
            stack_id=base.RELEASE,
            status="CREATE_COMPLETE",
        )
        self.assertRaises(
            exception.MagnumException, self.change, "more", max_node_count=5
        )
        self.remove("more")
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.groups()["more"].status)
        self.assert_untouched()

    def test_a_missing_cluster_gets_no_lease(self) -> None:
        leases = runtime.get().leases
        for _ in range(2):
            hold = leases.hold(base.NAMESPACE, base.RELEASE, {})
            self.assertRaises(helm_records.MissingError, hold.__enter__)
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_confirmed_too_early_it_is_forgotten_when_it_is_back(self) -> None:
        self.confirm()
        meta = {"name": base.RELEASE, "namespace": base.NAMESPACE}
        labels = {"capi.stackhpc.com/cluster": base.RELEASE}
        self.server.create(
            kinds.CLUSTER, {"metadata": {**meta, "labels": labels}}
        )
        self.health_poll()
        self.lose()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())


class FirstMinutesTest(MissingTestCase):
    """The backup that was restored is of the minute before helm ran."""

    def lose(self) -> None:
        """Lease and Secrets of the driver are back, and nothing else."""
        secrets = [base.CREDENTIALS, base.INTENT]
        kept = [
            (kinds.LEASE, base.RELEASE),
            *((kinds.SECRET, each) for each in secrets),
        ]
        before = [
            (kind, self.server.get(kind, base.NAMESPACE, name))
            for kind, name in kept
        ]
        super().lose()
        for kind, each in before:
            assert each is not None
            self.server.create(kind, each)

    def test_a_deletion_waits_for_the_operator(self) -> None:
        self.complete()
        self.lose()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertIn(NEITHER, self.row().status_reason)
        self.assertEqual(1, len(self.openstack.credentials))
        self.confirm()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
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
        self.management.fail(
            errors.ManagementUnreachable("away"), kind=kinds.SECRET
        )
        error = self.assertRaises(
            errors.ManagementUnreachable,
            identity.check_present,
            runtime.get(),
            (base.NAMESPACE, base.RELEASE),
        )
        self.assertEqual("away", str(error))

    def test_a_deletion_that_was_killed_at_its_end_concludes(self) -> None:
        self.complete()
        self.delete()
        self.capi.finish()
        self.management.kill_before("delete", kinds.LEASE)
        self.assertRaises(management.Killed, self.poll)
        self.management.recover()
        self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.poll()
        self.assertTrue(self.gone())

    def test_a_deletion_that_was_killed_earlier_goes_on(self) -> None:
        self.complete()
        self.delete()
        self.capi.finish()
        self.management.kill_before(
            "delete", kinds.SECRET, f"{base.RELEASE}-sa"
        )
        self.assertRaises(management.Killed, self.poll)
        self.management.recover()
        self.plane.clock.advance(60)
        for _ in range(2):
            self.poll()
            self.plane.clock.advance(60)
            if self.gone():
                break
        self.assertTrue(self.gone())
