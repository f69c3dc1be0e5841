# SPDX-License-Identifier: Apache-2.0

"""Creates that do not get through: what the polls make of them."""

from __future__ import annotations

from typing import Any

from magnum.common import exception
import testtools

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class InterruptedCreateTest(base.FlowTestCase):
    """What becomes of a create that did not get through."""

    by_http = True

    def test_a_cluster_that_was_deleted_meanwhile_makes_nothing(self) -> None:
        def destroy(request: Any, context: Any) -> Any:
            self.row().destroy()
            return {"flavors": self.openstack.flavors}

        self.openstack.mocker.get(
            f"{openstack.COMPUTE}/flavors/detail", json=destroy
        )
        self.assertRaises(exception.ClusterNotFound, self.create)
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_that_a_poll_gave_up_meanwhile_makes_nothing(
        self,
    ) -> None:
        def give_up(request: Any, context: Any) -> Any:
            self.backdate(minutes=16)
            self.poll()
            return {"flavors": self.openstack.flavors}

        self.openstack.mocker.get(
            f"{openstack.COMPUTE}/flavors/detail", json=give_up
        )
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_that_is_being_deleted_makes_nothing(self) -> None:
        def delete(request: Any, context: Any) -> Any:
            self.delete()
            return {"flavors": self.openstack.flavors}

        self.openstack.mocker.get(
            f"{openstack.COMPUTE}/flavors/detail", json=delete
        )
        self.create()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_a_delete_while_the_credential_is_made_wins(self) -> None:
        def delete(request: Any, context: Any) -> Any:
            self.delete()
            context.status_code = 201
            body = request.json()["application_credential"]
            return {
                "application_credential": {**body, "id": "a", "secret": "b"}
            }

        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/users/fake_user/application_credentials",
            json=delete,
        )
        self.create()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual([], self.helm.upgrades)
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_an_unreachable_helm_is_left_to_the_polls(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertIn("unreachable", self.row().status_reason)

        self.poll()
        self.assertEqual(2, len(self.helm.upgrades))
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(self.row().status_reason)

    def test_an_answer_of_helm_that_was_lost_is_no_failure(self) -> None:
        self.helm.outcomes = [helm.Outcome.LATE]
        self.create()
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertEqual(1, len(self.helm.upgrades))

    def test_a_refusal_by_helm_is_told_and_not_raised(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        rows = [self.row(), *self.groups().values()]
        for row in rows:
            self.assertEqual(
                "helm upgrade: admission webhook denied the request",
                row.status_reason,
            )

    def test_a_refusal_by_keystone_is_told_and_not_raised(self) -> None:
        self.openstack.refusals["POST"] = 403
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn(
            "Keystone makes no application credential for you. no",
            self.row().status_reason,
        )
        self.assertEqual([], self.helm.upgrades)

    def test_a_keystone_that_does_not_answer_is_the_reason(self) -> None:
        """No poll can ask it again: only the user has a token."""
        self.openstack.refusals["POST"] = 503
        self.create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual("Keystone answered 503", self.row().status_reason)

    def test_a_keystone_that_is_away_for_a_moment_is_waited_for(self) -> None:
        self.openstack.blips = [(False, 503)]
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(1, len(self.openstack.credentials))

    def test_keystone_gets_three_requests_at_most(self) -> None:
        self.openstack.blips = [(False, 503)] * 20
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual(17, len(self.openstack.blips))

    def test_a_management_cluster_lost_half_way_is_left_to_the_polls(
        self,
    ) -> None:
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=["list"],
            kind=kinds.SECRET,
            times=1,
        )
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_create_killed_before_the_credential_has_failed(self) -> None:
        self.management.kill_before("apply", kinds.SECRET, base.CREDENTIALS)
        self.killed_create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn("delete the cluster", self.row().status_reason)
        self.assertEqual([], self.helm.upgrades)

    def test_a_create_killed_before_the_intent_has_failed(self) -> None:
        self.management.kill_before("create", kinds.SECRET, base.INTENT)
        self.killed_create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn("delete the cluster", self.row().status_reason)
        self.delete()
        self.poll()
        self.assertEqual({}, self.openstack.credentials)

    def test_a_poll_installs_a_create_killed_after_the_intent(self) -> None:
        self.helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.killed_create()
        self.poll()
        self.assertEqual(1, len(self.helm.upgrades))
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def killed_create(self) -> None:
        """The conductor dies in the create; another has seen its Lease
        for long enough."""
        with testtools.ExpectedException(management.Killed):
            self.create()
        self.management.recover()
        base.install(self, self.plane.runtime("conductor-2"))
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.plane.clock.advance(31)
