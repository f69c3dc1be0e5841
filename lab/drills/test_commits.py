# SPDX-License-Identifier: Apache-2.0
"""Two commits of this driver serve the same clusters at once.

One conductor of three runs an older commit, as during a rolling update of the
control nodes. The requests of ``test_walk`` reach all three, so each commit
goes on from what the other one stored. ``OLDER_COMMIT`` names another commit.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from lab.chaos import case as chaos
from lab.chaos import conductors
from lab.drills import case
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.further import test_walk

#: The last commit before the modules were moved into folders by layer.
COMMIT = os.environ.get("OLDER_COMMIT") or "88455e2"
OLDER = conductors.NAMES[-1]


class CommitsTest(
    case.DrillCase, test_walk.WalkTest, chaos.HighlyAvailableCase
):
    """A walk of requests with two commits behind the API."""

    record = "commits"

    def setUp(self) -> None:
        super().setUp()
        folder = self._checkout()
        self._log = programs.LAB / "log" / f"{OLDER}.log"
        self._logged = len(self._log.read_text())
        programs.lab("restart", OLDER, "--driver", str(folder))
        self.addCleanup(programs.lab, "restart", OLDER)
        self.tell(
            "three magnum-conductor: two run this commit, and one runs "
            f"{COMMIT}; {test_walk.STEPS} requests, WALK_SEED={test_walk.SEED}"
        )

    def test_a_walk_ends_with_everything_in_agreement(self) -> None:
        super().test_a_walk_ends_with_everything_in_agreement()
        self.tell("; ".join(self.model.summary()))
        text = self._log.read_text()[self._logged :]
        older = text.count("audit: cluster ")
        self.assertGreater(older, 0)
        self.tell(
            f"{older} requests were served by {COMMIT}; rows, releases and "
            "machines agreed, and nothing was left"
        )

    def _checkout(self) -> pathlib.Path:
        """Return a folder with the older commit."""
        folder = tempfile.mkdtemp(prefix="older-")
        self.addCleanup(shutil.rmtree, folder)
        return programs.older_driver(COMMIT, folder)
