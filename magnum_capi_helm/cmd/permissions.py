# SPDX-License-Identifier: Apache-2.0

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
