# SPDX-License-Identifier: Apache-2.0

"""Lists that watches keep up to date."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api

LABEL = "cluster.x-k8s.io/cluster-name"
TRACK = reads.Query(kinds.MACHINE, LABEL)
SCOPE = ("magnum-p1", "demo-1")
SERVED = api.group("v1beta2")
GONE = api.status(410, "too old resource version")


def machine(name: str, version: int, release: str = "demo-1") -> Any:
    return {
        "metadata": {
            "name": name,
            "namespace": SCOPE[0],
            "resourceVersion": str(version),
            "labels": {LABEL: release},
        }
    }


def listed(version: int, *found: Any, token: str = "") -> api.Answer:
    meta = {"resourceVersion": str(version), "continue": token}
    return api.Answer(200, {"metadata": meta, "items": list(found)})


def watched(*events: tuple[str, Any]) -> api.Answer:
    lines = [
        json.dumps({"type": type_, "object": found}) for type_, found in events
    ]
    return api.Answer(200, "\n".join(lines))


class FollowerTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0

    def _over(self, *script: Any) -> reads.Follower:
        self.transport = api.Scripted(SERVED, *script)
        management = client.Client(lambda: self.transport)
        return reads.Follower(management, TRACK, lambda: self.now)

    def _asked(self) -> list[tuple[str, str | None]]:
        """What was asked for, and from which version on."""
        return [
            (
                "watch" if "watch" in each["params"] else "list",
                each["params"].get("resourceVersion"),
            )
            for each in self.transport.options[1:]
        ]

    @staticmethod
    def _names(found: Mapping[reads.Scope, reads.Items]) -> Any:
        return {
            scope[1]: [(each.name, each.version) for each in mine]
            for scope, mine in found.items()
        }

    def test_a_list_is_gone_on_with_by_watches(self) -> None:
        follower = self._over(
            listed(7, machine("a", 3), token="x"),
            listed(7, machine("b", 5)),
            watched(),
            watched(("MODIFIED", machine("a", 9))),
            watched(("BOOKMARK", {"metadata": {"resourceVersion": "12"}})),
            watched(),
        )
        for _ in range(5):
            found = follower.read()
        self.assertEqual(
            {"demo-1": [("b", "5"), ("a", "9")]}, self._names(found)
        )
        watches = [("watch", each) for each in ("7", "7", "9", "12")]
        self.assertEqual([("list", None)] * 2 + watches, self._asked())

    def test_each_kind_of_event_has_its_effect(self) -> None:
        a, b = machine("a", 3), machine("b", 4, "demo-2")
        for event, expected in (
            (("ADDED", machine("c", 9)), {"demo-1": "ac", "demo-2": "b"}),
            (("MODIFIED", machine("a", 9)), {"demo-1": "a", "demo-2": "b"}),
            (("DELETED", machine("b", 9, "demo-2")), {"demo-1": "a"}),
            (("DELETED", machine("z", 9)), {"demo-1": "a", "demo-2": "b"}),
        ):
            follower = self._over(listed(7, a, b), watched(event))
            follower.read()
            found = self._names(follower.read())
            names = {key: "".join(dict(mine)) for key, mine in found.items()}
            self.assertEqual(expected, names)

    def test_an_expired_watch_lists_again(self) -> None:
        error = {"kind": "Status", "code": 410, "metadata": {}}
        for refusal in (GONE, watched(("ERROR", error))):
            follower = self._over(
                listed(7, machine("a", 3)), refusal, listed(20)
            )
            follower.read()
            self.assertEqual({}, follower.read())

    def test_followers_list_again_but_not_together(self) -> None:
        for part, seconds in ((0.0, 900), (0.5, 1350), (1.0, 1800)):

            def uniform(low: float, high: float, part: float = part) -> float:
                return low + part * (high - low)

            self.useFixture(fixtures.MockPatch("random.uniform", uniform))
            follower = self._over(
                listed(7, machine("a", 3)),
                watched(),
                listed(20, machine("b", 8)),
            )
            follower.read()
            for ahead, name in ((seconds - 1, "a"), (1, "b")):
                self.now += ahead
                names = self._names(follower.read())
                self.assertEqual([name], [each for each, _ in names["demo-1"]])

    def test_a_failing_watch_fails_the_look_and_loses_nothing(self) -> None:
        api.no_pauses(self)
        for broken in (
            [api.status(503)] * 3,
            [api.Answer(200, '{"type": "MODIFIED", "obj')],
        ):
            follower = self._over(
                listed(7, machine("a", 3)),
                *broken,
                watched(("MODIFIED", machine("a", 9))),
            )
            follower.read()
            self.assertRaises(errors.ManagementUnreachable, follower.read)
            self.assertEqual(
                {"demo-1": [("a", "9")]}, self._names(follower.read())
            )
            self.assertEqual(("watch", "7"), self._asked()[-1])

    def test_a_list_that_fails_is_not_gone_on_with(self) -> None:
        api.no_pauses(self)
        follower = self._over(
            listed(7, machine("a", 3), token="x"),
            *[api.status(503)] * 3,
            listed(9, machine("b", 8)),
        )
        self.assertRaises(errors.ManagementUnreachable, follower.read)
        self.assertEqual(
            {"demo-1": [("b", "8")]}, self._names(follower.read())
        )
