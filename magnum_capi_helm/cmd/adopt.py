# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm adopt``: what a swap of 1.4.0 would meet."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import base
from magnum_capi_helm.swap import finding

if TYPE_CHECKING:
    from magnum_capi_helm.swap import evidence

HEADER = ("Project", "Name", "UUID", "Level", "About", "What", "To do")


class Adopt(base.Lister):
    """Report what to know of each cluster before 1.4.0 is swapped.

    One line for each finding: "act" needs the operator, "note" is good to
    know. It runs beside a Magnum that runs 1.4.0, in an environment of its
    own, and writes nothing.
    """

    examples = ("adopt --report -f json",)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Whose clusters, and which lines."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--report",
            action="store_true",
            required=True,
            help="report, and write nothing: all that there is so far",
        )
        add_choices(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[finding.Line]]:
        """Read everything once, and judge."""
        self._lines = report(parsed_args.project)
        self.app.stderr.write(f"{finding.summary(self._lines)}\n")
        return HEADER, chosen(self._lines, parsed_args)

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything needs the operator."""
        super().run(parsed_args)
        return code(self._lines)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """The options of whatever lists findings."""
    parser.add_argument(
        "--project", metavar="ID", help="the clusters of that project alone"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--all",
        action="store_true",
        help="list what is well, too: charts, ages, API versions",
    )
    which.add_argument(
        "--to-do",
        action="store_true",
        help="list only what needs the operator",
    )


def chosen(
    lines: Iterable[finding.Line], parsed_args: argparse.Namespace
) -> list[finding.Line]:
    """The lines that were asked for; one for each cluster, at least."""
    if parsed_args.all:
        return list(lines)
    if parsed_args.to_do:
        return [each for each in lines if each.level == finding.ACT]
    return [
        each
        for each in lines
        if each.level != finding.OK or each.about == "status"
    ]


def code(lines: Iterable[finding.Line]) -> int:
    """The exit code: 0 where nothing needs the operator."""
    return int(any(each.level == finding.ACT for each in lines))


def line(
    subject: evidence.Subject | None, found: finding.Finding
) -> finding.Line:
    """A finding as it is listed; None: it is of no cluster."""
    whose = (
        (subject.project, subject.name, subject.uuid)
        if subject
        else ("", "", "")
    )
    return finding.Line(
        *whose, found.level, found.about, found.what, found.remedy
    )


def silences(around: evidence.Surroundings) -> list[finding.Line]:
    """What could not be read, and is in no other line therefore."""
    return [
        line(
            None,
            finding.Finding(
                finding.ACT, "unread", each, "make the report again"
            ),
        )
        for each in around.silences
    ]


def report(project: str | None) -> list[finding.Line]:
    """All findings about a swap.

    :param project: whose clusters; None: everybody's
    """
    from magnum_capi_helm import driver
    from magnum_capi_helm.swap import ahead
    from magnum_capi_helm.swap import witnesses

    found = witnesses.subjects(project, driver.Driver().provides)
    around = witnesses.surroundings(found, whole=True)
    lines = [
        line(subject, each)
        for subject in found
        for each in ahead.findings(subject, around)
    ]
    return silences(around) + lines
