# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm kubeconfig``: the way into a cluster."""

from __future__ import annotations

import argparse
import base64
from typing import Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names


class Kubeconfig(base.Command):
    """Print the administrator's kubeconfig of a cluster, with its private key.

    Cluster API keeps this kubeconfig on the management cluster. Its owner can
    do anything in the cluster until the client certificate expires; only new
    CAs of the cluster revoke the certificate. The log names the command's
    user, and never has the kubeconfig.
    """

    examples = (
        "kubeconfig my-cluster > my-cluster.kubeconfig",
        "kubeconfig my-cluster | kubectl --kubeconfig /dev/stdin get nodes",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the cluster."""
        base.add_cluster(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Log the user who takes it, then print it."""
        row = base.find_cluster(parsed_args.cluster)
        with base.audited("kubeconfig", f"cluster {row.uuid}"):
            text = _read(row)
        self.app.stdout.write(text)


def _read(row: Any) -> str:
    """Return the kubeconfig of a cluster.

    :raises NotSupported: there is none
    :raises ManagementError: it is damaged
    """
    from magnum_capi_helm.kubernetes import kubeconfig
    from magnum_capi_helm.kubernetes import location
    from magnum_capi_helm.management_clusters import registry
    from magnum_capi_helm.operations import cluster_operation

    if not row.stack_id:
        raise errors.NotSupported(cluster_operation.NO_RELEASE)
    rt = registry.find_runtime(row)
    namespace, release = location.scope_of(row)
    name = names.kubeconfig(release)
    secret = rt.management.get(kinds.SECRET, namespace, name)
    if secret is None:
        raise errors.NotSupported(
            f"there is no Secret {name} yet: Cluster API makes it after the "
            f"network; see 'magnum-capi-helm describe {row.uuid}'"
        )
    try:
        kubeconfig.administrator(secret)
    except errors.ManagementError as error:
        raise errors.ManagementError(
            f"{error}: delete the Secret, and Cluster API makes it again"
        ) from None
    return base64.b64decode(secret["data"]["value"]).decode()
