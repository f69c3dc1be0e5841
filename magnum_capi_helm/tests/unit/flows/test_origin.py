# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The management cluster is not the one that a cluster was made on."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm.management import kinds
from magnum_capi_helm.planes import origin
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.flows import base

NO_TRACE = f"neither the Cluster nor the Lease {base.RELEASE}"
FOREIGN = "the management cluster is not the one that the cluster was made on"


class OriginTestCase(base.FlowTestCase):
    """Helpers of the tests below."""

    def recorded(self) -> str:
        """What the row of the control plane says."""
        return str(self.groups()["default-master"].stack_id)

    def here(self) -> str:
        """What it says when it knows this management cluster."""
        return f"{base.RELEASE}@{self.management.identity()}"

    def forget(self) -> None:
        """The row says what 1.4.0 wrote into it."""
        master = self.groups()["default-master"]
        master.stack_id = base.RELEASE
        master.save()

    def move(self, *namespaces: str) -> plane.Plane:
        """Magnum is started with another kubeconfig."""
        other = plane.Plane(conf.CONF.capi_helm.chart_store)
        for name in namespaces:
            other.server.create(kinds.NAMESPACE, {"metadata": {"name": name}})
        base.install(self, other.runtime())
        return other

    def move_back(self) -> None:
        """Magnum is started with the kubeconfig that it had."""
        base.install(self, self.plane.runtime())

    def assert_untouched(self, other: plane.Plane) -> None:
        """Nothing was written there, and helm never ran."""
        verbs = {each.verb for each in other.management.requests}
        self.assertLessEqual(verbs, {"get", "list"})
        self.assertEqual([], other.helm.upgrades)
        self.assertEqual([], other.helm.uninstalls)

    def gone(self) -> bool:
        """Whether Magnum has removed the cluster's row."""
        try:
            self.row()
        except exception.ClusterNotFound:
            return True
        return False


class RememberedTest(OriginTestCase):
    """Where a cluster is, is known."""

    def test_from_the_claim_on(self) -> None:
        self.management.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.create)
        self.management.recover()
        self.assertEqual(base.RELEASE, self.row().stack_id)
        self.assertEqual(self.here(), self.recorded())

    def test_again_after_magnum_has_overwritten_it(self) -> None:
        self.create()
        self.assertEqual(base.RELEASE, self.recorded())
        self.poll()
        self.assertEqual(self.here(), self.recorded())

    def test_nowhere_but_in_one_row(self) -> None:
        self.complete()
        self.assertEqual(base.RELEASE, self.row().stack_id)
        self.assertEqual(
            base.RELEASE, self.groups()["default-worker"].stack_id
        )
        self.assertEqual({}, self.row().labels)

    def test_of_a_complete_cluster_by_its_health_poll(self) -> None:
        self.complete()
        self.forget()
        self.health_poll()
        self.assertEqual(self.here(), self.recorded())

    def test_of_a_cluster_that_is_deleted_next(self) -> None:
        self.complete()
        self.forget()
        self.delete()
        self.assertEqual(self.here(), self.recorded())

    def test_only_where_the_cluster_was_seen(self) -> None:
        self.complete()
        self.forget()
        self.move(base.NAMESPACE)
        self.health_poll()
        self.assertEqual(base.RELEASE, self.recorded())


class BeforeTheFirstPollTest(OriginTestCase):
    """Magnum has overwritten the record, and the Cluster was not seen yet."""

    def started(self) -> None:
        """The conductor stopped after the credential; helm never ran."""
        self.management.kill_before("list", kinds.SECRET)
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
            self.assertIn(NO_TRACE, self.row().status_reason)
            self.assertEqual(base.RELEASE, self.recorded())
            self.assert_untouched(other)

    def test_health_elsewhere_is_unknown_and_says_why(self) -> None:
        self.created()
        self.forget()
        other = self.move(base.NAMESPACE)
        row = self.health_poll()
        self.assertEqual("UNKNOWN", row.health_status)
        self.assertIn(NO_TRACE, row.health_status_reason["api"])
        self.assert_untouched(other)

    def test_a_deletion_elsewhere_concludes_nothing(self) -> None:
        self.created()
        self.forget()
        other = self.move(base.NAMESPACE)
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn(NO_TRACE, self.row().status_reason)
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
        self.assertIn("create that Lease again", self.row().status_reason)
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


class ElsewhereTest(OriginTestCase):
    """Another management cluster: absent there is not gone."""

    def test_an_empty_one_concludes_no_deletion(self) -> None:
        self.complete()
        self.delete()
        other = self.move()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        reason = self.row().status_reason
        self.assertTrue(reason.startswith(f"deletion waits: {FOREIGN}"))
        self.assertIn("kubeconfig_file", reason)
        self.assertEqual(1, len(self.openstack.credentials))
        self.assert_untouched(other)

    def test_one_with_the_namespace_concludes_no_deletion(self) -> None:
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

    def test_one_without_cluster_api_says_why_too(self) -> None:
        self.complete()
        other = self.move()
        other.management.fail(
            exceptions.ManagementUnserved("no kind Cluster is served"),
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
        self.management.kill_before("list", kinds.SECRET)
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


class DeletedByHandTest(OriginTestCase):
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
        """``management accept --gone``."""
        origin.bury(base.RELEASE, list(self.groups().values()))

    def test_the_cluster_can_be_deleted_once_that_is_confirmed(self) -> None:
        self.complete()
        self.delete_namespace()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertEqual(1, len(self.openstack.credentials))
        self.assertIn("accept --gone", self.row().status_reason)
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

    def test_where_nobody_knows_that_it_is_the_right_one_it_waits(
        self,
    ) -> None:
        self.complete()
        self.forget()
        self.delete_namespace()
        self.delete()
        self.poll()
        self.assertFalse(self.gone())
        self.assertIn(NO_TRACE, self.row().status_reason)
        self.assertEqual(1, len(self.openstack.credentials))
