# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""A conductor is frozen in the middle of its work, and wakes up late."""

from __future__ import annotations

import time

from magnum_capi_helm.tests.chaos import case
from magnum_capi_helm.tests.chaos import faults
from magnum_capi_helm.tests.chaos import steps
from magnum_capi_helm.tests.functional import walk_requests

#: Seconds: a Lease lasts 30, and a poll comes each 10.
FROZEN, AWAKE = 75.0, 25.0


class FrozenTest(case.HighlyAvailableCase):
    """Once for each request of a resize, with one cluster."""

    def test_who_wakes_up_writes_nothing_and_the_others_have_finished(
        self,
    ) -> None:
        self.uuid = self.cluster(self.template())
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        for number, step in enumerate(steps.KUBERNETES["resize"]):
            count = 2 - number % 2
            self.writes: list[tuple[float, str, str]] = []
            self.frozen = ""
            self.between.recover()
            self.between.when(step.asks(lambda: self.release), self._freeze)
            self.between.when(self._writes, self._note, 10**6)
            path = f"/clusters/{self.uuid}/actions/resize"
            self.magnum.call("POST", path, {"node_count": count})
            self.until(lambda: self.frozen, 60, f"frozen: {step}")
            slept = time.monotonic()
            self.conductors.recover()
            woke = time.monotonic()
            time.sleep(AWAKE)
            late = [
                f"{what} {at - woke:.1f} s after"
                for at, who, what in self.writes
                if who == self.frozen and at > woke - 0.5
            ]
            took = [at for at, who, _ in self.writes if who != self.frozen]
            print(
                f"{step.name}: {self.frozen} slept {woke - slept:.0f} s, "
                f"others wrote {len(took)} times, it wrote {late}"
            )
            self._compare(count)
            # helm, which did not sleep, may have done all of it.
            self.assertEqual([], late, step.name)

    def _freeze(
        self, request: faults.Request, forward: faults.Forward
    ) -> faults.Answer:
        answer = forward()
        _, self.frozen = self.conductors.behind(request)
        self.conductors.freeze(FROZEN)(request)
        return answer

    def _writes(self, request: faults.Request) -> bool:
        text = f"{request.path}\n{request.body.decode(errors='replace')}"
        return request.method != "GET" and self.release in text

    def _note(
        self, request: faults.Request, forward: faults.Forward
    ) -> faults.Answer:
        _, name = self.conductors.behind(request)
        path = request.path.partition("?")[0].rpartition("/")[2]
        answer = forward()
        # It asks for its Lease, which is refused.
        if answer.status < 300:
            what = f"{request.method} {path}"
            self.writes.append((time.monotonic(), name, what))
        return answer

    def _compare(self, count: int) -> None:
        model = walk_requests.Cluster(
            self.uuid, {1}, {"default-worker": {count}}
        )
        row = self.magnum.find(self.uuid)
        assert row is not None
        self.assertEqual("UPDATE_COMPLETE", row["status"])
        groups = self.magnum.nodegroups(self.uuid)
        self.agreement.compare(model, row, groups)
        self.assertEqual([], self.agreement.wrong)
