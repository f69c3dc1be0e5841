# SPDX-License-Identifier: Apache-2.0

"""Clusters that are deleted: what is gone, and what is left."""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.lifecycle import base


class DeletionTestCase(base.FlowTestCase):
    """A cluster that polls delete."""

    def gone(self) -> bool:
        """Return whether Magnum has removed the cluster's row."""
        try:
            self.row()
        except exception.ClusterNotFound:
            return True
        return False

    def finish(self) -> None:
        """Let machines and Cluster go, and the polls notice."""
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone(), "the row is still there")

    def remains(self) -> dict[str, list[str]]:
        """Return the objects on the management cluster, without namespaces."""
        found = {
            kind.name: self.server.names(kind)
            for kind in kinds.ALL
            if kind is not kinds.NAMESPACE
        }
        return {kind: names for kind, names in found.items() if names}


NEIGHBOUR = f"{base.RELEASE}-b"
WEB = f"kube_service_{base.RELEASE}_default_web"


def address(release: str = base.RELEASE) -> str:
    """Return the description of a floating IP of a Service."""
    return (
        "Floating IP for Kubernetes external service default/web "
        f"from cluster {release}"
    )


class LeftoversTestCase(DeletionTestCase):
    """A deleted cluster without machines, and leftovers of its workloads."""

    def setUp(self) -> None:
        super().setUp()
        self.there = self.openstack.workloads

    def drained(self, **fields: Any) -> None:
        """Create a cluster, delete it, and let its machines go."""
        self.created(**fields)
        self.delete()
        self.capi.drain()

    def reason(self) -> str:
        """Return ``status_reason`` after one more poll."""
        self.poll()
        return str(self.row().status_reason)
