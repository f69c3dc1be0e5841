# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm list``: all clusters, and orphans."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.cli import inventory


#: Columns of a table, where the others have no room.
_SHOWN = ("Name", "Status", "Release", "Chart", "State")


class List(base.Lister):
    """List all clusters, and releases without a cluster.

    The column State has "ok", or the difference between Magnum and the
    management cluster. With --user, the column Credential has the owner of
    each cluster's application credential. A table has the most important
    columns. The option -c chooses columns, and -f json prints all columns. The
    command changes nothing.
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

    examples = (
        "list",
        "list --orphans -f json",
        "list --user ann -c Name -c Credential",
    )

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
            "--user",
            metavar="USER",
            help="list only clusters that break without this user (a name or "
            "an ID): the user's own clusters, and others that use the user's "
            "application credential",
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
        whole = inventory.read(
            parsed_args.project,
            self._cloud_settings(),
            owners=parsed_args.user is not None,
        )
        owners: dict[str, str] | None = None
        if parsed_args.user is not None:
            owners = inventory.credentials_of(parsed_args.user, whole)
        if chosen is not None:
            whole = whole.on([chosen])
        lines = [
            each
            for each in whole.lines
            if (owners is None or each.uuid in owners)
            and (each.orphan or not parsed_args.orphans)
        ]
        lines += comparison.unreachable(whole.management_clusters, lines)
        self.exit_code = int(
            any(each.state != comparison.OK for each in lines)
        )
        if parsed_args.formatter == "table" and not parsed_args.columns:
            more = "Management cluster" if owners is None else "Credential"
            parsed_args.columns = [*_SHOWN, more]
        table = [dataclasses.astuple(each) for each in lines]
        if owners is None:
            return self.HEADER, table
        return (*self.HEADER, "Credential"), [
            (*values, owners.get(line.uuid, ""))
            for line, values in zip(lines, table, strict=True)
        ]

    def _cloud_settings(self) -> inventory.CloudSettings | None:
        """Return the settings that new clusters get; None: not known."""
        from magnum_capi_helm.cli import inventory

        try:
            return inventory.cloud_settings()
        except errors.CapiHelmError as error:
            self.say(f"stale credentials are not shown: {error}")
            return None
