# SPDX-License-Identifier: Apache-2.0

"""What tests of the Lease start with: a clock, and conductors that want it."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api

NAMESPACE = "magnum-p1"
RELEASE = "demo-1"
LABELS = {"magnum.openstack.org/cluster-uuid": "u"}
WHERE = ("leases", NAMESPACE, RELEASE)


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class LeaseTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory()
        self.clock = Clock()

    def leases(self, holder: str = "one") -> lease.Leases:
        return lease.Leases(
            self.api.client(),
            holder,
            check_allowed=lambda: None,
            check_missing=lambda _: None,
            before_hold=lambda _: None,
            clock=self.clock,
        )

    def hold(self, leases: lease.Leases) -> Any:
        return leases.hold(NAMESPACE, RELEASE, LABELS)

    def live(self) -> dict[str, Any]:
        found = self.api.find(*WHERE)
        assert found is not None
        return found

    def left_behind(self, holder: str = "dead/1", **spec: Any) -> None:
        """A Lease whose holder does not renew it any more."""
        self.api.put(
            "leases",
            {
                "metadata": {"name": RELEASE, "namespace": NAMESPACE},
                "spec": {
                    "holderIdentity": holder,
                    "leaseDurationSeconds": 30,
                    "renewTime": "2026-11-21T12:00:00.000000Z",
                    **spec,
                },
            },
        )

    def refused(self, leases: lease.Leases) -> None:
        error = self.assertRaises(
            errors.LeaseHeld, self.hold(leases).__enter__
        )
        self.assertEqual(f"another conductor works on {RELEASE}", str(error))
