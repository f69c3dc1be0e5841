# SPDX-License-Identifier: Apache-2.0

"""Deletion of a cluster, through Magnum's own handler and polls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from magnum import objects

from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.lifecycle import delete
from magnum_capi_helm.lifecycle import poll_status
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base

#: helm's record of the first revision.
_RECORD = names.helm_record(base.RELEASE, 1)
#: What somebody removed by hand before.
_REMOVED = (
    [(kinds.SECRET, _RECORD)],
    [(kinds.CLUSTER, base.RELEASE)],
    [(kinds.SECRET, _RECORD), (kinds.CLUSTER, base.RELEASE)],
    [(kinds.SECRET, base.CREDENTIALS), (kinds.SECRET, base.INTENT)],
    [(kinds.LEASE, base.RELEASE)],
    [(kinds.OPENSTACK_CLUSTER, base.RELEASE)],
)


class DeleteTest(base.DeletionTestCase):
    def assert_gone(self) -> None:
        self.assertTrue(self.gone())
        self.assertEqual({}, self.remains())

    def test_things_go_in_order(self) -> None:
        self.complete()
        other = {
            "metadata": {
                "name": "other-1-cloud-credentials",
                "namespace": base.NAMESPACE,
                "labels": {"magnum.openstack.org/cluster-uuid": "other"},
            }
        }
        self.server.create(kinds.SECRET, other)
        self.delete()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(1, len(self.helm.uninstalls))
        self.poll()
        reason = self.why()
        self.assertIn("3 machines still to be deleted", reason)
        self.capi.drain()
        self.poll()
        self.assertIn("network still to be deleted", self.why())
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(1, len(self.openstack.credentials))
        self.management.requests.clear()
        self.finish()
        self.assertEqual({}, self.openstack.credentials)
        deleted = [
            (each.kind, each.name)
            for each in self.management.requests
            if each.verb == "delete"
        ]
        self.assertEqual(("Lease", base.RELEASE), deleted[-1])
        self.assertEqual(("Secret", base.CREDENTIALS), deleted[-2])
        self.assertEqual(
            {
                ("Secret", f"{base.RELEASE}-{name}")
                for name in ("ca", "etcd", "proxy", "sa", "intent")
            },
            set(deleted[:-2]),
        )
        # Nothing is left but what is of another cluster, and the namespace.
        self.assertEqual(
            {"Secret": ["other-1-cloud-credentials"]}, self.remains()
        )
        self.assertIn(base.NAMESPACE, self.server.names(kinds.NAMESPACE))
        self.assertEqual([], objects.NodeGroup.list(self.admin, base.UUID))
        self.assertEqual([], objects.X509KeyPair.list(self.admin))
        self.assertEqual([], self.warnings())

    def test_a_cluster_is_deleted_from_every_status(self) -> None:
        for status in (
            "CREATE_IN_PROGRESS",
            "CREATE_FAILED",
            "CREATE_COMPLETE",
            "UPDATE_IN_PROGRESS",
            "UPDATE_FAILED",
            "UPDATE_COMPLETE",
            "DELETE_IN_PROGRESS",
            "DELETE_FAILED",
        ):
            self.create()
            self.capi.settle()
            self.save(status=status)
            # It may be asked for again.
            for _ in range(2):
                self.delete()
                self.poll()
            self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses(), status)
            self.finish()
            self.assertEqual({}, self.remains(), status)

    def test_whatever_was_removed_by_hand_before(self) -> None:
        for removed in _REMOVED:
            self.created()
            for kind, name in removed:
                self.server.delete(kind, base.NAMESPACE, name)
                self.server.release(kind, base.NAMESPACE, name)
            self.delete()
            self.poll()
            self.capi.finish()
            self.poll()
            if not self.gone():
                # What helm did not remove, goes one poll later.
                self.assertIn("still to be", self.why())
                self.poll()
            self.assert_gone()

    def test_rendered_objects_go_without_the_record_of_helm(self) -> None:
        self.complete()
        self.server.delete(kinds.SECRET, base.NAMESPACE, _RECORD)
        rendered = {kind.name: kind for kind in kinds.PLAIN}
        made = (kinds.SECRET, rendered["ServiceAccount"], rendered["Role"])
        for kind in made:
            for release in (base.RELEASE, "other"):
                meta = {
                    "name": f"{release}-rendered",
                    "namespace": base.NAMESPACE,
                    "labels": {"capi.stackhpc.com/cluster": release},
                }
                self.server.create(kind, {"metadata": meta})
        self.delete()
        self.poll()
        self.capi.finish()
        self.poll()
        self.poll()
        self.assertTrue(self.gone())
        for kind in made:
            self.assertEqual(["other-rendered"], self.server.names(kind))

    def test_servers_without_a_cluster_object_are_waited_for(self) -> None:
        self.complete()
        self.delete()
        machine = self.server.names(kinds.MACHINE)[0]
        self.server.release(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        meta = {
            "name": machine,
            "namespace": base.NAMESPACE,
            "labels": {"cluster.x-k8s.io/cluster-name": base.RELEASE},
            "finalizers": ["machine.cluster.x-k8s.io"],
        }
        self.server.create(kinds.MACHINE, {"metadata": meta})
        self.poll()
        self.assertIn(f"Machine {machine}", self.why())
        self.assertFalse(self.gone())
        self.server.release(kinds.MACHINE, base.NAMESPACE, machine)
        self.poll()
        self.assertTrue(self.gone())

    def test_without_a_release_no_management_cluster_is_needed(self) -> None:
        self.saved(status="CREATE_FAILED")
        self.management.unreachable()
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual([], objects.X509KeyPair.list(self.admin))

    def die(self, *_: Any) -> None:
        """The conductor dies while it has the Lease."""
        self.management.dead = True
        raise management.Killed

    def test_the_lease_of_a_create_that_died_goes_if_its_own(self) -> None:
        """It died before its release; then one of another cluster."""
        for uuid, left in (("", {}), ("other", {"Lease": [base.RELEASE]})):
            with mock.patch.object(rows, "fresh", self.die), self.dies():
                self.create()
            self.assertEqual({"Lease": [base.RELEASE]}, self.remains())
            if uuid:
                labels = {"magnum.openstack.org/cluster-uuid": uuid}
                change = {"metadata": {"labels": labels}}
                lease = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
                self.server.patch(*lease, change)
            self.delete()
            self.poll()
            self.assertTrue(self.gone())
            self.assertEqual(left, self.remains())

    def test_a_cluster_is_deleted_while_helm_is_pending(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.create()
        self.relabel(1, status="pending-install")
        self.delete()
        self.poll()
        self.assert_gone()

    def test_without_the_right_to_read_servers_it_warns_once(self) -> None:
        self.complete()
        self.delete()
        self.fails(
            kind=kinds.OPENSTACK_SERVER,
            error=responses.ForbiddenError(
                "openstackservers: forbidden (403)"
            ),
        )
        for _ in range(3):
            self.poll()
        self.assertIn("3 machines still to be deleted", self.why())
        [line] = self.warnings()
        for phrase in (
            "OpenStackServers can't be read",
            "`magnum-capi-helm management-cluster permissions`",
            "forbidden (403)",
        ):
            self.assertIn(phrase, line)

    def test_a_cluster_without_workers_is_deleted(self) -> None:
        """Magnum died between the rows of its two default groups."""
        self.saved()
        self.groups()["default-worker"].destroy()
        self.poll()
        self.health_poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.delete()
        self.poll()
        self.assertTrue(self.gone())

    def test_objects_that_helm_keeps_go_without_an_owner(self) -> None:
        self.create()
        self.delete()
        self.poll()
        self.poll()
        self.assert_gone()


class HinderedDeleteTest(base.DeletionTestCase):
    def test_each_step_that_fails_is_taken_again(self) -> None:
        self.complete()
        self.delete()
        self.capi.finish()
        for verb, kind in (
            ("get", kinds.NAMESPACE),
            ("get", kinds.CLUSTER),
            ("list", kinds.SECRET),
            ("list", kinds.OPENSTACK_MACHINE_TEMPLATE),
            ("get", kinds.SECRET),
            ("delete", kinds.SECRET),
            ("delete", kinds.LEASE),
        ):
            self.fails(verb, kind, times=1)
            self.poll()
            self.assertFalse(self.gone(), f"{verb} {kind.name}")
            self.assertEqual("deletion waits: no answer", self.why())
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.remains())

    def test_a_deletion_waits_for_a_refusing_keystone(self) -> None:
        self.complete()
        self.delete()
        self.capi.finish()
        self.openstack.refusals["DELETE"] = 403
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn("role admin", self.why())
        self.assertIn(base.CREDENTIALS, self.server.names(kinds.SECRET))
        self.assertEqual(1, len(self.openstack.credentials))
        self.openstack.refusals.clear()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.created()
        self.delete()
        self.capi.finish()
        self.openstack.stop("http://keystone.test")
        self.poll()
        self.assertEqual(
            "deletion waits: Keystone: no answer (ConnectTimeout)", self.why()
        )
        self.assertIn(base.CREDENTIALS, self.server.names(kinds.SECRET))

    def test_a_credential_that_is_gone_counts_as_deleted(self) -> None:
        self.complete()
        self.openstack.refusals.update({"GET": 404, "DELETE": 404})
        self.delete()
        self.finish()

    def test_a_deletion_tries_an_unreachable_helm_again(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 2
        self.delete()
        self.poll()
        self.assertIn("helm uninstall", self.why())
        self.poll()
        self.assertEqual(
            [], self.server.list(kinds.SECRET, base.NAMESPACE, "owner=helm")
        )
        self.finish()

    def test_a_deletion_waits_for_another_conductor_at_work(self) -> None:
        self.complete()
        self.hold("other")
        self.delete()
        self.poll()
        self.assertEqual([], self.helm.uninstalls)
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.poll_after(31)
        self.finish()
        self.assertEqual({}, self.remains())


class LateDeleteTest(base.DeletionTestCase):
    """A poll that began before another conductor's ended the deletion."""

    def setUp(self) -> None:
        super().setUp()
        self.created()
        self.delete()
        self.capi.finish()

    def made(self) -> list[str]:
        """Objects that were made since the last look."""
        found = [
            f"{each.kind} {each.name}"
            for each in self.management.requests
            if each.verb in ("create", "apply")
        ]
        self.management.requests.clear()
        return found

    def test_a_late_poll_finds_no_row_and_sends_nothing(self) -> None:
        late = self.row()
        self.poll()
        self.management.requests.clear()
        self.assertEqual("", delete.step(self.new_operation(late)))
        self.assertEqual([], self.management.requests)
        # One of the health does nothing either.
        poll_status.resume_deletion(self.new_operation(late))
        self.assertEqual({}, self.remains())

    def test_a_late_poll_makes_no_lease(self) -> None:
        ascertain = identity.verify

        def slow(*given: Any) -> bool:
            found = ascertain(*given)
            with mock.patch.object(identity, "verify", ascertain):
                self.poll()
            self.made()
            return found

        with mock.patch.object(identity, "verify", slow):
            self.poll()
        self.assertEqual([], self.made())
        self.assertTrue(self.gone())
        self.assertEqual([], self.warnings())

    def test_a_late_poll_removes_no_row_again(self) -> None:
        late = self.row()
        step = delete.step

        def quicker(*given: Any) -> Any:
            self.poll_of(step)
            return step(*given)

        with mock.patch.object(delete, "step", quicker):
            self.driver.update_cluster_status(self.admin, late)
        self.assertEqual("DELETE_IN_PROGRESS", late.status)

    def test_an_error_of_a_late_poll_needs_no_row(self) -> None:
        def fail(*_: Any) -> str:
            self.poll_of(step)
            raise errors.ManagementUnreachable("no answer")

        step = delete.step
        late = self.row()
        with mock.patch.object(delete, "step", fail):
            self.driver.update_cluster_status(self.admin, late)
        self.assertTrue(self.gone())

    def test_a_poll_makes_no_lease_before_the_row_goes(self) -> None:
        row = self.row()
        self.assertEqual("", delete.step(self.new_operation(row)))
        self.assertEqual({}, self.remains())
        self.made()
        self.assertEqual("", delete.step(self.new_operation(row)))
        self.assertEqual([], self.made())
        self.poll()
        self.assertTrue(self.gone())

    def poll_of(self, step: Any) -> None:
        with mock.patch.object(delete, "step", step):
            self.poll()


class LateUpdateTest(base.DeletionTestCase):
    """A request or poll that took the Lease when the cluster was gone."""

    def test_a_late_update_or_poll_writes_nothing(self) -> None:
        self.created()
        requests: tuple[Callable[[], None], ...] = (
            lambda: self.resize(3),
            self.poll,
            lambda: self.change("default-worker", max_node_count=5),
        )
        for late in requests:
            self.server.delete(kinds.LEASE, base.NAMESPACE, base.RELEASE)
            # What the row is before, each time it is read.
            with mock.patch.object(rows, "fresh") as fresh:
                fresh.side_effect = (self.row(), None)
                late()
            self.assertEqual([], self.server.names(kinds.LEASE))
