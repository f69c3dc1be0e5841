# SPDX-License-Identifier: Apache-2.0

"""Deletions that have to wait, and go on."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting


class HinderedDeleteTest(deleting.DeletionTestCase):
    """A delete that has to wait."""

    def test_a_deletion_waits_for_an_unreachable_management_cluster(
        self,
    ) -> None:
        self.complete()
        self.management.unreachable()
        self.delete()
        self.poll()
        row = self.row()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn("deletion waits", row.status_reason)
        self.assertIn("does not answer", row.status_reason)
        self.assertEqual(1, len(self.openstack.credentials))

        self.management.recover()
        self.poll()
        self.finish()
        self.assertEqual({}, self.remains())

    def test_a_poll_that_cannot_delete_logs_one_line(self) -> None:
        self.complete()
        self.delete()
        self.management.unreachable()
        self.poll()
        self.assertEqual(1, len(self.warnings()), self.warnings())

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
            self.management.fail(
                errors.ManagementUnreachable("no answer"),
                verbs=[verb],
                kind=kind,
                times=1,
            )
            self.poll()
            self.assertFalse(self.gone(), f"{verb} {kind.name}")
            self.assertEqual(
                "deletion waits: no answer", self.row().status_reason
            )
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
        self.assertIn("role admin", self.row().status_reason)
        self.assertIn(base.CREDENTIALS, self.server.names(kinds.SECRET))
        self.assertEqual(1, len(self.openstack.credentials))

        self.openstack.refusals.clear()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)

    def test_a_deletion_waits_for_a_silent_keystone(self) -> None:
        self.complete()
        self.delete()
        self.capi.finish()
        self.openstack.stop("http://keystone.test")
        self.poll()
        self.assertFalse(self.gone())
        self.assertEqual(
            "deletion waits: Keystone: no answer (ConnectTimeout)",
            self.row().status_reason,
        )
        self.assertIn(base.CREDENTIALS, self.server.names(kinds.SECRET))

    def test_a_credential_that_is_gone_counts_as_deleted(self) -> None:
        self.complete()
        self.openstack.credentials.clear()
        self.delete()
        self.finish()

    def test_an_owner_who_is_gone_counts_as_deleted(self) -> None:
        self.complete()
        self.openstack.refusals.update({"GET": 404, "DELETE": 404})
        self.delete()
        self.finish()

    def test_a_deletion_tries_an_unreachable_helm_again(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 2
        self.delete()
        self.poll()
        self.assertIn("helm uninstall", self.row().status_reason)
        self.poll()
        self.assertEqual(
            [], self.server.list(kinds.SECRET, base.NAMESPACE, "owner=helm")
        )
        self.finish()

    def test_a_deletion_waits_for_another_conductor_at_work(self) -> None:
        self.complete()
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": "other", "renewTime": "now"}},
        )
        self.delete()
        self.poll()
        self.assertEqual([], self.helm.uninstalls)
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.plane.clock.advance(31)
        self.poll()
        self.finish()
        self.assertEqual({}, self.remains())
