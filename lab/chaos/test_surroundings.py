# SPDX-License-Identifier: Apache-2.0

"""A resize while something is missing that conductors need.

The rows go into a table, as those of ``test_matrix``.
"""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Any

from lab.chaos import case
from lab.chaos import endings
from lab.chaos import surroundings
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import walk_requests

#: Seconds after which a request was lost: there is no trace of it.
_TRACE = 60


def _chosen() -> dict[str, surroundings.Fault]:
    words = (os.environ.get("CHAOS_SURROUNDINGS") or "").split(",")
    return {
        name: fault
        for name, fault in surroundings.FAULTS.items()
        if any(word in name for word in words)
    }


class SurroundingsTest(case.HighlyAvailableCase):
    """One cluster, resized again and again."""

    def test_each_resize_ends_as_it_was_asked_for(self) -> None:
        self.uuid = self.cluster(self.template())
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        place = surroundings.Place(
            self.kubeconfig, self.between, self.conductors
        )
        for number, (name, fault) in enumerate(_chosen().items()):
            count = 2 - number % 2
            masters = self._masters()
            began = time.monotonic()
            with fault(place):
                began = time.monotonic()
                self._ask(count)
            seen = self._until_done(count)
            cell = endings.Cell(
                "resize",
                name,
                "",
                endings.DONE,
                round(time.monotonic() - began, 1),
                " | ".join(seen),
            )
            print(cell, flush=True)
            case.keep([dataclasses.asdict(cell)])
            self._compare(count)
            self.assertEqual(masters, self._masters(), name)
            self.settle()
        self.assert_nothing_left()

    def _ask(self, count: int) -> None:
        """Until somebody takes it: the user tries again after an error."""
        path = f"/clusters/{self.uuid}/actions/resize"

        def taken() -> bool:
            body = {"node_count": count}
            return bool(
                self.magnum.send("POST", path, body, {}).status_code < 300
            )

        self.until(taken, 60, "a resize is taken")

    def _until_done(self, count: int) -> list[str]:
        """Wait; the reasons that the user saw meanwhile."""
        seen: dict[str, None] = {}
        asked = time.monotonic()

        def done() -> bool:
            nonlocal asked
            answer = self.magnum.send(
                "GET", f"/clusters/{self.uuid}", None, {}
            )
            found: dict[str, Any] = (
                answer.json() if answer.status_code < 300 else {}
            )
            if found.get("status_reason"):
                seen[found["status_reason"]] = None
            if found.get("status") != "UPDATE_COMPLETE":
                return False
            if found["node_count"] == count:
                return True
            if time.monotonic() > asked + _TRACE:
                # Acknowledged by a conductor that died with it.
                seen["lost by Magnum, asked for again"] = None
                asked = time.monotonic()
                self._ask(count)
            return False

        self.until(done, 300, f"{count} workers")
        return list(seen)

    def _compare(self, count: int) -> None:
        model = walk_requests.Cluster(
            self.uuid, {1}, {"default-worker": {count}}
        )
        row = self.magnum.find(self.uuid)
        assert row is not None
        groups = self.magnum.nodegroups(self.uuid)
        self.agreement.compare(model, row, groups)
        self.assertEqual([], self.agreement.wrong)

    def _masters(self) -> list[str]:
        """Names of the control plane's machines."""
        listed = self.agreement.live(kinds.MACHINE, self.release)
        names = map(view.name_of, listed)
        return sorted(each for each in names if "-control-plane-" in each)
