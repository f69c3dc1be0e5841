# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check``: would a create work on this host?"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
import dataclasses
from typing import TYPE_CHECKING

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.model import components

_HEADER = ("Check", "State", "Detail")

_TARGET_HEADER = (
    "Name",
    "UUID",
    "Project",
    "Management cluster",
    "Release",
    "Chart",
    "State",
    "First",
)


class Check(base.Lister):
    """Check configuration, management cluster, helm, chart and cloud.

    The command prints one line for each check, and says how to repair a
    failure. It compares the versions of the components with those that the
    configured chart was tested with. Where there are several management
    clusters, a column names them. With --target, the command lists the
    releases that need a change before a management cluster is upgraded.
    """

    configuration = base.Configuration.OPTIONAL

    examples = (
        "check",
        "check -f json",
        "check --target capi=1.14,capo=0.14",
        "check --from-1-4-0",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the choice of management clusters and of what to check."""
        parser.add_argument(
            "--management-cluster",
            action="append",
            metavar="NAME",
            help="check only this management cluster; may be used more than "
            "once (default: all)",
        )
        modes = parser.add_mutually_exclusive_group()
        modes.add_argument(
            "--target",
            metavar="VERSIONS",
            help="list the releases that helm could not change on a "
            "management cluster with these versions: capi=1.14,capo=0.14, or "
            "API versions such as cluster.x-k8s.io/v1beta2, or 'now'",
        )
        modes.add_argument(
            "--from-1-4-0",
            action="store_true",
            dest="from_1_4_0",
            help="list the tasks before this version replaces "
            "magnum-capi-helm 1.4.0: options, labels, clusters without a "
            "release",
        )
        parser.add_argument(
            "--project",
            metavar="ID",
            help="with --from-1-4-0: check only the clusters of this project",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Run the chosen checks."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.cli import checks
        from magnum_capi_helm.cli import from_1_4_0

        if parsed_args.from_1_4_0:
            return self._report(from_1_4_0.run(parsed_args.project))
        if parsed_args.project:
            raise errors.InvalidInput(
                "--project is for --from-1-4-0: give both, or neither"
            )
        chosen = parsed_args.management_cluster or runtime.names()
        if parsed_args.target is not None:
            return self._target(parsed_args.target, chosen)
        places, results = zip(*checks.run(chosen), strict=True)
        header, lines = self._report(results)
        if list(chosen) == [""]:
            return header, lines
        return ("Management cluster", *header), [
            (place, *line) for place, line in zip(places, lines, strict=True)
        ]

    def _report(self, results: Iterable[components.Result]) -> base.Table:
        """Return a line for each result; set the exit code."""
        from magnum_capi_helm.model import components

        lines = [dataclasses.astuple(each) for each in results]
        self.exit_code = int(any(components.FAILED in each for each in lines))
        return _HEADER, lines

    def _target(self, versions: str, chosen: Sequence[str]) -> base.Table:
        """List the releases that an upgrade would strand."""
        from magnum_capi_helm.cli import check_management_cluster
        from magnum_capi_helm.model import api_versions

        releases, count = check_management_cluster.stranded_releases(
            versions, chosen
        )
        self.say(f"releases read: {count}, listed: {len(releases)}")
        self.exit_code = int(
            any(
                outlook.state != api_versions.REPAIRED
                for _, outlook in releases
            )
        )
        return _TARGET_HEADER, [
            (
                line.name,
                line.uuid,
                line.project,
                line.management_cluster,
                line.release,
                line.chart,
                outlook.state,
                outlook.detail,
            )
            for line, outlook in releases
        ]
