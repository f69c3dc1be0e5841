# SPDX-License-Identifier: Apache-2.0

"""Commands that change many clusters, one after the other or a few at once.

Without ``--apply`` they only show what they would change. After the first
failure no further cluster is begun. Run an interrupted command again: a
cluster that it has changed already has nothing to do.
"""

from __future__ import annotations

import abc
import argparse
from collections.abc import Callable, Sequence
from concurrent import futures
import dataclasses
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

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the clusters, --apply, --parallel and --timeout.

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
        rows = choose_clusters(parsed_args)
        if parsed_args.apply:
            lines = self._change_all(rows, parsed_args)
        else:
            lines = [self._change(row, parsed_args) for row in rows]
        results = [each.result for each in lines]
        self.say(count_results(results))
        if WOULD in results:
            self.say("nothing was written: add --apply to make these changes")
        good = {NOTHING, WOULD, CHANGED}
        self.exit_code = int(not good.issuperset(results))
        return HEADER, lines

    def _change_all(
        self, rows: Sequence[Any], parsed_args: argparse.Namespace
    ) -> list[Line]:
        """Change the clusters, until one fails."""
        stopped = threading.Event()

        def change(row: Any) -> Line:
            if stopped.is_set():
                return _line(row, NOT_TRIED, "another cluster failed before")
            try:
                line = self._change(row, parsed_args)
            except BaseException:
                stopped.set()
                raise
            if line.result == FAILED:
                stopped.set()
            self.say(f"{line.name}: {line.result} {line.detail}".strip())
            return line

        with futures.ThreadPoolExecutor(parsed_args.parallel) as pool:
            return list(pool.map(change, rows))

    def _change(self, row: Any, parsed_args: argparse.Namespace) -> Line:
        """Change one cluster, and wait until the change is complete.

        Without --apply the change is only planned.
        """
        from magnum_capi_helm.model import call

        with call.acting(base.operator(self.action)):
            try:
                change = self._plan(row, parsed_args)
            except errors.CapiHelmError as error:
                return _line(row, REFUSED, errors.explained(error))
            if not change.detail:
                return _line(row, NOTHING, change.text)
            if not parsed_args.apply:
                return _line(row, WOULD, change.text)
            self.say(f"{row.name}: {change.text}")
            try:
                with call.logged(f"cluster {row.uuid}"):
                    if left := change.make():
                        self.say(f"{row.name}: {left}")
                self._wait(row.name, change, parsed_args.timeout * 60)
            except errors.CapiHelmError as error:
                return _line(row, FAILED, errors.explained(error))
        return _line(row, CHANGED, change.text)

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
    counts = [
        f"{results.count(each)} {each}" for each in dict.fromkeys(results)
    ]
    return ", ".join(counts) or "no cluster was chosen"


def choose_clusters(parsed_args: argparse.Namespace) -> list[Any]:
    """Return the rows of the chosen clusters, each once, in a stable order.

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
    return sorted(staying, key=lambda row: (row.name or "", row.uuid))
