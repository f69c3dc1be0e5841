# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm chart mirror``: what a cloud without a way out needs."""

from __future__ import annotations

import argparse
import pathlib
import shutil
from typing import TYPE_CHECKING, Any

import yaml

from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import chart
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm import runtime
    from magnum_capi_helm.helm import mirroring


class Mirror(base.Lister):
    """Fetch the charts of all addons, and list the images, for an air gap.

    The addon provider downloads the charts of a cluster's addons from about
    twenty repositories. This makes a helm repository of them: serve the
    directory, and name its URL in [capi_helm] addon_repository. images.txt
    in it names each image that the charts name, one per line; copying them
    into a registry is left to skopeo or crane. Operators start images that
    their charts do not name: see their documentation. What is fetched stays,
    so it can be run again after a failure; the exit code is 1 until all is
    there.
    """

    configuration = base.Configuration.OPTIONAL

    examples = ("chart mirror 0.27.0 --to /srv/charts",)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The version, the place, and which addons."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        chart.add_version(parser)
        place = parser.add_mutually_exclusive_group(required=True)
        place.add_argument(
            "--to",
            metavar="DIR",
            type=pathlib.Path,
            help="directory of the repository, made when missing",
        )
        place.add_argument(
            "--list",
            action="store_true",
            help="fetch nothing, only list the charts",
        )
        parser.add_argument(
            "--values",
            metavar="FILE",
            type=pathlib.Path,
            action="append",
            default=[],
            help="YAML file with chart values that switch addons on and off, "
            "may be given more than once (default: the chart's defaults)",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="also the addons that are switched off",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> chart.Table:
        """Do it for each chart, whatever becomes of the others."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.helm import mirroring

        rt = runtime.any_one()
        path = rt.charts.ensure(chart.wanted(parsed_args.version))
        found = mirroring.contents(
            rt.helm,
            path,
            _values(parsed_args.values),
            everything=parsed_args.all,
        )
        self._failed = False
        if parsed_args.list:
            states = ["listed"] * len(found.addons)
        else:
            states = self._mirror(rt, path, found, parsed_args.to)
        return (
            ("Chart", "Version", "Repository", "State"),
            [
                (each.name, each.version, each.repository, state)
                for each, state in zip(found.addons, states, strict=True)
            ],
        )

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything is missing."""
        super().run(parsed_args)
        return int(self._failed)

    def _mirror(
        self,
        rt: runtime.Runtime,
        path: str,
        found: mirroring.Contents,
        directory: pathlib.Path,
    ) -> list[str]:
        """What became of each addon."""
        from magnum_capi_helm.helm import mirroring

        images = set(found.images)
        states = []
        try:
            directory.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, directory)
            for addon in found.addons:
                self.app.stderr.write(f"{addon.name} {addon.version}\n")
                state = "fetched"
                try:
                    file = mirroring.fetch(rt.helm, addon, directory)
                    images |= mirroring.images_of(rt.helm, addon, file)
                except errors.HelmError as error:
                    self._failed = True
                    state = f"failed: {error}"
                states.append(state)
            mirroring.finish(rt.helm, images, directory)
        except OSError as error:
            raise errors.InvalidInput(
                f"{directory} can't be written: {error.strerror}"
            ) from error
        return states


def _values(files: list[pathlib.Path]) -> dict[str, Any]:
    """The values of files, the last one on top.

    :raises InvalidInput: one can't be read
    """
    from magnum_capi_helm.helm import packages
    from magnum_capi_helm.resolve import overlays

    result: dict[str, Any] = {}
    for file in files:
        try:
            found = yaml.safe_load(file.read_text()) or {}
        except (OSError, *overlays.NO_YAML) as error:
            raise errors.InvalidInput(
                f"{file} can't be read as YAML: {error}"
            ) from error
        if not isinstance(found, dict):
            raise errors.InvalidInput(f"{file} holds no mapping")
        result = packages.merged(result, found, keep_nulls=True)
    return result
