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

"""``magnum-capi-helm permissions``: what a management cluster must allow."""

from __future__ import annotations

import argparse

from magnum_capi_helm.cmd import base


class Permissions(base.Command):
    """Print the manifest of the driver's user on a management cluster.

    A ServiceAccount and a ClusterRole with what the driver needs and no
    more. Nothing is asked or changed here.
    """

    configuration = base.Configuration.UNUSED

    examples = ("permissions | kubectl apply -f -",)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print it."""
        from magnum_capi_helm.management import permissions

        self.app.stdout.write(permissions.manifest())
