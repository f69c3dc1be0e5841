# SPDX-License-Identifier: Apache-2.0

"""One question to several management clusters, and what is remembered."""

from __future__ import annotations

import threading

from oslotest import base

from magnum_capi_helm import runtime
from magnum_capi_helm.memory import atlas
from magnum_capi_helm.model import errors
from magnum_capi_helm.planes import homes
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import survey
from magnum_capi_helm.tests.fakes import plane


class SurveyTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        runtime.reset()
        self.addCleanup(runtime.reset)
        self.planes = {
            name: plane.Plane("", homes.Home(name, "", "")) for name in "ab"
        }
        for each in self.planes.values():
            runtime.use(each.runtime())
        self.clock = plane.Clock()
        runtime.places().clock = self.clock

    def asked(self, name: str) -> int:
        """How many requests one of them got."""
        return len(self.planes[name].management.requests)

    def test_each_answers_or_says_why_not(self) -> None:
        self.planes["b"].management.unreachable()
        found = survey.ask(["a", "b"], origin.identity)
        self.assertEqual(self.planes["a"].management.identity(), found["a"])
        self.assertIsInstance(found["b"], errors.ManagementUnreachable)

    def test_who_was_silent_is_left_alone_for_a_while(self) -> None:
        self.planes["b"].management.unreachable()
        first = survey.ask(["a", "b"], origin.identity)
        before = self.asked("b")
        again = survey.ask(["a", "b"], origin.identity)
        self.assertEqual(before, self.asked("b"))
        self.assertIs(first["b"], again["b"])
        self.planes["b"].management.recover()
        self.clock.advance(6)
        self.assertIsInstance(survey.ask(["b"], origin.identity)["b"], str)

    def test_who_refused_is_asked_again_at_once(self) -> None:
        self.planes["b"].management.fail(errors.ManagementError("no"))
        for _ in range(2):
            found = survey.ask(["b"], origin.identity)
            self.assertEqual("no", str(found["b"]))
        self.planes["b"].management.recover()
        self.assertIsInstance(survey.ask(["b"], origin.identity)["b"], str)

    def test_they_are_asked_at_the_same_time(self) -> None:
        both = threading.Barrier(2, timeout=30)
        found = survey.ask(["a", "b"], lambda _: both.wait() >= 0)
        self.assertEqual({"a": True, "b": True}, found)


class AtlasTest(base.BaseTestCase):
    def test_what_became_another_one_takes_all_places_along(self) -> None:
        known = atlas.Atlas()
        known.identify("a", "1")
        known.settle("cluster", "a")
        known.identify("a", "1")
        known.identify("b", "2")
        self.assertEqual("a", known.place("cluster"))
        known.identify("a", "3")
        self.assertIsNone(known.place("cluster"))

    def test_a_cluster_that_is_gone_is_forgotten(self) -> None:
        known = atlas.Atlas()
        known.settle("cluster", "a")
        known.forget("cluster")
        self.assertIsNone(known.place("cluster"))
