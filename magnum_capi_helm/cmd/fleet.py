# SPDX-License-Identifier: Apache-2.0

"""What all commands have in common that change many clusters.

First it is shown what would change; nothing is written without ``--apply``.
Clusters are changed one after the other, or so many at a time, in an order
that stays; after the first failure no other one is begun. One that is refused,
with nothing written, keeps no other one from its change. Whoever is stopped
half way runs the same command again: what is done already has nothing to do.
"""

from __future__ import annotations

import abc
import argparse
from collections.abc import Callable, Sequence
from concurrent import futures
import dataclasses
import getpass
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.model import audit

HEADER = ("Cluster", "UUID", "Project", "Result", "Detail")

NOTHING = "nothing to do"
WOULD = "would change"
CHANGED = "changed"
REFUSED = "refused"
FAILED = "failed"
NOT_TRIED = "not tried"

#: Seconds between two looks at a change that goes on.
_PAUSE = 5.0

#: What passes by itself, and says nothing of a change that was made. A freeze,
#: or a management cluster that is another one, takes somebody to end it.
_PASSING = (
    errors.CloudUnreachable,
    errors.ManagementUnreachable,
    errors.Conflict,
    errors.LeaseHeld,
)


@dataclasses.dataclass(frozen=True)
class Change:
    """What a command would do with one cluster.

    :param detail: says it; empty: nothing
    :param make: does it, under the Lease where that is needed; returns when
        nothing is lost any more
    :param going_on: what is still to come, as one line; empty: it is done.
        Raises when it failed
    :param note: what to know of the cluster, whether or not it is changed
    """

    detail: str = ""
    make: Callable[[], None] = lambda: None
    going_on: Callable[[], str] = lambda: ""
    note: str = ""

    @property
    def told(self) -> str:
        """What its line says."""
        return "; ".join(filter(None, (self.detail, self.note)))


@dataclasses.dataclass(frozen=True)
class Line:
    """What became of one cluster."""

    name: str
    uuid: str
    project: str
    result: str
    detail: str = ""


class Fleet(base.Lister, abc.ABC):
    """A command that changes many clusters."""

    #: As logs and helm's history call it.
    action: str
    #: Seconds between two looks; tests have no time.
    pause = _PAUSE

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, whether to change them, and how many at a time."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        self.add_choice(parser)
        arguments.add_apply(
            parser, "make the changes (default: only show them)"
        )
        parser.add_argument(
            "--at-a-time",
            type=arguments.positive,
            default=1,
            metavar="N",
            help="change so many clusters at a time (default: 1)",
        )
        parser.add_argument(
            "--patience",
            type=arguments.positive,
            default=60,
            metavar="MINUTES",
            help="how long one may take before it counts as failed "
            "(default: 60)",
        )
        return parser

    def add_choice(self, parser: argparse.ArgumentParser) -> None:
        """The arguments that choose clusters."""
        arguments.add_clusters(parser)

    def chosen(self, parsed_args: argparse.Namespace) -> Sequence[Any]:
        """The clusters that they choose, with what a line says of each."""
        from magnum_capi_helm.cmd import choice

        return choice.clusters(parsed_args)

    @abc.abstractmethod
    def plan(self, row: Any, parsed_args: argparse.Namespace) -> Change:
        """What there is to do for one cluster; nothing is written.

        :raises CapiHelmError: it can't be done: the line says why
        """

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Show, or make, all changes."""
        rows = self.chosen(parsed_args)
        if parsed_args.apply:
            self._lines = self._all(rows, parsed_args)
        else:
            self._lines = [self._shown(row, parsed_args) for row in rows]
        counts = [
            f"{sum(each.result == result for each in self._lines)} {result}"
            for result in dict.fromkeys(each.result for each in self._lines)
        ]
        self._say(", ".join(counts) or "no cluster was chosen")
        if any(each.result == WOULD for each in self._lines):
            self._say("nothing was written: --apply makes these changes")
        return HEADER, [dataclasses.astuple(each) for each in self._lines]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything was refused, failed or not tried."""
        super().run(parsed_args)
        good = (NOTHING, WOULD, CHANGED)
        return int(any(each.result not in good for each in self._lines))

    def _shown(self, row: Any, parsed_args: argparse.Namespace) -> Line:
        try:
            found = self.plan(row, parsed_args)
        except errors.CapiHelmError as error:
            return _line(row, REFUSED, str(error))
        return _line(row, WOULD if found.detail else NOTHING, found.told)

    def _all(
        self, rows: Sequence[Any], parsed_args: argparse.Namespace
    ) -> list[Line]:
        """Change them, until one fails."""
        stopped = threading.Event()

        def change(row: Any) -> Line:
            if stopped.is_set():
                return _line(row, NOT_TRIED, "another one failed before")
            try:
                found = self._one(row, parsed_args)
            except BaseException:
                stopped.set()
                raise
            if found.result == FAILED:
                stopped.set()
            self._say(f"{found.name}: {found.result} {found.detail}".strip())
            return found

        with futures.ThreadPoolExecutor(parsed_args.at_a_time) as pool:
            return list(pool.map(change, rows))

    def _one(self, row: Any, parsed_args: argparse.Namespace) -> Line:
        """Change one, and wait until it is done."""
        from magnum_capi_helm.model import audit

        with audit.acting(operator(self.action)):
            try:
                found = self.plan(row, parsed_args)
            except errors.CapiHelmError as error:
                return _line(row, REFUSED, str(error))
            if not found.detail:
                return _line(row, NOTHING, found.told)
            try:
                with audit.noted(row.uuid):
                    found.make()
                self._wait(found, parsed_args.patience * 60)
            except errors.CapiHelmError as error:
                return _line(row, FAILED, str(error))
        return _line(row, CHANGED, found.told)

    def _wait(self, found: Change, seconds: float) -> None:
        over = time.monotonic() + seconds
        while left := _left(found):
            if time.monotonic() > over:
                raise errors.CapiHelmError(
                    f"not done within {seconds / 60:.0f} minutes: {left}"
                )
            time.sleep(self.pause)

    def _say(self, text: str) -> None:
        self.app.stderr.write(f"{text}\n")


def _left(found: Change) -> str:
    """What is still to come, or why nobody can say it at this moment."""
    try:
        return found.going_on()
    except _PASSING as error:
        return str(error)


def operator(action: str) -> audit.Actor:
    """Whoever is at this shell."""
    from magnum_capi_helm.model import audit

    name = os.environ.get("SUDO_USER") or _login()
    return audit.Actor(action, user=f"{name}@{socket.gethostname()}")


def _login() -> str:
    """The user's name; in a container nobody may have given it one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _line(row: Any, result: str, detail: str = "") -> Line:
    return Line(row.name or "", row.uuid, row.project_id, result, detail)
