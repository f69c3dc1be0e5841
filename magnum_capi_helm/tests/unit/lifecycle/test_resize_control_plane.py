# SPDX-License-Identifier: Apache-2.0

"""Resize of the control plane, through Magnum's own handler."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base


class ControlPlaneTest(base.FlowTestCase):
    """A resize of the control plane."""

    def masters(self) -> int:
        """Wanted machines of the live control plane."""
        (found,) = self.server.list(kinds.CONTROL_PLANE, base.NAMESPACE)
        return int(found["spec"]["replicas"])

    def test_a_control_plane_grows_and_shrinks_alone(self) -> None:
        self.complete()
        for count in (3, 1):
            self.resize(count, "default-master")
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
            self.capi.settle()
            self.poll()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)
            group = self.groups()["default-master"]
            self.assertEqual("UPDATE_COMPLETE", group.status)
            self.assertEqual(count, self.masters())
            self.assertEqual(count, len(group.node_addresses))
        first, _, last = (call.values for call in self.helm.upgrades)
        for values in (first, last):
            del values["clusterAnnotations"]
        self.assertEqual(first, last)

    def test_a_repeated_resize_succeeds_after_a_failure(self) -> None:
        self.complete()
        self.helm.outcomes = [helm.Outcome.REFUSED] * 2
        self.resize(3, "default-master")
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.resize(3, "default-master")
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(3, self.masters())

    def test_a_busy_lease_does_not_fail_it(self) -> None:
        self.complete()
        with self.busy():
            self.resize(3, "default-master")
        self.assertEqual(1, self.masters())
        self.poll()
        self.assertEqual(3, self.masters())
