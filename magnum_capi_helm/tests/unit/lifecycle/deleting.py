# SPDX-License-Identifier: Apache-2.0

"""Clusters that are deleted: what is gone, and what is left."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.unit.lifecycle import base


class DeletionTestCase(base.FlowTestCase):
    """A cluster that polls delete."""

    def finish(self) -> None:
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone(), "the row is still there")

    def overdue(self) -> None:
        """Let the user have asked for the deletion long ago."""
        mark = {lease.DELETE_MARK: "2026-01-01T00:00:00.000000Z"}
        change = {"metadata": {"annotations": mark}}
        where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.server.patch(*where, change)

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
        self.created(**fields)
        self.delete()
        self.capi.drain()

    def reason(self) -> str:
        self.poll()
        return str(self.row().status_reason)
