# SPDX-License-Identifier: Apache-2.0
"""A cluster's life where v1beta1 of Cluster API is all that is served."""

from __future__ import annotations

import json
from typing import Any

from lab.chaos import case as chaos
from lab.chaos import older_api
from lab.drills import case
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_GROUP = "cluster.x-k8s.io"
_HIDDEN = "v1beta2"


class OlderApiTest(case.DrillCase):
    """The driver and its helm see what Cluster API up to 1.10 serves."""

    record = "older-api"

    def setUp(self) -> None:
        super().setUp()
        between, path = chaos.before_kubernetes(
            self, programs.LAB / "driver-kubeconfig"
        )
        older_api.hide(between, _GROUP, _HIDDEN)
        self.configure(kubeconfig_file=str(path))
        seen = base.management(path)
        for kind in (kinds.CLUSTER, kinds.CONTROL_PLANE):
            self.assertEqual({"v1beta1"}, seen.served(kind.group)[kind.name])
        self.tell(f"of {_GROUP} only v1beta1 is served")

    def test_a_life(self) -> None:
        newer = self.template(image_id="ubuntu-v1.35.1")
        uuid = self.cluster(self.template(), node_count=2)
        made = self.until_status(uuid, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self._is("CREATE_COMPLETE", made)
        self.until(lambda: self._health(uuid) == "HEALTHY", 120)
        self.tell(f"health {self._health(uuid)}")
        self._is("UPDATE_COMPLETE", self.resize(uuid, 1))
        self._described(uuid)
        self._upgraded(uuid, newer)
        self._told_why(uuid)
        self.delete(uuid)
        self.assertEqual([], self.left_of(str(made["stack_id"])))
        self.tell("deleted; nothing is left")

    def _is(self, status: str, shown: dict[str, Any]) -> None:
        self.tell(
            f"{shown['status']}, {shown['coe_version']}, "
            f"{shown['node_count']} nodes"
        )
        self.assertEqual(
            (status, None), (shown["status"], shown["status_reason"])
        )

    def _health(self, uuid: str) -> str:
        return str((self.magnum.find(uuid) or {})["health_status"])

    def _described(self, uuid: str) -> None:
        done = programs.completed("describe", uuid, "-f", "json")
        found = json.loads(done.stdout)
        self.assertEqual("ready", found["state"], done.stdout)
        self.tell(f"described: {found['state']}")

    def _upgraded(self, uuid: str, template: str) -> None:
        self.magnum.call(
            "POST",
            f"/clusters/{uuid}/actions/upgrade",
            {"cluster_template": template, "max_batch_size": 1},
        )
        self.until_status(uuid, ("UPDATE_IN_PROGRESS",), 60)
        done = self.until_status(uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self._is("UPDATE_COMPLETE", done)
        self.assertEqual("v1.35.1", done["coe_version"])

    def _told_why(self, uuid: str) -> None:
        """A nodegroup without room; the reason is the machine's."""
        self.magnum.call(
            "POST",
            f"/clusters/{uuid}/nodegroups",
            {"name": "full", "node_count": 1, "flavor_id": "m1.worker.nohost"},
        )
        reason = self.until(
            lambda: self._reason(uuid, "No valid host was found"), 180
        )
        self.tell(f"a nodegroup without room: {reason}")

    def _reason(self, uuid: str, words: str) -> str | None:
        found = str((self.magnum.find(uuid) or {})["status_reason"])
        return found if words in found else None
