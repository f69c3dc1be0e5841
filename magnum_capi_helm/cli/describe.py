# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm describe``: a cluster as a tree."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import signal
import time
from types import FrameType
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
            ctrl_c = CtrlC()
            with ctrl_c.ends_block():
                self._watch(parsed_args, ctrl_c)
        else:
            self._last = self._describer.read()
            self._print(parsed_args.format)
        # A cluster that is gone has nothing that is not ready.
        return int(self._last is not None and not self._last.well)

    def _watch(self, parsed_args: argparse.Namespace, ctrl_c: CtrlC) -> None:
        from magnum_capi_helm.cli import tree_output

        if parsed_args.format != TREE or not self.app.stdout.isatty():
            while not ctrl_c.pressed and self._print_news(parsed_args.format):
                self._pause(parsed_args.interval)
            return
        with tree_output.live_screen(self.app.stdout) as screen:
            while not ctrl_c.pressed and (root := self._look()) is not None:
                drawn = tree_output.fit(root, screen.console)
                # rich could not clear a tree that is half drawn.
                with ctrl_c.held():
                    screen.update(drawn, refresh=True)
                self._pause(parsed_args.interval)

    def _print_news(self, form: str) -> bool:
        """Print the tree if it has changed; return False when it is gone."""
        before = self._last
        if self._look() is None:
            return False
        if self._last != before:
            self._print(form)
            self.app.stdout.flush()
        return True

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


class CtrlC:
    """Notice Ctrl-C, in the main thread.

    The exception alone is not enough: a library may run code that swallows
    exceptions.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._held = False

    @contextlib.contextmanager
    def ends_block(self) -> Iterator[None]:
        """End the block at Ctrl-C.

        A background process of a shell ignores Ctrl-C, and continues to.
        """
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Finish the block before Ctrl-C takes effect.

        :raises KeyboardInterrupt: Ctrl-C was pressed in the block
        """
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self.pressed:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if not self._held:
            raise KeyboardInterrupt
