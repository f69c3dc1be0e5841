# SPDX-License-Identifier: Apache-2.0

"""Clean-ups that OpenStack's services refuse, or do not answer."""

from __future__ import annotations

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.cloud import leftovers
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting


class HinderedTest(deleting.LeftoversTestCase):
    """Services that refuse never hold a deletion up for good."""

    def test_an_undeletable_load_balancer_is_given_up_in_the_end(self) -> None:
        self.there.balancer(deleting.WEB)
        self.there.balancer(f"{deleting.WEB}2")
        self.there.refusals["DELETE", "loadbalancers"] = 403
        self.drained()
        self.assertIn(
            f"still to be deleted: {deleting.WEB}, {deleting.WEB}2; ",
            self.reason(),
        )
        self.assertIn("can't be deleted: ", self.reason())
        refused = [each for each in self.there.requests if "DELETE" in each]
        self.assertEqual(2, len(refused), "one request for each poll")
        self.plane.clock.advance(570)
        self.assertNotIn("network", self.reason())
        self.plane.clock.advance(30)
        self.assertIn("network still to be deleted; load", self.reason())
        self.finish()
        [line] = [each for each in self.warnings() if "goes on" in each]
        self.assertIn(f"{deleting.WEB}, {deleting.WEB}2", line)
        self.assertEqual(
            {deleting.WEB, f"{deleting.WEB}2"}, self.there.names()
        )

    def test_the_wait_begins_anew_when_something_goes(self) -> None:
        self.there.balancer(deleting.WEB)
        stuck = self.there.balancer(
            f"{deleting.WEB}2", provisioning_status="PENDING_X"
        )
        self.drained()
        self.poll()
        self.plane.clock.advance(570)
        self.there.settle()
        self.poll()
        self.plane.clock.advance(570)
        self.assertNotIn("network", self.reason())
        self.plane.clock.advance(30)
        self.assertIn("network", self.reason())
        del self.there.things["loadbalancers"][stuck]
        self.finish()
        self.assertEqual([], self.warnings())

    def test_a_failed_deletion_goes_on_when_something_goes(self) -> None:
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.there.snapshot("snap-1", cluster=base.RELEASE)
        snapshot = "snapshots of Kubernetes volumes still to be deleted: "
        self.there.refusals["DELETE", "snapshots"] = 403
        self.drained(labels={"volumes_policy": "delete"})
        mark = {lease.DELETE_MARK: "2026-01-01T00:00:00.000000Z"}
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"metadata": {"annotations": mark}},
        )
        self.poll()
        self.there.refusals["DELETE", "snapshots"] = 503
        self.health_poll()
        row = self.row()
        self.assertEqual("DELETE_FAILED", row.status)
        self.assertIn("503", row.status_reason)
        self.assertNotIn("403", row.status_reason)
        self.there.settle()
        self.health_poll()
        row = self.row()
        self.assertEqual("DELETE_IN_PROGRESS", row.status)
        self.assertTrue(row.status_reason.startswith(f"{snapshot}snap-1; "))

    def test_a_service_that_does_not_answer_is_named(self) -> None:
        self.there.address(
            "192.0.2.7", deleting.address(), "port-of-something"
        )
        self.drained()
        self.openstack.stop(openstack.BALANCER)
        waiting = self.reason()
        self.assertIn("load balancers of Kubernetes Services can't", waiting)
        # It may be that of a load balancer.
        self.assertIn("still to be deleted: 192.0.2.7", waiting)
        self.plane.clock.advance(601)
        self.finish()

    def test_a_slow_cinder_keeps_no_load_balancer(self) -> None:
        # Else the network stays, too: load balancers are in it.
        self.there.balancer(deleting.WEB)
        self.there.volume("pvc-1", cluster=base.RELEASE)

        def clock() -> float:
            asked = {each[1] for each in self.there.requests}
            return 60.0 if asked & {"volumes", "snapshots"} else 0.0

        outcome = leftovers.sweep(
            sessions.service_session(),
            openstack.PROJECT,
            base.RELEASE,
            volumes=True,
            clock=clock,
        )
        sent = {each[:2] for each in self.there.requests}
        self.assertIn(("DELETE", "loadbalancers"), sent)
        self.assertEqual(("pvc-1",), outcome.left["Kubernetes volumes"])

    def test_a_deletion_needs_no_octavia(self) -> None:
        self.drained()
        catalog = openstack.token_info(("admin",))
        catalog["token"]["catalog"] = [
            each
            for each in catalog["token"]["catalog"]
            if each["type"] != "load-balancer"
        ]
        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/auth/tokens",
            json=catalog,
            headers={"X-Subject-Token": "token"},
            status_code=201,
        )
        self.finish()
        self.assertNotIn(
            "loadbalancers", {each[1] for each in self.there.requests}
        )

    def test_without_a_credential_magnums_user_does_it(self) -> None:
        self.there.balancer(deleting.WEB)
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.drained(labels={"volumes_policy": "delete"})
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.poll()
        self.there.settle()
        self.finish()
        self.assertEqual(set(), self.there.names())

    def test_machines_without_a_credential_say_so(self) -> None:
        self.complete()
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.delete()
        self.assertIn(
            f"the Secret {base.CREDENTIALS}, without which",
            self.reason(),
        )

    def test_a_credential_that_keystone_refuses(self) -> None:
        self.there.balancer(deleting.WEB)
        self.drained()
        refused = ka_exceptions.BadRequest("no")
        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/auth/tokens", exc=refused
        )
        self.assertIn(
            "what Kubernetes made in the project can't be deleted: Keystone",
            self.reason(),
        )
