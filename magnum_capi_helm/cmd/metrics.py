# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm metrics``: what Prometheus may want to know."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent import futures
import functools
import pathlib
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.database import inventory
    from magnum_capi_helm.metrics import cloud


class Metrics(base.Command):
    """Print metrics of all clusters, for Prometheus.

    For the textfile collector of node_exporter: let a timer write the file
    every few minutes. Nothing is written but that file, and Keystone is not
    asked. The exit code is 1 when something could not be read; what could be
    is printed all the same.
    """

    examples = (
        "metrics",
        "metrics --output /var/lib/node_exporter/magnum_capi_helm.prom",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Where to."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--output",
            metavar="FILE",
            type=pathlib.Path,
            help="write that file, in one go and readable by everybody "
            "(default: print)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Read everything, then print or write it."""
        output: pathlib.Path | None = parsed_args.output
        if output is not None and output.suffix != ".prom":
            raise errors.InvalidInput(
                f"--output {errors.shown(str(output))} is not read by "
                "node_exporter: give a file whose name ends with .prom"
            )
        text, wrong = collected()
        if output is None:
            self.app.stdout.write(text)
        else:
            _write(output, text)
        for each in wrong:
            self.app.stderr.write(f"{each}\n")
        return int(bool(wrong))


def _write(path: pathlib.Path, text: str) -> None:
    from magnum_capi_helm.metrics import textfile

    try:
        textfile.write(path, text)
    except OSError as error:
        raise errors.InvalidInput(
            f"--output {path} can't be written: {error.strerror}"
        ) from error


def collected() -> tuple[str, list[str]]:
    """All metrics as text, and what could not be read."""
    from magnum_capi_helm.cmd import census
    from magnum_capi_helm.metrics import cloud
    from magnum_capi_helm.metrics import exposition

    rows, lines, planes = census.take(None)
    look = functools.partial(_details, rows, lines)
    known = [each for each in planes if each.identity and not each.silence]
    wrong = [_named(each.name, each.silence) for each in planes]
    details = []
    with futures.ThreadPoolExecutor(len(planes)) as pool:
        for found, missing in pool.map(look, known):
            details.append(found)
            wrong += [_named(found.plane, each) for each in missing]
    samples = cloud.samples(rows, planes, lines, details)
    return exposition.text(samples), [each for each in wrong if each]


def _named(plane: str, what: str) -> str:
    """What is wrong, of a management cluster that has a name."""
    return f"{plane}: {what}" if plane and what else what


def _details(
    rows: Sequence[inventory.Row],
    lines: Sequence[inventory.Line],
    plane: inventory.Plane,
) -> tuple[cloud.Details, list[str]]:
    from magnum_capi_helm import runtime
    from magnum_capi_helm.config import conf
    from magnum_capi_helm.metrics import sources

    here = {each.uuid for each in lines if each.plane == plane.name}
    scopes = [
        each.scope
        for each in rows
        if each.uuid in here and each.scope in plane.found
    ]
    prefix = conf.CONF.capi_helm.namespace_prefix
    return sources.read(runtime.get(plane.name), scopes, prefix)
