# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""``magnum-capi-helm chart``: the local chart store."""

from __future__ import annotations

import argparse
import dataclasses

from cliff import command

from magnum_capi_helm import option_types
from magnum_capi_helm import runtime
from magnum_capi_helm.resolve import requested


class Fetch(command.Command):
    """Put a version of the chart into the chart store.

    Run it where the repository can be reached and copy the file into the
    store of conductors that can't. Example: chart fetch 0.27.0
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The version to fetch."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "version",
            nargs="?",
            type=option_types.Version(),
            help="chart version (default: the configured one)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Fetch it unless it is there, and say where it is."""
        chart = requested.configured_chart()
        if parsed_args.version:
            chart = dataclasses.replace(chart, version=parsed_args.version)
        path = runtime.get().charts.ensure(chart)
        self.app.stdout.write(f"{path}\n")
