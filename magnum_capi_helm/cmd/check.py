# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check``: would a create work on this host?

And with ``--rollback``: what would 1.4.0 break?
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses

from magnum_capi_helm.cmd import adopt
from magnum_capi_helm.cmd import base
from magnum_capi_helm.model import errors
from magnum_capi_helm.swap import finding


class Check(base.Lister):
    """Check configuration, management cluster, helm, chart and cloud.

    One line each; for what fails, what to do; and the versions that run
    beside those that the configured chart was tested with. Where there are
    several management clusters, a column says which one. With --target,
    before one is upgraded: releases that need something first.
    """

    configuration = base.Configuration.OPTIONAL

    examples = (
        "check",
        "check -f json",
        "check --target capi=1.14,capo=0.14",
        "check --rollback --to-do",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which management clusters."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--management-cluster",
            action="append",
            metavar="NAME",
            help="look at that management cluster alone, may be given more "
            "than once (default: at all)",
        )
        modes = parser.add_mutually_exclusive_group()
        modes.add_argument(
            "--target",
            metavar="VERSIONS",
            help="list the releases that a management cluster of these "
            "versions would strand: capi=1.14,capo=0.14, or API versions "
            "such as cluster.x-k8s.io/v1beta2, or 'now'",
        )
        modes.add_argument(
            "--rollback",
            action="store_true",
            help="list what 1.4.0 would break, cluster by cluster, and what "
            "prevents it",
        )
        adopt.add_choices(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Look at everything."""
        from magnum_capi_helm import runtime

        if parsed_args.rollback:
            return self._rollback(parsed_args)
        if parsed_args.project or parsed_args.all or parsed_args.to_do:
            raise errors.InvalidInput(
                "--project, --all and --to-do are for --rollback: give it, "
                "or leave them away"
            )
        if parsed_args.target is not None:
            chosen = parsed_args.management_cluster or runtime.names()
            return self._target(parsed_args.target, chosen)
        return self._checked(parsed_args)

    def _rollback(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[finding.Line]]:
        """List what 1.4.0 would break."""
        from magnum_capi_helm.cmd import back

        lines = back.report(parsed_args.project)
        self._code = adopt.code(lines)
        self.app.stderr.write(f"{finding.summary(lines)}\n")
        return back.HEADER, adopt.chosen(lines, parsed_args)

    def _checked(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The checks of this host."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.cmd import checks

        header = ("Check", "State", "Detail")
        chosen = parsed_args.management_cluster
        if runtime.names() == ("",) and not chosen:
            results = list(checks.run_here())
            self._code = checks.code(results)
            return header, [dataclasses.astuple(each) for each in results]
        found = list(checks.run_on(chosen or runtime.names()))
        self._code = checks.code(each for _, each in found)
        return (
            ("Management cluster", *header),
            [(name, *dataclasses.astuple(each)) for name, each in found],
        )

    def _target(
        self, versions: str, chosen: Sequence[str]
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """What an upgrade of management clusters would strand."""
        from magnum_capi_helm.cmd import target

        found, count = target.lines(versions, chosen)
        self.app.stderr.write(f"{target.summary(found, count)}\n")
        self._code = int(not target.well(found))
        return target.HEADER, [dataclasses.astuple(each) for each in found]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything failed, or would be broken."""
        super().run(parsed_args)
        return self._code
