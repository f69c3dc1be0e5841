# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm management accept``: after a restore or a move."""

from __future__ import annotations

import argparse
from typing import Any

from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors


class Accept(fleet.Fleet):
    """Say that clusters are on the management cluster that is there now.

    After it was restored or rebuilt with another identity, or clusters were
    moved: recorded is the one that has the Cluster object. With --gone:
    nothing is there of a cluster that was, and that is right. Nothing is
    written without --apply, and nothing at all to a management cluster.
    """

    examples = ("management accept --all --apply",)

    action = "accept"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and what of them."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="the one that they are on now, of several (default: the "
            "only one that has them)",
        )
        parser.add_argument(
            "--gone",
            action="store_true",
            help="the clusters, which are to be named, are gone for good: "
            "their deletion may conclude",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Refuse what can't be meant."""
        from magnum_capi_helm import runtime

        if parsed_args.gone and not parsed_args.clusters:
            raise errors.InvalidInput(
                "--gone takes names or UUIDs of clusters, not --all or "
                "--project"
            )
        if parsed_args.management_cluster is not None:
            runtime.home_of(parsed_args.management_cluster)
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> fleet.Change:
        """Compare what is recorded with what is there."""
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.planes import acceptance

        if not row.stack_id:
            return fleet.Change()
        of = acceptance.of_gone if parsed_args.gone else acceptance.of_present
        found = of(row, parsed_args.management_cluster)
        return fleet.Change(
            found.detail,
            make=lambda: acceptance.accept(preview.context(), row, found),
        )
