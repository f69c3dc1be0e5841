# SPDX-License-Identifier: Apache-2.0
"""A swap that forgot one host: 1.4.0 and this driver serve at once.

``MIXTURE_MINUTES`` makes it shorter or longer, ``WALK_SEED`` repeats the
requests.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from typing import Any

from lab.chaos import case as chaos
from lab.chaos import conductors
from lab.chaos import processes
from lab.drills import mixing
from lab.drills import mixing_case
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import walk_requests

MINUTES = float(os.environ.get("MIXTURE_MINUTES") or 10)
PACE = 5.0
#: helm's own time-out, which 1.4.0 gives it, and a margin.
_GIVEN_UP = 330
OTHERS = conductors.NAMES[:-1]
_GOING_ON = "_IN_PROGRESS"


class MixtureTest(mixing_case.MixingCase):
    """Two conductors with this driver, and one with 1.4.0."""

    record = "mixture"

    def test_a_host_that_was_forgotten(self) -> None:
        self.tell(
            "three magnum-conductor: two run this driver, and one, which "
            "the swap forgot, 1.4.0"
        )
        self._pending_is_waited_for()
        self._walk()
        self._settle()
        self._tell_machines()
        self._ask_again()
        self._delete()
        self.assertEqual(
            [], self.agreement.wrong, f"WALK_SEED={mixing_case.SEED}"
        )

    # A revision of 1.4.0 that nobody ends

    def _pending_is_waited_for(self) -> None:
        for each in OTHERS:
            programs.lab("stop", each)
        request = self.model.first()
        made = self.magnum.call(request.method, request.path, request.body)
        self.model.learn(request, 202, made)
        uuid = made["uuid"]
        self.until(lambda: self._shown(uuid), 60)
        row = self.until_status(uuid, ("CREATE_COMPLETE",))
        release = row["stack_id"]
        self.resize_workers(uuid, 3)
        self.until(lambda: self._frozen(release), 60, "no helm was caught")
        began = time.monotonic()
        stuck = self._pending(release)
        programs.lab("stop", mixing_case.FORGOTTEN, "--kill")
        self.end_helms()
        for each in OTHERS:
            programs.lab("start", each)
        self.resize_workers(uuid, 2)
        self.until(lambda: self._pending(release) != stuck, 200)
        waited = time.monotonic() - began
        self.assertGreater(waited, _GIVEN_UP)
        done = self.until_status(uuid, ("UPDATE_COMPLETE",))
        self.assertEqual(2, done["node_count"])
        self.tell(
            "the host of 1.4.0 dies in the middle of its helm, which has no "
            "Lease: a resize by this driver waits until the revision is "
            f"given up, {waited:.0f} s later (helm_timeout is "
            f"{chaos.HELM_SECONDS} s), and is UPDATE_COMPLETE"
        )
        programs.lab("restart", mixing_case.FORGOTTEN, "--driver", "1.4.0")

    def _pending(self, release: str) -> int:
        """The revision that is pending; 0: none."""
        found = helm_records.revisions(self.plane, self.namespace, release)
        return next((each.version for each in found if each.pending), 0)

    def _frozen(self, release: str) -> bool:
        """Stop the helm of 1.4.0 where its revision is pending."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = processes.helms(str(programs.LAB))
            if found and self._pending(release):
                mixing.signal_all(found, signal.SIGSTOP)
                if self._pending(release):
                    return True
                mixing.signal_all(found, signal.SIGCONT)
            time.sleep(0.02)
        # It was too fast: once more.
        for cluster in self.model.living:
            self.until_status(cluster.uuid, ("UPDATE_COMPLETE",))
            self.resize_workers(cluster.uuid, 3)
        return False

    # The walk

    def _walk(self) -> None:
        began = time.monotonic()
        while time.monotonic() < began + 60 * MINUTES:
            self._step(self.model.draw(self._idle()))
            self.witness.look()
            time.sleep(PACE)
        self.tell(
            f"{MINUTES:.0f} minutes, {len(self.model.clusters)} clusters: "
            + "; ".join(self.model.summary())
        )

    def _step(self, request: walk_requests.Request) -> None:
        answer = self.magnum.send(
            request.method, request.path, request.body, {}
        )
        code = answer.status_code
        if code // 100 not in request.right:
            self.agreement.wrong.append(f"{request}: {code} {answer.text}")
        found = answer.json() if code < 300 and answer.content else {}
        self.model.learn(request, code, found)
        if request.cluster is None and code < 300:
            self.until(lambda: self._shown(found["uuid"]), 60)

    def _idle(self) -> frozenset[str]:
        answer = self.magnum.send("GET", "/clusters", None, {})
        listed = answer.json()["clusters"] if answer.status_code < 300 else []
        return frozenset(
            each["uuid"]
            for each in listed
            if not each["status"].endswith(_GOING_ON)
        )

    def _settle(self) -> None:
        """Wait until nothing goes on, while 1.4.0 still polls, too."""
        endings: dict[str, int] = {}
        for cluster in self.model.clusters:
            if cluster.deleted:
                self.until(
                    functools.partial(self.gone, cluster.uuid),
                    mixing_case.SETTLED,
                )
                continue
            row = self._row_at_rest(cluster)
            end = row["status"]
            if end.endswith("FAILED"):
                end += ": " + (row["status_reason"] or "(no reason)")[:100]
            endings[end] = endings.get(end, 0) + 1
        told = [f"{count} {end}" for end, count in sorted(endings.items())]
        self.tell(f"how they ended: {'; '.join(told) or 'none is left'}")

    def _row_at_rest(self, cluster: walk_requests.Cluster) -> dict[str, Any]:
        last: dict[str, Any] = {}

        def settled() -> bool:
            last.update(self.magnum.find(cluster.uuid) or {})
            groups = self.magnum.nodegroups(cluster.uuid)
            states = [last, *groups.values()]
            return not any(e["status"].endswith(_GOING_ON) for e in states)

        self.until(
            settled, mixing_case.SETTLED, f"settled: {cluster.uuid} {last}"
        )
        return last

    # Machines

    def _tell_machines(self) -> None:
        """Whose machines were replaced though nobody asked for it."""
        self.witness.look()
        mixed = 0
        told: list[str] = []
        for cluster in self.model.living:
            release = (self.magnum.find(cluster.uuid) or {})["stack_id"]
            writers = self.witness.writers.get(release)
            if not writers:
                continue
            first = writers[min(writers)]
            mixed += len(set(writers.values())) > 1
            for part in self._unasked(cluster, release):
                strict = len(set(writers.values())) == 1 or (
                    first == mixing.OLD
                    and part.group in (mixing.MASTERS, mixing.WORKERS)
                )
                self.agreement.check(not strict, f"{part} of {first}")
                told.append(
                    f"{part.group} of a cluster of {first}, "
                    f"{self.witness.lost(part)} machines"
                )
        self.tell(
            f"{mixed} of {len(self.model.living)} clusters were written by "
            "both drivers"
        )
        self.tell(
            "machines replaced that nobody asked for: "
            + ("; ".join(told) or "none")
        )

    def _unasked(
        self, cluster: walk_requests.Cluster, release: str
    ) -> list[mixing.Part]:
        return [
            each
            for each in self.witness.parts(release)
            if (cluster.uuid, each.group) not in self.model.shrunk
            and self.witness.lost(each)
        ]

    # The swap is finished

    def _ask_again(self) -> None:
        """A resize to its own count, and all agrees."""
        programs.lab("restart", mixing_case.FORGOTTEN)
        self.tell("the forgotten conductor runs this driver, too")
        living = self.model.living
        for cluster in living:
            self._row_at_rest(cluster)
            workers = self.magnum.nodegroups(cluster.uuid)["default-worker"]
            self.resize_workers(cluster.uuid, workers["node_count"])
            self.until_status(cluster.uuid, ("UPDATE_IN_PROGRESS",), 120)
        for cluster in living:
            row = self._row_at_rest(cluster)
            self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
            groups = self.magnum.nodegroups(cluster.uuid)
            self.agreement.compare(cluster, row, groups)
        self.tell(
            f"$ openstack coe cluster resize, each of {len(living)} to its "
            "own count: UPDATE_COMPLETE; rows, releases and machines agree"
        )

    def _delete(self) -> None:
        """Leases of clusters that 1.4.0 deleted are all that is left."""
        for cluster in list(self.model.living):
            self.magnum.call("DELETE", cluster.path)
            cluster.deleted = True
        leases = 0
        for cluster in self.model.clusters:
            self.until(
                functools.partial(self.gone, cluster.uuid), mixing_case.SETTLED
            )
        self.assert_nothing_left()
        for release in self.witness.writers:
            left = self.left_of(release)
            leases += f"Lease {release}" in left
            others = set(left) - {f"Lease {release}"}
            self.agreement.check(not others, f"{release} left {others}")
            self.plane.delete(kinds.LEASE, self.namespace, release)
        for cluster in self.model.clusters:
            found = self.credentials_of(cluster.uuid)
            self.agreement.check(not found, f"credentials of {cluster.uuid}")
        self.tell(
            f"all {len(self.model.clusters)} clusters are deleted: {leases} "
            "Leases are left of those that 1.4.0 deleted, and nothing else"
        )
