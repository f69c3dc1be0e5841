# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm describe``: a cluster as a tree."""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import TYPE_CHECKING

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.status import tree

TREE = "tree"


class Describe(base.Command):
    """Show a cluster as a tree of objects, with their states and reasons.

    The tree has helm's release, the Cluster with its network, control plane,
    nodegroups, machines, nodes and addons, the Lease and the application
    credential. The first line has the driver's summary; the reason stands at
    the lowest object that is not ready.

    With --watch, the command reads the cluster again and again until Ctrl-C.
    On a terminal, the command updates the tree in place. Into a file, the
    command writes a new tree when something has changed. The command changes
    nothing. The exit code is 0 if everything was ready at the last read,
    otherwise 1.
    """

    examples = (
        "describe my-cluster",
        "describe my-cluster --watch",
        "describe my-cluster -f json",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the cluster, the format and --watch."""
        base.add_cluster(parser)
        parser.add_argument(
            "-f",
            "--format",
            choices=(TREE, "json", "yaml"),
            default=TREE,
            help="output format (default: %(default)s)",
        )
        parser.add_argument(
            "--watch",
            action="store_true",
            help="continue until Ctrl-C, or until the cluster is gone",
        )
        parser.add_argument(
            "--interval",
            type=base.positive,
            default=5,
            metavar="SECONDS",
            help="seconds between two reads of --watch (default: %(default)s)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Read the cluster once, or until Ctrl-C."""
        from magnum_capi_helm.lifecycle import describe

        row = base.find_cluster(parsed_args.cluster)
        self._describer = describe.Describer(row)
        self._last: tree.Branch | None = None
        if parsed_args.watch:
            with contextlib.suppress(KeyboardInterrupt):
                self._watch(parsed_args.format, parsed_args.interval)
        else:
            self._last = self._describer.read()
            self._print(parsed_args.format)
        # A cluster that is gone has nothing that is not ready.
        return int(self._last is not None and not self._last.well)

    def _watch(self, form: str, interval: int) -> None:
        """Print the tree of each look: in place, or if it has changed."""
        from magnum_capi_helm.cli import tree_output

        stdout = self.app.stdout
        in_place = form == TREE and stdout.isatty()
        while True:
            before = self._last
            if (root := self._look()) is None:
                return
            if in_place:
                tree_output.redraw(root, stdout)
            elif root != before:
                self._print(form)
                stdout.flush()
            self._pause(interval)

    def _look(self) -> tree.Branch | None:
        """Read the cluster; show an error, since the next look may succeed."""
        from magnum_capi_helm.status import tree

        try:
            self._last = self._describer.read()
        except errors.CapiHelmError as error:
            self._last = tree.Branch(
                "cluster",
                self._describer.name,
                tree.State.UNKNOWN,
                reason=tree.Reason(errors.explained(error)),
            )
        if self._last is None:
            self.say(f"{self._describer.name} is gone")
        return self._last

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _print(self, form: str) -> None:
        from magnum_capi_helm.cli import tree_output

        if self._last is None:
            return
        if form == TREE:
            tree_output.draw(self._last, self.app.stdout)
        else:
            self.app.stdout.write(tree_output.format_tree(self._last, form))
