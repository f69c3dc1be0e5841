# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm chart``: the chart store, and a mirror of addons."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
import pathlib
import shutil
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

if TYPE_CHECKING:
    from magnum_capi_helm import runtime
    from magnum_capi_helm.helm import mirroring
    from magnum_capi_helm.model import cluster_spec


def _add_version(parser: argparse.ArgumentParser) -> None:
    """Add the argument VERSION."""
    parser.add_argument(
        "version",
        metavar="VERSION",
        nargs="?",
        type=base.chart_version,
        help="chart version (default: the configured one)",
    )


def _chart(version: str | None) -> cluster_spec.Chart:
    """Return the configured chart, in a version or the configured one."""
    from magnum_capi_helm.resolve import requested_labels

    chart = requested_labels.default_chart()
    return dataclasses.replace(chart, version=version or chart.version)


class Fetch(base.Command):
    """Put a version of the chart into the chart store.

    Run the command on a host that reaches the repository. Copy the file into
    the stores of conductors that do not reach the repository. Use --from for a
    chart of your own. The command never replaces a version in the store.
    """

    needs_configuration = False

    examples = ("chart fetch 0.27.0",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the version and its source."""
        _add_version(parser)
        parser.add_argument(
            "--from",
            dest="source",
            metavar="DIR|TGZ|URL",
            help="directory or archive of a chart on this host, a helm "
            "repository, or an oci:// reference (default: the configured "
            "source)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Fetch the chart unless it is in the store, and print its path."""
        from magnum_capi_helm import runtime

        chart = _chart(parsed_args.version)
        place = parsed_args.source
        source = _source(chart, place) if place else None
        path = runtime.any_one().charts.keep(chart, source)
        self.app.stdout.write(f"{path}\n")


def _source(chart: cluster_spec.Chart, place: str) -> cluster_spec.Chart:
    """Return the chart as ``--from`` locates it."""
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
    """List the charts in the chart store, and the versions that each needs.

    The driver knows the supported versions; other versions may work. The
    authors of the chart tested it with the versions in the column Needs. The
    option -c chooses columns, and -f json prints also the column Notes, with
    the known limits of each version.
    """

    needs_configuration = False

    empty = "the chart store is empty"

    examples = ("chart list", "chart list -f json")

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """List each file of the store."""
        from magnum_capi_helm import runtime

        header = ("Name", "Version", "State", "Supported", "Needs", "Notes")
        if parsed_args.formatter == "table" and not parsed_args.columns:
            # The notes of a version are long.
            parsed_args.columns = [*header[:-1]]
        return header, list(map(_line, runtime.any_one().charts.files()))


def _line(file: pathlib.Path) -> tuple[str, ...]:
    """Return the line of a chart in the store."""
    from magnum_capi_helm.helm import charts

    try:
        package = charts.read(file)
    except errors.ChartUnavailable as error:
        return file.name, "", str(error), "", "", ""
    version = package.version
    release = versions.find_tested(version)
    if release is None:
        return package.name, version, "ok", "unknown", "", ""
    notes = "; ".join(versions.traps(version))
    return package.name, version, "ok", "yes", release.needs, notes


class Mirror(base.Lister):
    """Fetch the charts of all addons, and list the images, for an air gap.

    The addon provider downloads the charts of a cluster's addons from about
    twenty repositories. This command makes one helm repository of them: serve
    the directory, and set [capi_helm] addon_repository to its URL. The file
    images.txt in the directory has each image that the charts name, one per
    line; copy the images into a registry with skopeo or crane. Kubernetes
    operators start images that their charts do not name: see their
    documentation.

    The command keeps the charts that it has fetched. Run the command again
    after a failure. The exit code is 1 until all charts are there.
    """

    needs_configuration = False

    examples = ("chart mirror 0.27.0 --to /srv/charts",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the version, the directory, and the choice of addons."""
        _add_version(parser)
        place = parser.add_mutually_exclusive_group(required=True)
        place.add_argument(
            "--to",
            metavar="DIR",
            type=pathlib.Path,
            help="directory of the repository; the command makes it if it is "
            "missing",
        )
        place.add_argument(
            "--list",
            action="store_true",
            help="list the charts, and fetch nothing",
        )
        parser.add_argument(
            "--values",
            metavar="FILE",
            type=pathlib.Path,
            action="append",
            default=[],
            help="YAML file with chart values that switch addons on and off; "
            "may be used more than once (default: the chart's defaults)",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="include the addons that are switched off",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Fetch each chart, even if others fail."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.helm import mirroring

        rt = runtime.any_one()
        path = rt.charts.ensure(_chart(parsed_args.version))
        contents = mirroring.contents(
            rt.helm,
            path,
            _values(parsed_args.values),
            everything=parsed_args.all,
        )
        if parsed_args.list:
            states = ["listed"] * len(contents.addons)
        else:
            states = self._mirror(rt, path, contents, parsed_args.to)
        return (
            ("Chart", "Version", "Repository", "State"),
            [
                (each.name, each.version, each.repository, state)
                for each, state in zip(contents.addons, states, strict=True)
            ],
        )

    def _mirror(
        self,
        rt: runtime.Runtime,
        path: str,
        contents: mirroring.Contents,
        directory: pathlib.Path,
    ) -> list[str]:
        """Fetch the charts of addons, and return the state of each."""
        from magnum_capi_helm.helm import mirroring

        images = set(contents.images)
        states = []
        try:
            directory.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, directory)
            for addon in contents.addons:
                self.say(f"{addon.name} {addon.version}")
                state = "fetched"
                try:
                    file = mirroring.fetch(rt.helm, addon, directory)
                    images |= mirroring.images_of(rt.helm, addon, file)
                except errors.HelmError as error:
                    self.exit_code = 1
                    state = f"failed: {error}"
                states.append(state)
            mirroring.finish(rt.helm, images, directory)
        except OSError as error:
            raise errors.InvalidInput(
                f"{directory} can't be written: {error.strerror}"
            ) from error
        return states


def _values(files: Sequence[pathlib.Path]) -> dict[str, Any]:
    """Return the merged values of files; the last file wins.

    :raises NotConfigured: a file can't be read
    """
    from magnum_capi_helm.helm import charts
    from magnum_capi_helm.resolve import operator_files

    merged: dict[str, Any] = {}
    for file in files:
        values = operator_files.read_yaml(file, str(file))
        merged = charts.merged(merged, values, keep_nulls=True)
    return merged
