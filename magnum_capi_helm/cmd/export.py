# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm export``: what the management cluster alone has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
import pathlib
from typing import Any

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors

EXPORTED = "exported"
NOTHING = "nothing to export"
NO_CHART = "exported without its chart"


class Export(base.Lister):
    """Write what the management cluster alone has of clusters into files.

    One file for each cluster, with all its keys: authorities, credentials,
    the key for etcd, the intent and helm's records; and the chart. Whoever
    can read a file can administer its cluster. Nothing is changed on either
    side; a file of the same cluster is replaced.
    """

    examples = ("export --all --directory /var/backups/magnum-capi-helm",)

    #: Seconds before each further try, in the place of ``reading.PAUSES``:
    #: tests have no time.
    pauses: Sequence[float] = ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and where to."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_clusters(parser)
        parser.add_argument(
            "--directory",
            metavar="DIR",
            type=pathlib.Path,
            required=True,
            help="made with mode 0700 if it is not there; one that others "
            "can enter is refused",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Export one after the other, whatever became of those before."""
        from magnum_capi_helm.backup import files
        from magnum_capi_helm.cmd import choice

        found = choice.clusters(parsed_args)
        files.prepare(parsed_args.directory)
        one = self._one if parsed_args.clusters else self._if_it_stays
        lines = (one(row, parsed_args.directory) for row in found)
        self._lines = [line for line in lines if line is not None]
        counts = [
            f"{sum(each.result == result for each in self._lines)} {result}"
            for result in dict.fromkeys(each.result for each in self._lines)
        ]
        self.app.stderr.write(
            f"{', '.join(counts) or 'no cluster was chosen'}\n"
        )
        return fleet.HEADER, [
            dataclasses.astuple(each) for each in self._lines
        ]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything is missing."""
        super().run(parsed_args)
        good = (EXPORTED, NOTHING)
        return int(any(each.result not in good for each in self._lines))

    def _if_it_stays(
        self, row: Any, directory: pathlib.Path
    ) -> fleet.Line | None:
        """One that nobody named; None: its user deletes it meanwhile."""
        # Hours may have passed since the rows were listed.
        fresh = _staying(row)
        if fresh is None:
            return None
        line = self._one(fresh, directory)
        if line.result == fleet.FAILED and _staying(row) is None:
            return None
        return line

    def _one(self, row: Any, directory: pathlib.Path) -> fleet.Line:
        from magnum_capi_helm.model import audit

        line = fleet.Line(row.name or "", row.uuid, row.project_id, NOTHING)
        if not row.stack_id:
            return line
        with audit.acting(fleet.operator("export")):
            try:
                with audit.noted(row.uuid):
                    result, detail = self._export(row, directory)
            except errors.CapiHelmError as error:
                result, detail = fleet.FAILED, str(error)
        return dataclasses.replace(line, result=result, detail=detail)

    def _export(self, row: Any, directory: pathlib.Path) -> tuple[str, str]:
        """What became of it, and where it is."""
        from magnum_capi_helm.backup import files
        from magnum_capi_helm.backup import reading

        found = reading.of_cluster(row, self.pauses or reading.PAUSES)
        path = files.write(directory, found.bundle)
        if found.chart is None:
            return EXPORTED, str(path)
        try:
            chart = pathlib.Path(found.rt.charts.ensure(found.chart))
            files.keep_chart(directory, chart)
        except errors.CapiHelmError as error:
            return NO_CHART, f"{path}: {error}"
        return EXPORTED, str(path)


def _staying(row: Any) -> Any | None:
    """The row as it is now; None: it is gone, or goes."""
    from magnum_capi_helm.backup import reading
    from magnum_capi_helm.database import rows
    from magnum_capi_helm.lifecycle import preview

    fresh = rows.fresh(preview.context(), row)
    return None if fresh is None or reading.leaving(fresh) else fresh
