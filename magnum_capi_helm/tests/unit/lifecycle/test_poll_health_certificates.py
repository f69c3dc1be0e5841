# SPDX-License-Identifier: Apache-2.0

"""Certificates that expire soon: the warning in health."""

from __future__ import annotations

import time
from unittest import mock

from magnum import objects

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.lifecycle import base


def days_ahead(days: float) -> str:
    """As Kubernetes writes it."""
    moment = time.gmtime(time.time() + days * 86400)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


class WarningTest(base.FlowTestCase):
    """What health says of a cluster that is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def expire(self, days: float) -> None:
        """What Cluster API says of the control plane's machines."""
        for each in self.server.list(
            kinds.MACHINE, base.NAMESPACE, view.CONTROL_PLANE_LABEL
        ):
            status = {
                **each["status"],
                "certificatesExpiryDate": days_ahead(days),
            }
            name = each["metadata"]["name"]
            self.server.set_status(kinds.MACHINE, base.NAMESPACE, name, status)

    def test_a_month_ahead_it_is_said_and_no_illness(self) -> None:
        self.expire(31)
        self.assertNotIn(
            "certificates", self.health_poll().health_status_reason
        )
        self.expire(29)
        row = self.health_poll()
        why = (
            "those of the control plane expire on "
            f"{days_ahead(29)[:10]}: an "
            "upgrade, or the operator, renews them"
        )
        self.assertEqual(
            ("HEALTHY", why),
            (row.health_status, row.health_status_reason["certificates"]),
        )

    def test_once_they_are_new_it_is_said_no_more(self) -> None:
        self.expire(29)
        self.health_poll()
        self.expire(365)
        self.assertNotIn(
            "certificates", self.health_poll().health_status_reason
        )

    def test_a_poll_with_the_same_warning_reads_no_nodegroup(self) -> None:
        self.expire(29)
        self.health_poll()
        # Magnum's task would hide what is raised.
        monitor = self.driver.get_monitor(self.admin, self.row())
        with mock.patch.object(objects.NodeGroup, "list", self.fail):
            monitor.poll_health_status()
        self.assertEqual({}, monitor.data)
