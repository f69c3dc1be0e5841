# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm metrics``: metrics of all clusters for Prometheus."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent import futures
import functools
import pathlib
from typing import TYPE_CHECKING

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm import metrics
    from magnum_capi_helm.cli import metrics_sources
    from magnum_capi_helm.database import inventory


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

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the option for a file."""
        parser.add_argument(
            "--output",
            metavar="FILE",
            type=pathlib.Path,
            help="write that file, in one go and readable by everybody "
            "(default: print)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Read everything, then print or write it."""
        from magnum_capi_helm import metrics

        output: pathlib.Path | None = parsed_args.output
        if output is not None and output.suffix != ".prom":
            raise errors.InvalidInput(
                f"--output {errors.shown(str(output))} is not read by "
                "node_exporter: give a file whose name ends with .prom"
            )
        collector, problems = collect()
        if output is None:
            self.app.stdout.write(metrics.text(collector))
        else:
            _write(output, collector)
        for each in problems:
            self.app.stderr.write(f"{each}\n")
        return int(bool(problems))


def _write(path: pathlib.Path, collector: metrics.Collector) -> None:
    from magnum_capi_helm import metrics

    try:
        metrics.write(path, collector)
    except OSError as error:
        raise errors.InvalidInput(
            f"--output {path} can't be written: {error.strerror}"
        ) from error


def collect() -> tuple[metrics.Collector, list[str]]:
    """Return all metrics, and why some are missing."""
    from magnum_capi_helm.cli import inventory as inventories
    from magnum_capi_helm.cli import metrics_sources

    rows, lines, planes = inventories.read(None)
    read = functools.partial(_read, rows, lines)
    answering = [each for each in planes if each.identity and not each.error]
    problems = [_prefixed(each.name, each.error) for each in planes]
    details = []
    with futures.ThreadPoolExecutor(len(planes)) as pool:
        for one in pool.map(read, answering):
            details.append(one)
            problems += [_prefixed(one.plane, each) for each in one.problems]
    collector = metrics_sources.Samples(rows, planes, lines, details)
    return collector, [each for each in problems if each]


def _prefixed(plane: str, problem: str) -> str:
    return f"{plane}: {problem}" if plane and problem else problem


def _read(
    rows: Sequence[inventory.Row],
    lines: Sequence[inventory.Line],
    plane: inventory.ManagementCluster,
) -> metrics_sources.Details:
    """Read the details of one management cluster."""
    from magnum_capi_helm import runtime
    from magnum_capi_helm.cli import metrics_sources
    from magnum_capi_helm.config import conf

    here = {
        each.uuid for each in lines if each.management_cluster == plane.name
    }
    scopes = [
        each.scope
        for each in rows
        if each.uuid in here and each.scope in plane.releases
    ]
    prefix = conf.CONF.capi_helm.namespace_prefix
    return metrics_sources.read(runtime.get(plane.name), scopes, prefix)
