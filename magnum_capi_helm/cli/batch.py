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
from collections.abc import Callable, Sequence
from concurrent import futures
import dataclasses
import datetime
import itertools
import threading
import time
from typing import Any, NamedTuple

from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import record
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import window

HEADER = ("Cluster", "UUID", "Project", "Result", "Detail")

NOTHING = "nothing to do"
WOULD = "would change"
CHANGED = "changed"
REFUSED = "refused"
FAILED = "failed"
NOT_TRIED = "not tried"
POSTPONED = "postponed"

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
    """

    detail: str = ""
    make: Callable[[], str | None] = lambda: None
    unfinished: Callable[[], str] = lambda: ""
    note: str = ""

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
    #: The hours in which clusters may begin; None: all.
    window: window.Window | None = None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the clusters, --apply, and the limits of a run.

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
        _add_limits(parser)

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
        self._begin(parsed_args)
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

    def _begin(self, parsed_args: argparse.Namespace) -> None:
        """Read the limits of this run, and open its record.

        :raises InvalidInput: half a window, an empty one, or a file that
            can't be written
        """
        begin, end = times = parsed_args.begin, parsed_args.end
        given = times != (None, None)
        if given and (None in times or begin == end):
            raise errors.InvalidInput(
                "give --from and --to with different times, or none of the two"
            )
        applied = parsed_args.apply
        if applied and given:
            self.window = window.Window(begin, end)
        self._record = record.Record(parsed_args.record if applied else None)
        self._stopped = threading.Event()

    def _change_all(
        self, rows: Sequence[Any], parsed_args: argparse.Namespace
    ) -> list[Line]:
        """Change the clusters, until too many fail or the window ends."""
        ended = itertools.count(1)
        failures = itertools.count(1)

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
        """Change one cluster, and wait until the change is complete.

        Without --apply the change is only planned.
        """
        from magnum_capi_helm.model import call

        if late := self._too_late(row):
            return late
        with call.acting(base.operator(self.action)):
            try:
                change = self._plan(row, parsed_args)
            except errors.CapiHelmError as error:
                return self._end(row, REFUSED, errors.explained(error))
            if not change.detail:
                return self._end(row, NOTHING, change.text)
            if not parsed_args.apply:
                return self._end(row, WOULD, change.text)
            # A plan may take a minute.
            return self._too_late(row) or self._complete(
                row, change, parsed_args.timeout * 60
            )

    def _too_late(self, row: Any) -> Line | None:
        """Return the line of a cluster that must not begin any more."""
        if self._stopped.is_set():
            return self._end(row, NOT_TRIED, "another cluster failed before")
        if self.window is None or self.minute() in self.window:
            return None
        return self._end(row, POSTPONED, f"the window is {self.window}")

    def minute(self) -> int:
        """Return the present minute of the day in UTC."""
        now = datetime.datetime.now(datetime.timezone.utc)
        return now.hour * 60 + now.minute

    def _complete(self, row: Any, change: Change, seconds: float) -> Line:
        """Make a change, and wait until it is complete.

        :param seconds: after which it counts as failed
        """
        from magnum_capi_helm.model import call

        self.say(f"{row.name}: {change.text}")
        before = self._record.machines(row)
        self._record.add(row, "begun", detail=change.text)
        began, result, detail = time.monotonic(), CHANGED, change.text
        try:
            with call.logged(f"cluster {row.uuid}"):
                if left := change.make():
                    self.say(f"{row.name}: {left}")
            self._wait(row.name, change, seconds)
        except errors.CapiHelmError as error:
            result, detail = FAILED, errors.explained(error)
        lasted = round(time.monotonic() - began)
        after = self._record.machines(row)
        replaced = (
            None if before is None or after is None else len(before - after)
        )
        return self._end(
            row, result, detail, seconds=lasted, machines_replaced=replaced
        )

    def _end(
        self, row: Any, result: str, detail: str = "", **facts: Any
    ) -> Line:
        """Return the line of a cluster, and record it.

        :param facts: more for the record
        """
        self._record.add(row, result, detail=detail, **facts)
        return Line(row.name or "", row.uuid, row.project_id, result, detail)

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


def count_results(results: Sequence[str]) -> str:
    """Return how often each result occurs, as one line."""
    counts = [
        f"{results.count(each)} {each}" for each in dict.fromkeys(results)
    ]
    return ", ".join(counts) or "no cluster was chosen"


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
    return sorted(
        staying,
        key=lambda row: (
            not rows.in_progress(row.status),
            row.name or "",
            row.uuid,
        ),
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a run, and its record."""
    parser.add_argument(
        "--parallel",
        type=base.positive,
        default=1,
        metavar="N",
        help="number of clusters that the command changes at a time "
        "(default: 1)",
    )
    parser.add_argument(
        "--timeout",
        type=base.positive,
        default=60,
        metavar="MINUTES",
        help="minutes after which a cluster that is not complete counts "
        "as failed (default: 60)",
    )
    parser.add_argument(
        "--stop-after",
        type=base.positive,
        default=1,
        metavar="N",
        help="number of failures after which the command begins no other "
        "cluster (default: 1)",
    )
    for name, dest, does in (
        ("--from", "begin", "begin clusters only from this time on"),
        ("--to", "end", "begin no cluster from this time on"),
    ):
        parser.add_argument(
            name,
            dest=dest,
            type=_minute,
            metavar="HH:MM",
            help=f"{does}, UTC, each day (default: begin at any time)",
        )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="with --apply: append a JSON line for the begin and for the end "
        "of each cluster's change to this file",
    )


def _minute(text: str) -> int:
    """Return the minute of the day of a time in UTC, for argparse."""
    try:
        return window.minute(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
