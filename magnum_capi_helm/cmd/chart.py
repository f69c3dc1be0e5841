# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm chart``: the local chart store."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import dataclasses
import pathlib
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import base
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import option_types

if TYPE_CHECKING:
    from magnum_capi_helm.model import cluster_spec

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]


def wanted(version: str | None) -> cluster_spec.Chart:
    """The configured chart, in the version given or the configured one."""
    from magnum_capi_helm.resolve import requested

    chart = requested.default_chart()
    return dataclasses.replace(chart, version=version or chart.version)


def add_version(parser: argparse.ArgumentParser) -> None:
    """The argument VERSION."""
    parser.add_argument(
        "version",
        nargs="?",
        type=option_types.Version(),
        help="chart version (default: the configured one)",
    )


class Fetch(base.Command):
    """Put a version of the chart into the chart store.

    Run it where the repository can be reached and copy the file into the
    store of conductors that can't, or give a chart of your own with --from.
    A version that is in the store already stays as it is.
    """

    configuration = base.Configuration.OPTIONAL

    examples = ("chart fetch 0.27.0",)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The version to fetch, and from where."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_version(parser)
        parser.add_argument(
            "--from",
            dest="source",
            metavar="DIR|TGZ|URL",
            help="a chart's directory or archive on this host, a helm "
            "repository, or an oci:// reference (default: where the "
            "configuration says)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Fetch it unless it is there, and say where it is."""
        from magnum_capi_helm import runtime

        chart = wanted(parsed_args.version)
        store = runtime.any_one().charts
        source = None
        if parsed_args.source:
            source = _source(chart, parsed_args.source)
            if store.has(chart):
                raise errors.InvalidInput(
                    f"{chart.name} {chart.version} is in the chart store "
                    f"already: to take {parsed_args.source}, give it a "
                    "version of its own, or remove the one in the store"
                )
        self.app.stdout.write(f"{store.keep(chart, source)}\n")


def _source(chart: cluster_spec.Chart, place: str) -> cluster_spec.Chart:
    """Where ``--from`` wants the chart to come from."""
    from magnum_capi_helm.helm import charts

    if place.startswith(("http://", "https://")):
        if not place.endswith(".tgz"):
            return dataclasses.replace(
                chart, name=charts.name_of(chart), repository=place
            )
    elif not place.startswith("oci://"):
        place = str(pathlib.Path(place).expanduser().resolve())
    return dataclasses.replace(chart, name=place, repository="")


class List(base.Lister):
    """List the charts in the chart store, and what each needs.

    Supported are the versions that the driver knows; others may well work.
    What a version needs was tested together by those who made it.
    """

    configuration = base.Configuration.OPTIONAL

    examples = ("chart list --long -f json",)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """How much of it."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--all",
            action="store_true",
            help="also list the supported versions that are not in the store",
        )
        parser.add_argument(
            "--long",
            action="store_true",
            help="also list the checksum, and what to know of each version",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Look at each file of the store."""
        rows = list(_rows(parsed_args.all))
        columns = ["Name", "Version", "State", "Size", "Supported", "Needs"]
        if parsed_args.long:
            columns += ["SHA-256", "Notes"]
        return (
            tuple(columns),
            [tuple(row[each] for each in columns) for row in rows],
        )


def _rows(everything: bool) -> Iterator[dict[str, object]]:
    from magnum_capi_helm import runtime
    from magnum_capi_helm.helm import charts
    from magnum_capi_helm.model import supported

    stored = runtime.any_one().charts.entries()
    for each in stored:
        yield {
            "Name": each.name or each.file,
            "Version": each.version,
            "State": each.problem or "ok",
            "Size": each.size,
            "SHA-256": each.checksum,
            **_about(each.version),
        }
    if not everything:
        return
    here = {each.version for each in stored}
    for version in supported.versions():
        if version not in here:
            yield {
                "Name": charts.name_of(wanted(None)),
                "Version": version,
                "State": "not in the store",
                "Size": "",
                "SHA-256": "",
                **_about(version),
            }


def _about(version: str) -> dict[str, object]:
    from magnum_capi_helm.model import supported

    release = supported.find(version)
    return {
        "Supported": "yes" if release else "unknown",
        "Needs": release.needs if release else "",
        "Notes": "; ".join(supported.traps(version)) if release else "",
    }
