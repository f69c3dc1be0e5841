# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any
import unittest

from bench import verdicts

_EXPECTED = {
    "well": {"state": "settled", "nodes": ["a", "b"]},
    "ill": {"state": "ill-worker", "nodes": ["c", "d"]},
}
_RIGHT = {
    "well": {
        "health_status": "HEALTHY",
        "health_status_reason": {
            "api": "ok",
            "a.Ready": "True",
            "b.Ready": "True",
        },
    },
    "ill": {
        "health_status": "UNHEALTHY",
        "health_status_reason": {
            "api": "ok",
            "c.Ready": "True",
            "d.Ready": "False",
        },
    },
}


def _said(uuid: str, **changed: Any) -> dict[str, Any]:
    return {**_RIGHT, uuid: {**_RIGHT[uuid], **changed}}


class VerdictsTest(unittest.TestCase):
    def test_nothing_is_wrong_with_what_is_true(self) -> None:
        self.assertEqual([], verdicts.wrong(_RIGHT, _EXPECTED, per_node=True))

    def test_a_cluster_that_was_not_polled_is_wrong(self) -> None:
        said = {"ill": _RIGHT["ill"]}
        self.assertEqual(
            ["well: not polled"],
            verdicts.wrong(said, _EXPECTED, per_node=False),
        )

    def test_health_has_to_be_that_of_the_objects(self) -> None:
        for uuid, health in (("well", "UNHEALTHY"), ("ill", "HEALTHY")):
            with self.subTest(uuid):
                said = _said(uuid, health_status=health)
                found = verdicts.wrong(said, _EXPECTED, per_node=False)
                self.assertEqual(1, len(found), found)

    def test_a_map_of_nodes_is_whole_and_names_the_ill(self) -> None:
        for reason, problem in (
            ({"a.Ready": "True"}, "well: nothing about ['b']"),
            (
                {"a.Ready": "True", "b.Ready": "False"},
                "well: HEALTHY, and these are not ready: ['b.Ready']",
            ),
        ):
            with self.subTest(problem):
                said = _said("well", health_status_reason=reason)
                self.assertEqual(
                    [problem],
                    verdicts.wrong(said, _EXPECTED, per_node=True),
                )

    def test_an_ill_cluster_without_an_ill_node_is_wrong(self) -> None:
        reason = {"c.Ready": "True", "d.Ready": "True"}
        said = _said("ill", health_status_reason=reason)
        self.assertEqual(
            ["ill: UNHEALTHY, and these are not ready: []"],
            verdicts.wrong(said, _EXPECTED, per_node=True),
        )
