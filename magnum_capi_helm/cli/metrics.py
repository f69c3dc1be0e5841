# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm metrics``: metrics of all clusters for Prometheus."""

from __future__ import annotations

import argparse
import pathlib

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors


class Metrics(base.Command):
    """Print metrics of all clusters, for Prometheus.

    With --output, the command writes a file for node_exporter's textfile
    collector: let a timer run it every few minutes. The command changes
    nothing else, and does not contact Keystone. The exit code is 1 if
    something could not be read; the command still prints the rest.
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
            help="write this file in one step, readable by everybody "
            "(default: print)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Read everything, then print or write it."""
        from magnum_capi_helm import metrics
        from magnum_capi_helm.cli import metrics_sources

        output: pathlib.Path | None = parsed_args.output
        if output is not None and output.suffix != ".prom":
            raise errors.InvalidInput(
                f"--output {errors.shown(str(output))} is not read by "
                "node_exporter: give a file whose name ends with .prom"
            )
        collector, problems = metrics_sources.collect()
        if output is None:
            self.app.stdout.write(metrics.text(collector))
        else:
            try:
                metrics.write(output, collector)
            except OSError as error:
                raise errors.InvalidInput(
                    f"--output {output} can't be written: {error.strerror}"
                ) from error
        for each in problems:
            self.say(each)
        return int(bool(problems))
