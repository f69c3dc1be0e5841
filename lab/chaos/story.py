# SPDX-License-Identifier: Apache-2.0

"""One cluster from its creation to its deletion, with a fault each time."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from lab.chaos import columns
from lab.chaos import endings
from lab.chaos import faults
from lab.chaos import orders
from lab.chaos import proxy
from lab.chaos import steps
from lab.chaos import witness
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import walk_requests

#: Seconds that an operation may take, faults included.
PATIENCE = 400
#: Seconds that the last step of all may come after what the user sees.
LATE = 10
#: Seconds after which a request that left no trace is lost.
TRACE = 100
#: How often an operation may meet the faults of other clusters instead.
TRIES = 4


@dataclasses.dataclass(frozen=True)
class Plot:
    """What befalls a cluster.

    :param table: operations and their steps
    :param number: which step of each operation it meets the fault at
    """

    between: proxy.Proxy
    table: dict[str, tuple[steps.Step, ...]]
    column: columns.Column
    fault: faults.Fault
    number: int


class Story:
    """One cluster."""

    def __init__(self, scene: witness.Scene, plot: Plot) -> None:
        self._scene = scene
        self._plot = plot
        self._seen = witness.Witness(scene)
        self._credentials: list[str] = []
        self._model = walk_requests.Cluster("", {1}, {})
        self.cells: list[endings.Cell] = []

    @property
    def name(self) -> str:
        """What the user calls the cluster."""
        return self._seen.name

    def run(self) -> None:
        """All operations; each one that failed is asked for again."""
        for operation, choice in self._plot.table.items():
            step = choice[self._plot.number % len(choice)]
            before = self._seen.machines()
            cell = self._tried(operation, step)
            self.cells.append(cell)
            print(self.name, cell, flush=True)
            if cell.ended == endings.STUCK:
                return
            if cell.ended in (endings.FAILED, endings.LOST):
                self._again(operation)
            self._compare(operation, before)

    def _tried(self, operation: str, step: steps.Step) -> endings.Cell:
        """How it ended, when its own fault was the first that it met.

        A conductor that is killed for one cluster was busy with others. What
        Magnum loses of those is counted, too.
        """
        self._prepare(operation)
        for _ in range(TRIES):
            cell, met = self._meet(operation, step)
            if met or cell.ended not in (endings.FAILED, endings.LOST):
                break
            print(self.name, "another cluster's fault:", cell, flush=True)
            if cell.ended == endings.LOST:
                other = f"another cluster's fault, {self.name}"
                self.cells.append(dataclasses.replace(cell, step=other))
            self._clear(operation)
        return cell

    def _meet(
        self, operation: str, step: steps.Step
    ) -> tuple[endings.Cell, bool]:
        """One operation with the fault at one step, and whether it met it."""
        rule = self._plot.between.when(
            step.asks(self._called), self._plot.fault
        )
        began = time.monotonic()
        ended, reason = self._ask(operation, rule.hit.is_set)
        # The row goes before the Lease does. Then it is over, or never comes.
        rule.hit.wait(LATE if ended == endings.DONE else 0)
        rule.times = 0
        if not rule.hit.is_set() and ended == endings.DONE:
            ended, reason = endings.UNMET, "the step was never reached"
        seconds = round(time.monotonic() - began, 1)
        fault = self._plot.column.name
        cell = endings.Cell(
            operation, step.name, fault, ended, seconds, reason
        )
        return cell, rule.hit.is_set()

    def _called(self) -> str:
        """What requests call the cluster, as a pattern."""
        if self._plot.table is steps.KUBERNETES:
            return rf"{self.name}-\w{{12}}"
        return "|".join([self._seen.uuid or "not yet", *self._credentials])

    def _prepare(self, operation: str) -> None:
        if operation == "create":
            self._seen.name, self._seen.uuid = self._scene.unique("chaos"), ""
        uuid = self._seen.uuid
        found = self._scene.credentials_of(uuid) if uuid else []
        self._credentials = [each["id"] for each in found]

    def _ask(self, operation: str, met: Callable[[], bool]) -> tuple[str, str]:
        """Ask for an operation, and wait; how it ended, and why."""
        seen = self._seen
        before = (seen.found() if seen.uuid else None) or {}
        refusal, doubt = self._send(operation)
        if refusal:
            return endings.FAILED, refusal
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE * base.SLOWER:
            time.sleep(witness.PAUSE)
            found = seen.found()
            ended = self._ended(operation, found)
            if ended == endings.DONE:
                return endings.DONE, ""
            # What failed before is not what fails now.
            changed = (found or {}).get("updated_at") != before.get(
                "updated_at"
            )
            late = time.monotonic() > began + TRACE * base.SLOWER
            # When it is late, the fault of another cluster was there first.
            if ended == endings.FAILED and changed and (met() or late):
                return endings.FAILED, seen.why(found)
            # Complete, or failed, as it was: some look just before it begins.
            if late and (ended or seen.forgotten(found)):
                known = (endings.FAILED, doubt) if doubt else None
                return known or (endings.LOST, str(found))
        return endings.STUCK, str(seen.found())

    def _again(self, operation: str) -> None:
        """What the user does after a failure. There are no faults any more.

        Whoever is told to try again in a moment, does.
        """
        self._plot.between.back()
        self._clear(operation)
        over = time.monotonic() + PATIENCE * base.SLOWER
        ended, reason = endings.FAILED, ""
        while ended == endings.FAILED and time.monotonic() < over:
            time.sleep(witness.PAUSE)
            if self._seen.uuid and self._done(operation):
                # After all: no other one may be asked for.
                ended = endings.DONE
                break
            ended, reason = self._ask(operation, lambda: True)
        what = f"{self.name} {self.cells[-1]}: again: {ended} {reason}"
        self._scene.agreement.check(ended == endings.DONE, what)

    def _clear(self, operation: str) -> None:
        """Away with what failed, before it is asked for again."""
        if operation == "create":
            self._delete_failed()
            self._prepare(operation)
        if operation == "add group":
            self._ask("delete group", lambda: True)

    def _send(self, operation: str) -> tuple[str, str]:
        """The request; why it was refused, or why nobody knows."""
        asked = orders.order(
            operation, self.name, self._seen.uuid, self._scene.templates
        )
        if operation in orders.COUNTS:
            group, count = orders.COUNTS[operation]
            self._model.counts[group] = {count}
        answer = self._scene.magnum.send(*asked)
        code = answer.status_code
        doubt = f"{code} {answer.text[:300]}" if code >= 300 else ""
        if doubt and (code < 500 or operation == "rotate"):
            return doubt, ""
        if operation == "create":
            uuid = self._seen.named() if doubt else answer.json()["uuid"]
            if not uuid:
                return doubt, ""
            self._seen.uuid = uuid
            self._scene.made(uuid)
            counts = {"default-worker": {1}}
            self._model = walk_requests.Cluster(uuid, {1}, counts)
        return "", doubt

    def _ended(self, operation: str, found: dict[str, Any] | None) -> str:
        """How it ended; empty while it goes on."""
        if found is None:
            return endings.DONE if operation == "delete" else endings.LOST
        groups = found["groups"]
        states = {found["status"], *(g["status"] for g in groups.values())}
        if any(each.endswith("_IN_PROGRESS") for each in states):
            return ""
        if any(each.endswith("_FAILED") for each in states):
            return endings.FAILED
        took = self._took(operation, found, groups)
        return endings.DONE if took else endings.LOST

    def _done(self, operation: str) -> bool:
        return self._ended(operation, self._seen.found()) == endings.DONE

    def _took(
        self, operation: str, found: dict[str, Any], groups: dict[str, Any]
    ) -> bool:
        """Whether the rows say what was asked for."""
        if operation == "resize":
            return bool(groups["default-worker"]["node_count"] == 2)
        if operation == "upgrade":
            template = found["cluster_template_id"]
            return bool(template == self._scene.templates[1])
        if operation == "add group":
            return orders.GROUP in groups
        if operation == "delete group":
            return orders.GROUP not in groups
        if operation == "rotate":
            now = self._scene.credentials_of(self._seen.uuid)
            return any(each["id"] not in self._credentials for each in now)
        return operation == "create"

    def _compare(self, operation: str, before: set[str]) -> None:
        """Nothing is there, missing or replaced that nobody asked for."""
        check = self._scene.agreement.check
        what = f"{self.name} after {self.cells[-1]}"
        if operation == "delete":
            left = self._seen.left()
            check(not left, f"{what}: left {left}")
            return
        row = self._shown()
        if row is None:
            check(None, f"{what}: it is lost")
            return
        self._scene.agreement.compare(self._model, row, row["groups"])
        if operation not in ("create", "upgrade"):
            gone = before - self._seen.machines()
            check(not gone, f"{what}: replaced {gone}")
        if operation == "delete group":
            del self._model.counts[orders.GROUP]

    def _shown(self) -> dict[str, Any] | None:
        """Return the cluster with its groups; None when it is gone.

        A conductor that is frozen holds the answer for a minute. After it,
        Magnum's handler of a served request says UPDATE_IN_PROGRESS again.
        """
        ended = time.monotonic() + PATIENCE * base.SLOWER
        row = self._seen.found()
        while row is not None and row["status"].endswith("_IN_PROGRESS"):
            if time.monotonic() > ended:
                self._scene.agreement.check(None, f"{self.name}: {row}")
                return None
            time.sleep(base.POLL)
            row = self._seen.found()
        return row

    def _delete_failed(self) -> None:
        """A create that failed leaves a row, which the user deletes."""
        if not self._seen.uuid:
            return
        with contextlib.suppress(ka_exceptions.NotFound):
            self._scene.magnum.call("DELETE", f"/clusters/{self._seen.uuid}")
        ended = time.monotonic() + PATIENCE * base.SLOWER
        while self._seen.found() is not None and time.monotonic() < ended:
            time.sleep(base.POLL)
        left = self._seen.left()
        self._scene.agreement.check(not left, f"{self.name}: left {left}")
