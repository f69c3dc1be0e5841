# SPDX-License-Identifier: Apache-2.0

"""Each operation gets through with no chart to be had."""

from __future__ import annotations

import re
from typing import Any

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

#: What the driver logs of an operation that got through.
DONE = re.compile(
    r"\.\w+ \[[^]]*\] (\w+)(?: nodegroups of)? release (\S+)$", re.MULTILINE
)


class HelmsTest(base.LabCase):
    """One cluster through its life, while the repository is down."""

    def test_each_operation_gets_through(self) -> None:
        template = self.template()
        newer = self.template(image_id="ubuntu-v1.35.1")
        # The first one may have to fetch the chart.
        self.cluster(template)
        store = programs.LAB / "chart-store"
        self.until(lambda: list(store.glob("*.tgz")), 60)
        programs.lab("stop", "charts")
        self.addCleanup(programs.lab, "start", "charts")
        logged = len(base.magnum_log())

        made = self._live(template, newer)

        done = [
            what
            for what, release in DONE.findall(base.magnum_log()[logged:])
            if release == made["stack_id"]
        ]
        self.assertEqual(
            [
                "created",
                "resized",
                "changed",
                "changed",
                "changed",
                "upgraded",
            ],
            done,
        )

    def _live(self, template: str, newer: str) -> dict[str, Any]:
        """A cluster that has been changed once in each way."""
        cluster = self.cluster(template)
        made = self.until_status(cluster, ("CREATE_COMPLETE",))
        self.resize(cluster, 2)
        groups = f"/clusters/{cluster}/nodegroups"
        more = {"name": "more", "flavor_id": "m1.worker", "node_count": 1}
        self._changed(cluster, "POST", groups, more)
        bound = [{"path": "/max_node_count", "op": "add", "value": 7}]
        self._changed(cluster, "PATCH", f"{groups}/more", bound)
        self._changed(cluster, "DELETE", f"{groups}/more")
        upgrade = {"cluster_template": newer, "max_batch_size": 1}
        path = f"/clusters/{cluster}/actions/upgrade"
        self._changed(cluster, "POST", path, upgrade)
        return made

    def _changed(
        self, cluster: str, method: str, path: str, body: Any = None
    ) -> None:
        """A request that is answered before it is served, until it is."""
        before = (self.magnum.find(cluster) or {})["updated_at"]
        self.magnum.call(method, path, body)
        self.until(
            lambda: (
                (found := self.magnum.find(cluster))
                and found["updated_at"] != before
                and found["status"] == "UPDATE_COMPLETE"
            ),
            360,
        )
