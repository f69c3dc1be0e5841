# SPDX-License-Identifier: Apache-2.0

"""Whether a cluster that is deleted is gone, and what remains of it."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.lifecycle import base


class DeletionTestCase(base.FlowTestCase):
    """What polls have deleted, and what they have left."""

    def gone(self) -> bool:
        """Whether Magnum has removed the cluster's row."""
        try:
            self.row()
        except exception.ClusterNotFound:
            return True
        return False

    def finish(self) -> None:
        """Machines and Cluster go, the polls notice."""
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone(), "the row is still there")

    def remains(self) -> dict[str, list[str]]:
        """What there is on the management cluster, but namespaces."""
        found = {
            kind.name: self.server.names(kind)
            for kind in kinds.ALL
            if kind is not kinds.NAMESPACE
        }
        return {kind: names for kind, names in found.items() if names}
