# SPDX-License-Identifier: Apache-2.0

"""A conductor is frozen in the middle of its work, and wakes up late."""

from __future__ import annotations

import dataclasses
import threading
import time

from lab.chaos import case
from lab.chaos import faults
from lab.chaos import steps
from magnum_capi_helm.tests.functional import walk_requests

#: Seconds: a Lease lasts 30, and a poll comes each 10.
FROZEN, AWAKE = 75.0, 25.0


@dataclasses.dataclass(frozen=True)
class Write:
    """A write that the API server did.

    :param at: monotonic seconds
    :param name: of the conductor, whose helm it may have been
    """

    at: float
    name: str
    what: str

    @property
    def takes_lease(self) -> bool:
        """Whether its Lease is taken, or renewed."""
        return self.what.startswith("PUT") and "/leases/" in self.what


class FrozenTest(case.HighlyAvailableCase):
    """Once for each request of a resize, with one cluster."""

    def test_who_wakes_up_writes_nothing_of_its_own(self) -> None:
        self.uuid = self.cluster(self.template())
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        for number, step in enumerate(steps.KUBERNETES["resize"]):
            self.writes: list[Write] = []
            self.frozen = ""
            self.between.recover()
            self.between.when(step.asks(lambda: self.release), self._freeze)
            self.between.when(self._is_write, self._note, 10**6)
            count = 2 - number % 2
            # It is answered when the one that sleeps wakes up, or never.
            asked = threading.Thread(target=self._resize, args=(count,))
            asked.start()
            self.until(lambda: self.frozen, 60, f"frozen: {step}")
            self.until(self._taken_over, FROZEN, f"taken over: {step}")
            self.conductors.recover()
            woke = time.monotonic() - 0.5
            time.sleep(AWAKE)
            mine = [e for e in self.writes if e.name == self.frozen]
            awake = [e for e in mine if e.at > woke]
            leases = [e.at for e in awake if e.takes_lease]
            own = [e for e in awake if not leases or e.at < leases[0]]
            print(
                f"{step.name}: another took the Lease of {self.frozen}, which "
                f"woke up and wrote {own} before it had one"
            )
            self.assertEqual([], own, step.name)
            asked.join()
            self._compare(count)

    def _taken_over(self) -> bool:
        """Whether another conductor has the Lease by now."""
        return any(
            each.takes_lease and each.name != self.frozen
            for each in self.writes
        )

    def _resize(self, count: int) -> None:
        path = f"/clusters/{self.uuid}/actions/resize"
        self.magnum.send("POST", path, {"node_count": count}, {})

    def _freeze(
        self, request: faults.Request, forward: faults.Forward
    ) -> faults.Answer:
        answer = forward()
        _, self.frozen = self.conductors.behind(request)
        self.conductors.freeze(FROZEN)(request)
        return answer

    def _is_write(self, request: faults.Request) -> bool:
        text = f"{request.path}\n{request.body.decode(errors='replace')}"
        return request.method != "GET" and self.release in text

    def _note(
        self, request: faults.Request, forward: faults.Forward
    ) -> faults.Answer:
        _, name = self.conductors.behind(request)
        answer = forward()
        # It asks for its Lease, which is refused.
        if answer.status < 300:
            path = request.path.partition("?")[0]
            what = f"{request.method} {path}"
            self.writes.append(Write(time.monotonic(), name, what))
        return answer

    def _compare(self, count: int) -> None:
        self.until_status(self.uuid, ("UPDATE_COMPLETE",), 120)
        model = walk_requests.Cluster(
            self.uuid, {1}, {"default-worker": {count}}
        )
        row = self.magnum.find(self.uuid)
        assert row is not None
        groups = self.magnum.nodegroups(self.uuid)
        self.agreement.compare(model, row, groups)
        self.assertEqual([], self.agreement.wrong)
