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
    def test_verdicts_are_compared_with_the_objects(self) -> None:
        ill_node = {"a.Ready": "True", "b.Ready": "False"}
        well_nodes = {"c.Ready": "True", "d.Ready": "True"}
        too_bad = _said("well", health_status="UNHEALTHY")
        too_good = _said("ill", health_status="HEALTHY")
        for said, per_node, expected in (
            (_RIGHT, True, []),
            ({"ill": _RIGHT["ill"]}, False, ["well: not polled"]),
            (too_bad, False, [f"well: {too_bad['well']}, expected HEALTHY"]),
            (too_good, False, [f"ill: {too_good['ill']}, expected UNHEALTHY"]),
            (
                _said("well", health_status_reason={"a.Ready": "True"}),
                True,
                ["well: nothing about ['b.Ready']"],
            ),
            (
                _said("well", health_status_reason=ill_node),
                True,
                ["well: HEALTHY, and these are not ready: ['b.Ready']"],
            ),
            (
                _said("ill", health_status_reason=well_nodes),
                True,
                ["ill: UNHEALTHY, and these are not ready: []"],
            ),
        ):
            self.assertEqual(
                expected, verdicts.wrong(said, _EXPECTED, per_node=per_node)
            )
