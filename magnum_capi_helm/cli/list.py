# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm list``: all clusters, and orphans."""

from __future__ import annotations

import argparse
import dataclasses

from magnum_capi_helm.cli import base

#: Columns of a table, where the others have no room.
_SHOWN = ("Name", "Status", "Release", "Chart", "State", "Management cluster")


class List(base.Lister):
    """List all clusters, and releases without a cluster.

    The column State has "ok", or the difference between Magnum and the
    management cluster. A table has the most important columns. The option -c
    chooses columns, and -f json prints all columns. The command changes
    nothing.
    """

    empty = "there are no clusters"

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

    examples = ("list", "list --orphans -f json")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that choose lines."""
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="list only clusters on this management cluster",
        )
        parser.add_argument(
            "--project",
            metavar="ID",
            help="list only clusters of this project",
        )
        parser.add_argument(
            "--orphans",
            action="store_true",
            help="list only releases that have no cluster in Magnum",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Compare everything, and list the chosen lines."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.cli import inventory
        from magnum_capi_helm.database import inventory as comparison

        chosen = parsed_args.management_cluster
        if chosen is not None:
            runtime.settings_of(chosen)
        whole = inventory.read(parsed_args.project)
        lines = whole.lines
        if parsed_args.orphans:
            lines = [each for each in lines if each.orphan]
        lines += comparison.unreachable(whole.management_clusters, lines)
        if chosen is not None:
            lines = [e for e in lines if e.management_cluster == chosen]
        self.exit_code = int(any(e.state != comparison.OK for e in lines))
        if parsed_args.formatter == "table" and not parsed_args.columns:
            parsed_args.columns = [*_SHOWN]
        return self.HEADER, [dataclasses.astuple(each) for each in lines]
