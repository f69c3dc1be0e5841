# SPDX-License-Identifier: Apache-2.0

"""Certificates that expire soon: who is warned, and what the driver renews."""

from __future__ import annotations

from unittest import mock

from magnum import objects

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.cli import renewed
from magnum_capi_helm.tests.unit.lifecycle import base


class WarningTest(renewed.RenewTestCase):
    """What health and the list say ahead of it."""

    def test_a_month_ahead_it_is_said_and_no_illness(self) -> None:
        self.expire(31)
        self.assertNotIn(
            "certificates", self.health_poll().health_status_reason
        )
        self.assertEqual((0, "ok"), self.listed())
        self.expire(29)
        row = self.health_poll()
        why = (
            "those of the control plane expire on "
            f"{renewed.days_ahead(29)[:10]}: an "
            "upgrade, or the operator, renews them"
        )
        self.assertEqual(
            ("HEALTHY", why),
            (row.health_status, row.health_status_reason["certificates"]),
        )
        self.assertEqual((1, f"warning: certificates: {why}"), self.listed())

    def test_once_they_are_new_it_is_said_no_more(self) -> None:
        self.expire(29)
        self.health_poll()
        self.renew("--apply")
        self.expire(365)
        self.health_poll()
        self.assertEqual((0, "ok"), self.listed())

    def test_it_costs_no_poll_anything(self) -> None:
        self.expire(29)
        self.health_poll()
        # Magnum's task would hide what is raised.
        monitor = self.driver.get_monitor(self.admin, self.row())
        with mock.patch.object(objects.NodeGroup, "list", self.fail):
            monitor.poll_health_status()
        self.assertEqual({}, monitor.data)

    def listed(self) -> tuple[int, str]:
        """Exit code and state of the list."""
        code, [line] = listed.run()
        return code, line["State"]


class InTimeTest(renewed.RenewTestCase):
    """What the driver renews where the operator wants it."""

    def setUp(self) -> None:
        super().setUp()
        conf.CONF.set_override("renew_certificates_days", 40, "capi_helm")

    def renewed(self) -> bool:
        """Whether a health poll asks for new machines."""
        before = self.plane_spec().get("rollout")
        self.health_poll()
        return bool(self.plane_spec().get("rollout") != before)

    def test_those_that_expire_soon_enough(self) -> None:
        self.expire(41)
        self.assertFalse(self.renewed())
        self.expire(39)
        self.assertTrue(self.renewed())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(
            f"audit: cluster {self.uuid}: accepted: renew", self.log.output
        )
        self.assertFalse(self.renewed())
        self.capi.roll_control_plane()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.expire(365)
        self.assertFalse(self.renewed())

    def test_never_unless_the_operator_wants_it(self) -> None:
        conf.CONF.clear_override("renew_certificates_days", "capi_helm")
        self.expire(1)
        self.assertFalse(self.renewed())

    def test_what_cluster_api_renews_is_left_to_it(self) -> None:
        before = {"rollout": {"before": {"certificatesExpiryDays": 30}}}
        self.server.patch(
            kinds.CONTROL_PLANE,
            base.NAMESPACE,
            renewed.PLANE,
            {"spec": before},
        )
        self.capi.settle()
        self.expire(35)
        self.assertFalse(self.renewed())

    def test_one_cluster_at_a_time(self) -> None:
        self.expire(39)
        other = (base.NAMESPACE, "other")
        self.assertTrue(runtime.get().renewal_lock.acquire(other))
        self.assertFalse(self.renewed())
        # The next look at a cluster that did not change.
        self.plane.clock.advance(901)
        runtime.get().renewal_lock.release(other)
        self.assertTrue(self.renewed())

    def test_an_unhealthy_cluster_is_left_alone(self) -> None:
        self.capi.fail_machine("default-worker")
        self.expire(39)
        self.assertFalse(self.renewed())
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_lease_that_is_held_and_one_that_fails_hide_no_health(
        self,
    ) -> None:
        self.expire(39)
        with self.busy():
            self.assertFalse(self.renewed())
        self.assertEqual([], self.warnings())
        self.plane.clock.advance(901)
        self.management.fail(
            errors.ManagementError("denied the request"),
            verbs=["patch"],
            kind=kinds.CONTROL_PLANE,
        )
        self.assertFalse(self.renewed())
        self.assertEqual("HEALTHY", self.row().health_status)
        [line] = self.warnings()
        self.assertEqual(
            f"WARNING No new certificates for cluster {self.uuid}: denied the "
            "request",
            line,
        )
        # Polls find it complete, and it is not asked for again at once.
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.management.recover()
        self.assertFalse(self.renewed())
        self.plane.clock.advance(3601)
        self.assertTrue(self.renewed())
