# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm rollback``: back to before an upgrade that failed."""

from __future__ import annotations

import argparse

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import diff
from magnum_capi_helm.cmd import fleet


class Rollback(base.Lister):
    """Take back the last upgrade of a cluster, when it failed.

    Chart, values, template, images and flavors become what they were; counts
    stay. The objects that change are listed, and nothing is written without
    --apply. The polls of Magnum finish it: watch the cluster's status.
    """

    examples = (
        "rollback my-cluster",
        "rollback my-cluster --apply",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The cluster."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_cluster(parser)
        arguments.add_apply(
            parser, "go back (default: only show what would change)"
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Compare with what is installed, then go back."""
        from magnum_capi_helm.cmd import choice
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.lifecycle import rollback
        from magnum_capi_helm.model import audit
        from magnum_capi_helm.planes import places

        row = choice.find(parsed_args.cluster)
        rt = places.checked(row)
        wanted = preview.of_intent(row, rollback.plan_back(rt, row))
        found = preview.changes(rt, wanted)
        text = "nothing was written: --apply goes back"
        if parsed_args.apply:
            with (
                audit.acting(fleet.operator("rollback")),
                audit.noted(row.uuid),
            ):
                left = rollback.apply(rt, preview.context(), row)
            text = f"accepted; the polls go on: {left}" if left else "accepted"
        self.app.stderr.write(f"{diff.summary(found)}: {text}\n")
        return diff.table(found)
