# SPDX-License-Identifier: Apache-2.0

"""One question to several management clusters."""

from __future__ import annotations

import threading

from oslotest import base

from magnum_capi_helm import runtime
from magnum_capi_helm.config import options
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import plane


class AskTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        runtime.reset()
        self.addCleanup(runtime.reset)
        self.planes = {
            name: plane.Plane("", options.ManagementCluster(name, "", ""))
            for name in "ab"
        }
        for each in self.planes.values():
            runtime.use(each.runtime())
        self.clock = plane.Clock()
        runtime.cache().clock = self.clock

    def asked(self, name: str) -> int:
        """How many requests one of them got."""
        return len(self.planes[name].management.requests)

    def test_each_answers_or_says_why_not(self) -> None:
        self.planes["b"].management.unreachable()
        found = registry.ask(["a", "b"], identity.read)
        self.assertEqual(self.planes["a"].management.identity(), found["a"])
        self.assertIsInstance(found["b"], errors.ManagementUnreachable)

    def test_a_silent_management_cluster_is_not_asked_for_five_seconds(
        self,
    ) -> None:
        self.planes["b"].management.unreachable()
        first = registry.ask(["a", "b"], identity.read)
        before = self.asked("b")
        again = registry.ask(["a", "b"], identity.read)
        self.assertEqual(before, self.asked("b"))
        self.assertIs(first["b"], again["b"])
        self.planes["b"].management.recover()
        self.clock.advance(6)
        self.assertIsInstance(registry.ask(["b"], identity.read)["b"], str)

    def test_a_refusing_management_cluster_is_asked_again_at_once(
        self,
    ) -> None:
        self.planes["b"].management.fail(errors.ManagementError("no"))
        for _ in range(2):
            found = registry.ask(["b"], identity.read)
            self.assertEqual("no", str(found["b"]))
        self.planes["b"].management.recover()
        self.assertIsInstance(registry.ask(["b"], identity.read)["b"], str)

    def test_management_clusters_are_asked_at_the_same_time(self) -> None:
        both = threading.Barrier(2, timeout=30)
        found = registry.ask(["a", "b"], lambda _: both.wait() >= 0)
        self.assertEqual({"a": True, "b": True}, found)
