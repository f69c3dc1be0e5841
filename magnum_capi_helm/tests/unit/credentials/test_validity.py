# SPDX-License-Identifier: Apache-2.0

"""What the health poll says of a cluster's credential."""

from __future__ import annotations

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base


class DeadTest(rotating.RotationTestCase):
    """What the health poll says of the credential."""

    def reason(self) -> str | None:
        """Ten minutes later."""
        self.health_poll()
        self.plane.clock.advance(3600)
        row = self.health_poll()
        found = (row.health_status_reason or {}).get("credential")
        self.assertEqual(
            "UNHEALTHY" if found else "HEALTHY", row.health_status
        )
        return found

    def test_a_new_one_is_seen_at_once_by_every_conductor(self) -> None:
        self.assertIsNone(self.reason())
        self.openstack.credentials.clear()
        self.assertIn("openstack coe credential rotate", self.reason() or "")
        base.install(self, self.plane.runtime("conductor-2"))
        self.assertIsNotNone(self.reason())
        self.rotate()
        base.install(self, self.plane.runtime("conductor-1"))
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_a_secret_that_is_damaged_or_gone_says_so(self) -> None:
        damaged = {"data": {"clouds.yaml": "bm90OiBbY2xvdWRz"}}
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, base.CREDENTIALS, damaged
        )
        self.assertIn(
            f"the Secret {base.CREDENTIALS} does not say", self.reason() or ""
        )
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.assertIn("not on the management cluster", self.reason() or "")

    def test_a_keystone_that_does_not_answer_says_nothing(self) -> None:
        self.openstack.stop(openstack.IDENTITY)
        self.assertIsNone(self.reason())

    def test_keystone_is_asked_once_in_a_while(self) -> None:
        self.reason()
        asked = self.openstack.mocker.call_count
        self.health_poll()
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_a_cluster_that_is_being_made_has_none_yet(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        row = self.row()
        row.status = "CREATE_IN_PROGRESS"
        row.save()
        self.assertIsNone(self.reason())

    def test_it_can_be_switched_off(self) -> None:
        conf.CONF.set_override("app_cred_check_interval", 0, "capi_helm")
        self.openstack.credentials.clear()
        self.assertIsNone(self.reason())
