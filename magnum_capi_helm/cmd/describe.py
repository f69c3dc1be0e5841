# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm describe``: a cluster as Cluster API sees it."""

from __future__ import annotations

import argparse
import time

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import ctrl_c
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import branch

TREE = "tree"
FORMATS = (TREE, "json", "yaml")


class Describe(base.Command):
    """Show a cluster as a tree: what is ready, what is not, and why.

    Helm's release, the Cluster with its network, control plane, nodegroups,
    machines, nodes and addons, the Lease and the application credential. The
    reason stands at the lowest part that is not ready; the first line has
    what the driver says. With --watch it is looked at again and again: a
    terminal is brought up to date in place, and anything else gets another
    tree when something has changed. Ctrl-C ends that. Nothing is written.
    The exit code is 0 when all was ready at the last look, else 1.
    """

    examples = (
        "describe my-cluster",
        "describe my-cluster --watch",
        "describe my-cluster -f json",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which cluster, and how it is shown."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_cluster(parser)
        parser.add_argument(
            "-f",
            "--format",
            choices=FORMATS,
            default=TREE,
            help="how to print it (default: %(default)s)",
        )
        parser.add_argument(
            "--watch",
            action="store_true",
            help="go on until Ctrl-C, or until the cluster is gone",
        )
        parser.add_argument(
            "--interval",
            type=arguments.positive,
            default=5,
            metavar="SECONDS",
            help="between two looks of --watch (default: %(default)s)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Look once, or until somebody has seen enough."""
        from magnum_capi_helm.cmd import choice
        from magnum_capi_helm.lifecycle import describe

        row = choice.find(parsed_args.cluster)
        self._sitter = describe.Sitter(row)
        self._last: branch.Branch | None = None
        if not parsed_args.watch:
            self._last = self._sitter.look()
            self._print(parsed_args.format)
            return self._code()
        # It is how this command ends.
        with ctrl_c.CtrlC() as end:
            self._watch(parsed_args, end)
        return self._code()

    def _watch(
        self, parsed_args: argparse.Namespace, end: ctrl_c.CtrlC
    ) -> None:
        from magnum_capi_helm.cmd import leaves

        if not self._on_terminal(parsed_args.format):
            while not end.pressed and self._changed(parsed_args.format):
                self._pause(parsed_args.interval)
            return
        with leaves.moving(self.app.stdout) as screen:
            while not end.pressed and (found := self._looked()) is not None:
                tree = leaves.fitting(found, screen.console)
                # One that is half drawn would be cleared away wrongly.
                with end.held():
                    screen.update(tree, refresh=True)
                self._pause(parsed_args.interval)

    def _changed(self, form: str) -> bool:
        """Look, and print what is new; whether there is anything left."""
        before = self._last
        if self._looked() is None:
            return False
        if self._last != before:
            self._print(form)
            self.app.stdout.flush()
        return True

    def _looked(self) -> branch.Branch | None:
        """Look; one that failed is shown, and the next one may not."""
        try:
            self._last = self._sitter.look()
        except errors.CapiHelmError as error:
            self._last = branch.Branch(
                "cluster",
                self._sitter.name,
                branch.State.UNKNOWN,
                reason=str(error),
            )
        if self._last is None:
            self.app.stderr.write(f"{self._sitter.name} is gone\n")
        return self._last

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _print(self, form: str) -> None:
        from magnum_capi_helm.cmd import leaves

        if self._last is None:
            return
        if self._on_terminal(form):
            leaves.draw(self._last, self.app.stdout)
        else:
            self.app.stdout.write(leaves.shown(self._last, form))

    def _on_terminal(self, form: str) -> bool:
        return form == TREE and self.app.stdout.isatty()

    def _code(self) -> int:
        """Of the last look; one that is gone was waited for."""
        return int(self._last is not None and not self._last.well)
