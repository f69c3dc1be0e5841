# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm describe``: a cluster as a tree."""

from __future__ import annotations

import argparse

from magnum_capi_helm.cli import base

TREE = "tree"


class Describe(base.Command):
    """Show a cluster as a tree of objects, with their states and reasons.

    The tree has helm's release, the Cluster with its network, control plane,
    nodegroups, machines, nodes and addons, the Lease and the application
    credential. The first line has the driver's summary; the reason stands at
    the lowest object that is not ready. The command changes nothing. The exit
    code is 0 if everything is ready, otherwise 1.
    """

    examples = (
        "describe my-cluster",
        "describe my-cluster -f json",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the cluster, and the format."""
        base.add_cluster(parser)
        parser.add_argument(
            "-f",
            "--format",
            choices=(TREE, "json", "yaml"),
            default=TREE,
            help="output format (default: %(default)s)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Read the cluster, and print its tree."""
        from magnum_capi_helm.cli import tree_output
        from magnum_capi_helm.lifecycle import describe

        row = base.find_cluster(parsed_args.cluster)
        root = describe.describe(row)
        if root is None:
            self.say(f"{row.name} is gone")
            return 0
        if parsed_args.format == TREE:
            tree_output.draw(root, self.app.stdout)
        else:
            text = tree_output.format_tree(root, parsed_args.format)
            self.app.stdout.write(text)
        return int(not root.well)
