# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm list``: rows, and what there is of them."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.cmd import staleness

HEADER = (
    "Name",
    "UUID",
    "Project",
    "Status",
    "Management cluster",
    "Release",
    "Chart",
    "Kubernetes",
    "Revision",
    "State",
)


class List(base.Lister):
    """List all clusters, and releases that are none.

    State is "ok", or says where Magnum and the management cluster differ.
    With --user, a column says whose application credential a cluster uses.
    Nothing is written.
    """

    examples = (
        "list",
        "list --orphans -f json",
        "list --user ann -c Name -c Credential",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which of them."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="those on that management cluster alone",
        )
        parser.add_argument(
            "--project", metavar="ID", help="those of that project alone"
        )
        parser.add_argument(
            "--user",
            metavar="USER",
            help="what breaks when that user goes: those that are the user's, "
            "or use the user's application credential; a name or an id",
        )
        parser.add_argument(
            "--orphans",
            action="store_true",
            help="only what Magnum has no cluster for",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Compare everything, and show what was asked for."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.cmd import census
        from magnum_capi_helm.cmd import owners
        from magnum_capi_helm.database import inventory

        chosen = parsed_args.management_cluster
        if chosen is not None:
            runtime.home_of(chosen)
        known, lines, planes = census.take(parsed_args.project, self._cloud())
        theirs: dict[str, str] | None = None
        if parsed_args.user is not None:
            theirs = owners.of_user(parsed_args.user, known, lines, planes)
            lines = [each for each in lines if each.uuid in theirs]
        if chosen is not None:
            lines = [each for each in lines if each.plane == chosen]
            planes = [each for each in planes if each.name == chosen]
        if parsed_args.orphans:
            lines = [each for each in lines if each.orphan]
        self._lines = lines + inventory.silent(planes, lines)
        found = [dataclasses.astuple(each) for each in self._lines]
        if theirs is None:
            return HEADER, found
        words = [theirs.get(each.uuid, "") for each in self._lines]
        return (
            (*HEADER, "Credential"),
            [(*each, word) for each, word in zip(found, words, strict=True)],
        )

    def _cloud(self) -> staleness.Cloud | None:
        """What new clusters get; None: not known."""
        from magnum_capi_helm.cmd import staleness

        try:
            return staleness.cloud()
        except errors.CapiHelmError as error:
            self.app.stderr.write(
                f"whether credentials are stale is not known: {error}\n"
            )
            return None

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything is not ok."""
        from magnum_capi_helm.database import inventory

        super().run(parsed_args)
        return int(any(each.state != inventory.OK for each in self._lines))
