# SPDX-License-Identifier: Apache-2.0

"""A process forgets clusters that are gone, whoever deleted them."""

from __future__ import annotations

from collections.abc import Iterator
import copy
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base

SCOPE = (base.NAMESPACE, base.RELEASE)
#: What is no cache of a conductor, and reads that drop releases themselves.
_OTHERS = ("management", "helm", "snapshots", "health_snapshots")


def places(name: str, value: Any) -> Iterator[str]:
    """Yield where a value, or an object in it, names the release."""
    if isinstance(value, dict):
        if SCOPE in value:
            yield name
    elif type(value).__module__.startswith("magnum_capi_helm"):
        for key, each in vars(value).items():
            if key.lstrip("_") not in _OTHERS:
                yield from places(f"{name}.{key}", each)


class ForgettingTest(base.DeletionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.first = self.plane.runtime("conductor-1")
        self.second = self.plane.runtime("conductor-2")

    def kept(self, rt: runtime.Runtime) -> list[str]:
        return sorted(places("", rt))

    def fill(self) -> None:
        """The first conductor has a cluster with troubles of all kinds."""
        runtime.use(self.first)
        self.complete()
        self.health_poll()
        self.helm.outcomes = [helm.Outcome.UNREACHABLE] * 2
        self.resize(3)
        machine = self.capi.server_in_error("default-worker", 0)
        self.openstack.servers.faults[machine] = "No valid host was found. "
        self.poll()
        self.first.withheld[SCOPE] = "it would replace machines"
        self.plane.clock.advance(11)
        with self.busy():
            self.poll()

    def test_each_conductor_forgets_what_another_one_deleted(self) -> None:
        self.fill()
        row = self.row()
        everything = [
            "._used",
            ".ages._kept",
            ".backoff._kept",
            ".credential_checks._kept",
            ".faults",
            ".fault_sessions",
            ".leases._observed",
            ".withheld",
        ]
        self.assertEqual([], sorted({*everything} - {*self.kept(self.first)}))
        runtime.use(self.second)
        self.delete()
        self.finish()
        self.assertEqual([], self.kept(self.second))
        runtime.use(self.first)
        other = copy.copy(row)
        other.stack_id = "other-1"
        for seconds, left in ((7100, True), (101, False)):
            self.plane.clock.advance(seconds)
            registry.runtime_of(other)
            self.assertEqual(left, bool(self.kept(self.first)))

    def test_a_cluster_that_is_polled_is_not_forgotten(self) -> None:
        self.fill()
        before = self.kept(self.first)
        for _ in range(5):
            self.plane.clock.advance(3600)
            registry.runtime_of(self.row())
        self.assertEqual(before, self.kept(self.first))
