# SPDX-License-Identifier: Apache-2.0

"""Deletion of a cluster, through Magnum's own handler and polls."""

from __future__ import annotations

import re
from typing import Any
from unittest import mock

from magnum import objects
from magnum.common import exception
import testtools

from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting


class DeleteTest(deleting.DeletionTestCase):
    """A delete from beginning to end."""

    def test_a_deletion_leaves_nothing(self) -> None:
        self.complete()
        self.delete()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.finish()
        self.assertEqual({}, self.remains())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], objects.NodeGroup.list(self.admin, base.UUID))
        self.assertEqual([], objects.X509KeyPair.list(self.admin))
        self.assertIn(base.NAMESPACE, self.server.names(kinds.NAMESPACE))
        self.assertEqual([], self.warnings())

    def test_the_reason_names_objects_still_to_be_deleted(self) -> None:
        self.complete()
        self.delete()
        self.poll()
        self.assertIn(
            "3 machines still to be deleted", self.row().status_reason
        )
        self.capi.drain()
        self.poll()
        self.assertIn("network still to be deleted", self.row().status_reason)
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.finish()

    def test_things_go_in_order(self) -> None:
        self.complete()
        order: list[str] = []

        def note(request: Any, context: Any) -> str:
            order.append("credential")
            return ""

        self.openstack.mocker.delete(
            openstack_credentials(), status_code=204, text=note
        )
        self.management.requests.clear()
        self.delete()
        uninstalled = len(self.helm.uninstalls)
        self.assertEqual(1, uninstalled)
        self.capi.drain()
        self.poll()
        self.assertEqual([], order, "credential before the cluster")
        self.management.requests.clear()
        self.capi.finish()
        self.poll()
        self.assertEqual(["credential"], order)
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
            row = self.row()
            row.status = status
            row.save()
            self.delete()
            self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses(), status)
            self.finish()
            self.assertEqual({}, self.remains(), status)

    def test_whatever_was_removed_by_hand_before(self) -> None:
        helms = f"sh.helm.release.v1.{base.RELEASE}.v1"
        intent = f"{base.RELEASE}-intent"
        for removed in (
            [(kinds.SECRET, helms)],
            [(kinds.CLUSTER, base.RELEASE)],
            [(kinds.SECRET, helms), (kinds.CLUSTER, base.RELEASE)],
            [(kinds.SECRET, base.CREDENTIALS), (kinds.SECRET, intent)],
            [(kinds.LEASE, base.RELEASE)],
            [(kinds.OPENSTACK_CLUSTER, base.RELEASE)],
        ):
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
                self.assertIn("still to be", self.row().status_reason)
                self.poll()
            self.assertTrue(self.gone(), str(removed))
            self.assertEqual({}, self.remains(), str(removed))

    def test_rendered_objects_go_without_the_record_of_helm(self) -> None:
        self.complete()
        helms = f"sh.helm.release.v1.{base.RELEASE}.v1"
        self.server.delete(kinds.SECRET, base.NAMESPACE, helms)
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
        self.server.create(
            kinds.MACHINE,
            {
                "metadata": {
                    "name": machine,
                    "namespace": base.NAMESPACE,
                    "labels": {"cluster.x-k8s.io/cluster-name": base.RELEASE},
                    "finalizers": ["machine.cluster.x-k8s.io"],
                }
            },
        )
        self.poll()
        self.assertIn(f"Machine {machine}", self.row().status_reason)
        self.assertFalse(self.gone())
        self.server.release(kinds.MACHINE, base.NAMESPACE, machine)
        self.poll()
        self.assertTrue(self.gone())

    def test_a_deletion_may_be_asked_for_again(self) -> None:
        self.complete()
        for _ in range(3):
            self.delete()
            self.poll()
        self.capi.finish()
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.remains())

    def test_without_a_release_no_management_cluster_is_needed(self) -> None:
        self.saved(status="CREATE_FAILED")
        self.management.unreachable()
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual([], objects.X509KeyPair.list(self.admin))

    def test_a_create_that_died_before_its_release_leaves_nothing(
        self,
    ) -> None:
        self.die_before_the_release()
        self.assertEqual({"Lease": [base.RELEASE]}, self.remains())
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.remains())

    def test_the_lease_of_another_cluster_of_that_name_stays(self) -> None:
        self.die_before_the_release()
        labels = {"magnum.openstack.org/cluster-uuid": "other"}
        change = {"metadata": {"labels": labels}}
        lease = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.server.patch(*lease, change)
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({"Lease": [base.RELEASE]}, self.remains())

    def die_before_the_release(self) -> None:
        """The conductor has the Lease, and dies."""

        def die(*_: Any) -> None:
            self.management.dead = True
            raise management.Killed

        with (
            mock.patch.object(rows, "fresh", die),
            testtools.ExpectedException(management.Killed),
        ):
            self.create()
        self.management.recover()

    def test_a_cluster_is_deleted_while_helm_is_pending(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.create()
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v1",
            {"metadata": {"labels": {"status": "pending-install"}}},
        )
        self.delete()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.remains())

    def test_without_the_right_to_read_servers_it_warns_once(self) -> None:
        self.complete()
        self.delete()
        self.management.fail(
            responses.ForbiddenError("openstackservers: forbidden (403)"),
            kind=kinds.OPENSTACK_SERVER,
        )
        for _ in range(3):
            self.poll()
        self.assertIn(
            "3 machines still to be deleted", self.row().status_reason
        )
        [line] = self.warnings()
        for phrase in (
            "OpenStackServers can't be read",
            "`magnum-capi-helm management-cluster permissions`",
            "forbidden (403)",
        ):
            self.assertIn(phrase, line)

    def test_objects_that_helm_keeps_are_removed_without_an_owner(
        self,
    ) -> None:
        self.create()
        self.delete()
        self.poll()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.remains())

    def test_objects_of_another_cluster_stay(self) -> None:
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
        self.finish()
        self.assertEqual(
            {"Secret": ["other-1-cloud-credentials"]}, self.remains()
        )


def openstack_credentials() -> Any:
    """URLs of application credentials."""
    return re.compile(
        f"{openstack.IDENTITY}/users/[^/]+/application_credentials/"
    )


class HalfMadeTest(base.FlowTestCase):
    """Magnum died between the rows of its two default groups."""

    def test_a_cluster_without_workers_is_deleted(self) -> None:
        self.saved()
        self.groups()["default-worker"].destroy()
        self.poll()
        self.health_poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.delete()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
