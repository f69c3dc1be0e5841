# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm diff``: what would change, and which machines go."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.model import option_types

if TYPE_CHECKING:
    from magnum_capi_helm.chart import diff

#: Paths shown of one object; the rest is counted.
_SHOWN = 4


class Diff(base.Lister):
    """Show what the next operation would change, machines above all.

    Without options that is what a resize would apply. With --template or
    --chart-version it is what an upgrade would change. Nothing is written.
    """

    examples = (
        "diff my-cluster",
        "diff my-cluster --chart-version 0.27.0",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The cluster, and what it would be moved to."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_cluster(parser)
        parser.add_argument(
            "--chart-version",
            metavar="V",
            type=option_types.Version(),
            help="compare with that version of the chart",
        )
        parser.add_argument(
            "--template",
            metavar="T",
            help="compare with that cluster template (name or UUID)",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Compare with what is installed."""
        from magnum_capi_helm.cmd import choice
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.planes import places

        row = choice.find(parsed_args.cluster)
        rt = places.find(row)
        wanted = preview.upgraded(
            rt, row, parsed_args.template, parsed_args.chart_version
        )
        found = preview.changes(rt, wanted)
        self.app.stderr.write(f"{summary(found)}\n")
        return table(found)


def table(
    found: Sequence[diff.Change],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The changes, as cliff lists them."""
    header = ("Object", "Change", "Machines replaced", "What")
    return header, [_row(each) for each in found]


def summary(found: Sequence[diff.Change]) -> str:
    """How much changes, in a few words."""
    replaced = sum(each.replaced for each in found)
    if not found:
        return "nothing changes; no machine is replaced"
    return f"{_count(len(found), 'object')} to change; " + (
        f"{_count(replaced, 'machine')} to be replaced"
        if replaced
        else "no machine is replaced"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _row(change: diff.Change) -> tuple[str, ...]:
    more = len(change.paths) - _SHOWN
    shown = ", ".join(change.paths[:_SHOWN])
    return (
        f"{change.kind} {change.name}",
        change.what,
        str(change.replaced or "-"),
        f"{shown} and {more} more" if more > 0 else shown,
    )
