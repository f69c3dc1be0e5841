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

"""``magnum-capi-helm credentials refresh``: another way to the same cloud."""

from __future__ import annotations

import argparse
from typing import Any

from magnum_capi_helm import operation
from magnum_capi_helm import places
from magnum_capi_helm import preview
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.credentials import identity
from magnum_capi_helm.credentials import refresh


class Refresh(fleet.Fleet):
    """Tell clusters the cloud's endpoint, region, interface and CAs of now.

    The application credential of each stays as it is, and no machine is
    replaced. The CAs that a cluster has stay beside the new ones, but for
    those that have expired.
    """

    examples = (
        "credentials refresh --all",
        "credentials refresh --all --apply",
    )

    action = "credentials refresh"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and whether old CAs go."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--only-new-ca",
            action="store_true",
            help="take all other CAs out, once no endpoint has an old one",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Ask for the way to the cloud once, for all clusters."""
        self._files = identity.files(sessions.service_session())
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> fleet.Change:
        """What of a cluster's Secret is not of now."""
        if not row.stack_id:
            return fleet.Change()
        files, keep_old = self._files, not parsed_args.only_new_ca
        rt = places.checked(row)
        scope = operation.scope_of(row)
        found = refresh.planned(rt, row, files, keep_old)
        return fleet.Change(
            "; ".join(found.changes),
            make=lambda: refresh.apply(
                rt, preview.context(), row, files, keep_old
            ),
            going_on=lambda: refresh.left(rt, scope),
            note=refresh.behind(rt, scope),
        )
