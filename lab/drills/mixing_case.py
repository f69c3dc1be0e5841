# SPDX-License-Identifier: Apache-2.0
"""A lab in which one conductor of three runs 1.4.0, for a while."""

from __future__ import annotations

import functools
import os
import secrets
import signal

from lab.chaos import case as chaos
from lab.chaos import conductors
from lab.chaos import processes
from lab.drills import case
from lab.drills import mixing
from lab.drills import mixing_walk
from magnum_capi_helm.tests.functional import programs

SEED = int(os.environ.get("WALK_SEED") or secrets.randbelow(10**6))
SETTLED = 600
FORGOTTEN = conductors.NAMES[-1]


class MixingCase(case.DrillCase, chaos.HighlyAvailableCase):
    """Clusters of a walk; who wrote them is witnessed."""

    def setUp(self) -> None:
        super().setUp()
        self.prefix = self.unique("mix")
        self.model = mixing_walk.Model(SEED, self.template(), self.prefix)
        self.witness = mixing.Witness(self.plane, self.namespace, self.prefix)
        self.addCleanup(self._sweep)
        self.admit()
        programs.lab("restart", FORGOTTEN, "--driver", "1.4.0")

    def resize_workers(self, uuid: str, count: int) -> None:
        """Ask for that many workers."""
        self.model.sized(uuid, count)
        path = f"/clusters/{uuid}/actions/resize"
        self.magnum.call("POST", path, {"node_count": count})

    def end_helms(self) -> None:
        """No helm of the lab runs any more."""
        mixing.signal_all(processes.helms(str(programs.LAB)), signal.SIGKILL)

    def _sweep(self) -> None:
        """Delete what is still there, whatever happened."""
        self.end_helms()
        for each in conductors.NAMES:
            programs.lab("restart", each)
        there = [e for e in self.model.clusters if not self.gone(e.uuid)]
        for cluster in there:
            self.magnum.send("DELETE", cluster.path, None, {})
        for cluster in there:
            self.until(functools.partial(self.gone, cluster.uuid), SETTLED)
