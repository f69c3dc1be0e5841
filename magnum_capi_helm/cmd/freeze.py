# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm freeze`` and ``thaw``: maintenance of a management
cluster.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import datetime
import time
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm import runtime

HEADER = (
    "Management cluster",
    "State",
    "Since",
    "By",
    "Reason",
    "Still at work",
)

_NOBODY = "nobody"


class _Command(base.Lister):
    """What both have in common."""

    #: Seconds between two looks; tests have no time.
    pause = 2.0

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which management cluster, and whether to write."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="which one, where there are several",
        )
        arguments.add_apply(parser, "do it (default: only show how it is now)")
        return parser

    def _line(
        self, rt: runtime.Runtime, at_work: str = ""
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """How it is now."""
        from magnum_capi_helm.management import anchor

        found = rt.anchor.read().freeze or anchor.Freeze("")
        state = "frozen" if rt.anchor.read().freeze else "open"
        since = ""
        if found.since > 0:
            moment = datetime.datetime.fromtimestamp(
                found.since, datetime.timezone.utc
            )
            since = moment.isoformat(timespec="seconds")
        line = rt.home.name, state, since, found.by, found.reason, at_work
        return HEADER, [line]

    def _say(self, text: str) -> None:
        self.app.stderr.write(f"{text}\n")


class Freeze(_Command):
    """Let nothing begin on a management cluster: it is in maintenance.

    Requests that would change its clusters are refused with the reason;
    deletions wait; polls only read, and no operation runs out of time. What
    is under way gets to its end: the command waits for that. Nothing is
    written without --apply.
    """

    examples = ('freeze --reason "etcd is being upgraded" --apply',)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Why, and how long to wait for what is under way."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--reason",
            required=True,
            metavar="TEXT",
            help="what the users of its clusters read",
        )
        parser.add_argument(
            "--patience",
            type=arguments.positive,
            default=10,
            metavar="MINUTES",
            help="how long to wait for what is under way (default: 10)",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Freeze it, and wait until all is quiet."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.management import anchor
        from magnum_capi_helm.planes import maintenance

        anchor.check_reason(parsed_args.reason)
        rt = runtime.get(chosen(parsed_args.management_cluster))
        self._left: list[str] = []
        if not parsed_args.apply:
            self._say("nothing was written: --apply freezes it")
            return self._line(rt, ", ".join(maintenance.at_work(rt)))
        with _told(rt, "freeze") as by:
            rt.anchor.freeze(parsed_args.reason, by, time.time())
        seconds = parsed_args.patience * 60
        for found in maintenance.settle(rt, seconds, self.pause):
            if found != self._left:
                self._say(f"still at work: {', '.join(found) or _NOBODY}")
            self._left = found
        return self._line(rt, ", ".join(self._left) or _NOBODY)

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when somebody is still at work."""
        super().run(parsed_args)
        return int(bool(self._left))


class Thaw(_Command):
    """End a maintenance: all goes on where it stopped.

    The time of it does not count against any operation. Nothing is written
    without --apply.
    """

    examples = ("thaw --apply",)

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Thaw it; one that is not frozen is fine."""
        from magnum_capi_helm import runtime

        rt = runtime.get(chosen(parsed_args.management_cluster))
        if parsed_args.apply:
            with _told(rt, "thaw"):
                rt.anchor.thaw(time.time())
        else:
            self._say("nothing was written: --apply thaws it")
        return self._line(rt)


@contextlib.contextmanager
def _told(rt: runtime.Runtime, action: str) -> Iterator[str]:
    """Log who did it; whoever has one management cluster gave it no name."""
    from magnum_capi_helm.model import audit

    who = fleet.operator(action)
    subject = f"management cluster {rt.home.name}".rstrip()
    with audit.acting(who), audit.told(subject):
        yield who.user


def chosen(name: str | None) -> str:
    """The name of the management cluster that is meant.

    :raises InvalidInput: there are several, and none was given
    :raises NotConfigured: there is none of that name
    """
    from magnum_capi_helm import runtime

    if name is not None:
        return runtime.home_of(name).name
    found = runtime.names()
    if len(found) > 1:
        raise errors.InvalidInput(
            f"give --management-cluster, one of {', '.join(found)}"
        )
    return found[0]
