# SPDX-License-Identifier: Apache-2.0

"""A management cluster that is frozen for maintenance."""

from __future__ import annotations

import time

from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base

MESSAGE = (
    "the management cluster is frozen for maintenance, try again when that "
    "is over. The operator says: etcd moves"
)


class FrozenTestCase(base.FlowTestCase):
    """The operator freezes it, and thaws it."""

    def freeze(self, minutes: float = 0.0) -> None:
        """It has been frozen for so long; the conductors know by now."""
        rt = self.plane.runtime("operator")
        rt.maintenance.freeze(
            "etcd moves", "op@host", time.time() - minutes * 60
        )
        self.plane.clock.advance(6)
        self.management.requests.clear()

    def thaw(self) -> None:
        """It is over, and the conductors know by now."""
        self.plane.runtime("operator").maintenance.thaw(time.time())
        self.plane.clock.advance(6)

    def assert_quiet(self) -> None:
        """Nothing was written there since the freeze; helm did not run."""
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, set(management.READS))

    def helms(self) -> int:
        return len(self.helm.upgrades) + len(self.helm.uninstalls)
