# SPDX-License-Identifier: Apache-2.0

"""Commands that change many clusters, one after the other or a few at once.

Without ``--apply`` they only show what they would change. After the first
failures, and outside of the operator's window, no further cluster is begun;
those that were begun are waited for. Run an interrupted command again: a
cluster that it has changed already has nothing to do. Clusters in progress
come first, so that no more than ``--parallel`` of them change at a time.
"""

from __future__ import annotations

import abc
import argparse
import collections
from collections.abc import Callable, Collection, Sequence
from concurrent import futures
import contextlib
import dataclasses
import itertools
import json
import threading
import time
from typing import Any, NamedTuple

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors

HEADER = ("Cluster", "UUID", "Project", "Result", "Detail")

NOTHING = "nothing to do"
WOULD = "would change"
CHANGED = "changed"
REFUSED = "refused"
FAILED = "failed"
NOT_TRIED = "not tried"
POSTPONED = "postponed"

#: Option, default, unit and effect of the limits of a run.
_LIMITS = (
    ("--parallel", 1, "N", "clusters that the command changes at a time"),
    ("--timeout", 60, "MINUTES", "after which a cluster counts as failed"),
    ("--stop-after", 1, "N", "failures after which no other cluster begins"),
    ("--from", "00:00", "HH:MM", "time in UTC at which clusters may begin"),
    ("--to", "24:00", "HH:MM", "time in UTC from which on no cluster begins"),
)

#: Seconds between two looks at a change that goes on.
_PAUSE = 5.0

#: Errors that pass by themselves and say nothing of a change that was made.
#: A freeze, or a management cluster that is another one, needs an operator.
_PASSING = (
    errors.CloudUnreachable,
    errors.ManagementUnreachable,
    errors.Conflict,
    errors.LeaseHeld,
)


@dataclasses.dataclass(frozen=True)
class Change:
    """The change that a command would make to one cluster.

    :param detail: the change in words; empty: there is nothing to do
    :param make: makes the change, under the Lease where that is needed;
        returns when the change can't get lost any more, and perhaps a text
        with the work that is left
    :param unfinished: returns the work that is left, as one line; empty: the
        change is complete. Raises when it failed
    :param note: a hint about the cluster, whether or not it is changed
    :param machines: returns the UIDs of the machines that there are now
    """

    detail: str = ""
    make: Callable[[], str | None] = lambda: None
    unfinished: Callable[[], str] = lambda: ""
    note: str = ""
    machines: Callable[[], Collection[str]] = frozenset

    @property
    def text(self) -> str:
        """Return the change and the hint."""
        return "; ".join(filter(None, (self.detail, self.note)))


class Line(NamedTuple):
    """The result for one cluster."""

    name: str
    uuid: str
    project: str
    result: str
    detail: str = ""


class Batch(base.Lister, abc.ABC):
    """A command that changes many clusters."""

    #: The name of the command in logs and in helm's history.
    action: str
    #: Seconds between two looks; tests don't wait.
    pause = _PAUSE
    #: Returns the time of the day in UTC, such as 22:00.
    clock = staticmethod(lambda: time.strftime("%H:%M", time.gmtime()))

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the clusters, --apply, the limits of a run and its record.

        :func:`choose_clusters` refuses more than one choice of clusters.
        """
        parser.add_argument(
            "clusters",
            metavar="CLUSTER",
            nargs="*",
            help="names or UUIDs of clusters",
        )
        parser.add_argument(
            "--project",
            metavar="ID",
            help="choose all clusters of this project",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            dest="every",
            help="choose all clusters of this driver",
        )
        base.add_apply(parser, "make the changes (default: only show them)")
        for name, default, unit, does in _LIMITS:
            count = isinstance(default, int)
            parser.add_argument(
                name,
                type=base.positive if count else base.time_of_day,
                default=default,
                metavar=unit,
                help=f"{does} (default: {default})",
            )
        parser.add_argument(
            "--record",
            metavar="FILE",
            help="with --apply: append JSON lines to this file, for the begin "
            "and for the result of each cluster",
        )

    @abc.abstractmethod
    def plan(self, row: Any, parsed_args: argparse.Namespace) -> Change:
        """Return the change of one cluster; nothing is written.

        :param row: read just now
        :raises CapiHelmError: the change is refused
        """

    def _plan(self, row: Any, parsed_args: argparse.Namespace) -> Change:
        """Read a row again, and plan; a cluster that is gone has no change.

        Hours may have passed since the rows were listed.
        """
        from magnum_capi_helm.database import rows

        fresh = rows.fresh(rows.everywhere(), row)
        return Change() if fresh is None else self.plan(fresh, parsed_args)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Show, or make, all changes."""
        self._record = parsed_args.record if parsed_args.apply else None
        self._stopped = threading.Event()
        rows = choose_clusters(parsed_args)
        if parsed_args.apply:
            lines = self._change_all(rows, parsed_args)
        else:
            lines = [self._change(row, parsed_args) for row in rows]
        results = [each.result for each in lines]
        self.say(count_results(results))
        if WOULD in results:
            self.say("nothing was written: add --apply to make these changes")
        good = {NOTHING, WOULD, CHANGED, POSTPONED}
        self.exit_code = int(not good.issuperset(results))
        return HEADER, lines

    def _change_all(
        self, rows: Sequence[Any], parsed_args: argparse.Namespace
    ) -> list[Line]:
        """Change the clusters, until too many fail or the window ends."""
        ended, failures = itertools.count(1), itertools.count(1)

        def change(row: Any) -> Line:
            try:
                line = self._change(row, parsed_args)
            except BaseException:
                self._stopped.set()
                raise
            failed = line.result == FAILED
            if failed and next(failures) >= parsed_args.stop_after:
                self._stopped.set()
            text = f"{line.name}: {line.result} {line.detail}".strip()
            self.say(f"{text} ({next(ended)} of {len(rows)})")
            return line

        with futures.ThreadPoolExecutor(parsed_args.parallel) as pool:
            return list(pool.map(change, rows))

    def _change(self, row: Any, parsed_args: argparse.Namespace) -> Line:
        """Change one cluster, and record the result."""
        from magnum_capi_helm.model import call

        began = time.monotonic()
        counts: dict[str, int] = {}
        with call.acting(base.operator(self.action)):
            line = _line(row, *self._try(row, parsed_args, counts))
        self._note(line, seconds=round(time.monotonic() - began), **counts)
        return line

    def _try(
        self, row: Any, options: argparse.Namespace, counts: dict[str, int]
    ) -> tuple[str, str]:
        """Change one cluster, and wait until the change is complete.

        Without --apply the change is only planned.

        :param counts: gets the number of machines that are gone
        :returns: result and detail
        """
        from magnum_capi_helm.model import call

        if late := self._too_late(options):
            return late
        try:
            change = self._plan(row, options)
            before = set(change.machines() if options.apply else ())
        except errors.CapiHelmError as error:
            return REFUSED, errors.explained(error)
        if not change.detail:
            return NOTHING, change.text
        if not options.apply:
            return WOULD, change.text
        # The plan may have taken a minute.
        if late := self._too_late(options):
            return late
        self.say(f"{row.name}: {change.text}")
        self._note(_line(row, "begun", change.text))
        result = CHANGED, change.text
        try:
            with call.logged(f"cluster {row.uuid}"):
                if left := change.make():
                    self.say(f"{row.name}: {left}")
            self._wait(row.name, change, options.timeout * 60)
        except errors.CapiHelmError as error:
            result = FAILED, errors.explained(error)
        with contextlib.suppress(errors.CapiHelmError):
            counts["machines"] = len(before.difference(change.machines()))
        return result

    def _too_late(self, options: argparse.Namespace) -> tuple[str, str] | None:
        """Return result and detail of a cluster that must not begin now."""
        if self._stopped.is_set():
            return NOT_TRIED, "another cluster failed before"
        begin, end = vars(options)["from"], options.to
        if not options.apply or is_open(begin, end, self.clock()):
            return None
        return POSTPONED, f"the window is {begin} to {end} UTC"

    def _note(self, line: Line, **more: int) -> None:
        """Append a line to the record, if there is one.

        :raises OSError: the file can't be written: nothing more begins
        """
        if self._record:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            text = json.dumps({"time": now, **line._asdict(), **more})
            with open(self._record, "a", encoding="utf-8") as file:
                file.write(f"{text}\n")

    def _wait(self, name: str, change: Change, seconds: float) -> None:
        """Wait until a change is complete; print what is left, once each.

        :raises CapiHelmError: the change failed, or takes too long
        """
        deadline = time.monotonic() + seconds
        said = ""
        while left := _unfinished(change):
            if left != said:
                self.say(f"{name}: {left}")
            said = left
            if time.monotonic() > deadline:
                raise errors.CapiHelmError(
                    f"not complete after {seconds / 60:.0f} minutes: {left}"
                )
            time.sleep(self.pause)


def _unfinished(change: Change) -> str:
    """Return the work that is left, or why it can't be read now."""
    try:
        return change.unfinished()
    except _PASSING as error:
        return str(error)


def _line(row: Any, result: str, detail: str = "") -> Line:
    return Line(row.name or "", row.uuid, row.project_id, result, detail)


def count_results(results: Sequence[str]) -> str:
    """Return how often each result occurs, as one line."""
    counts = collections.Counter(results).items()
    text = ", ".join(f"{count} {each}" for each, count in counts)
    return text or "no cluster was chosen"


def choose_clusters(parsed_args: argparse.Namespace) -> list[Any]:
    """Return the rows of the chosen clusters, each once, in a stable order.

    Of several, those in progress come first.

    A cluster that is being deleted is left out, unless it was named.

    :raises InvalidInput: none was chosen, or in more than one way, or one
        that does not exist or is of another driver
    """
    from magnum_capi_helm.database import rows

    named = list(dict.fromkeys(parsed_args.clusters))
    chosen = [bool(named), bool(parsed_args.project), parsed_args.every]
    if chosen.count(True) != 1:
        raise errors.InvalidInput(
            "give names or UUIDs of clusters, or --project ID, or --all: "
            "exactly one of the three"
        )
    if named:
        by_uuid = {row.uuid: row for row in map(base.find_cluster, named)}
        return list(by_uuid.values())
    clusters = rows.read_all(parsed_args.project, base.of_this_driver)
    staying = [
        row for row, _ in clusters if rows.action(row.status or "") != "DELETE"
    ]
    staying.sort(key=lambda row: (row.name or "", row.uuid))
    return sorted(staying, key=lambda row: not rows.in_progress(row.status))


def is_open(begin: str, end: str, now: str) -> bool:
    """Return whether a time is in a window; all three look like 22:00.

    A window that does not end after its begin goes past midnight.
    """
    return begin <= now < end if begin < end else not end <= now < begin
