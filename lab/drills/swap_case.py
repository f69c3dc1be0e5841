# SPDX-License-Identifier: Apache-2.0
"""Three clusters of 1.4.0 in trouble, and how they are looked at."""

from __future__ import annotations

import re
import time
from typing import Any

from lab.drills import case
from lab.drills import looks
from lab.drills import troubles
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_UUID = re.compile(r"\b[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b")
_DONE = ("UPDATE_COMPLETE", "UPDATE_FAILED")
#: Whose objects nobody but the drill looks after.
ALWAYS = {
    "cluster_template": {
        "kubernetes_allowed_network_drivers": "calico,cilium,flannel"
    }
}
#: The operator's options, in the time of 1.4.0 and afterwards.
THEN = {
    "capi_helm": {"default_helm_chart_version": "0.26.1"},
    "capi_helm_cluster_labels": {"boot_volume_size": "20"},
}
NOW = {
    "capi_helm": {
        "default_helm_chart_version": "0.27.0",
        # Once an hour is too seldom for a drill.
        "app_cred_check_interval": "10",
    },
    "capi_helm_cluster_labels": {"boot_volume_size": "40"},
}
_SHORT_CERTIFICATES = {"x509": {"term_of_validity": "60"}}
_ALLOWED = "192.0.2.0/24"


class SwapCase(case.DrillCase):
    """1.4.0 has made them; what comes next is the test's."""

    def setUp(self) -> None:
        super().setUp()
        self.looks = looks.Looks(self.plane, self.namespace)
        self.cloud = troubles.Cloud(self.magnum.session)
        self.addCleanup(self.reset)
        self.addCleanup(troubles.take_old_chart)
        self.addCleanup(troubles.stop_old_api)
        self._predecessor_runs = False
        self.uuids: dict[str, str] = {}
        self.releases: dict[str, str] = {}
        self.machines: dict[str, dict[str, str]] = {}

    # 1.4.0

    def make(self) -> None:
        """Three clusters of 1.4.0."""
        self.say("magnum-capi-helm 1.4.0 makes three clusters: shop, db, ci")
        self.run_1_4_0(THEN, _SHORT_CERTIFICATES)
        plain = self.template()
        labels = {"api_master_lb_allowed_cidrs": _ALLOWED}
        self._begin("shop", plain, labels=labels)
        self.until(self._shop_is_there, 120)
        self.run_1_4_0(THEN)
        flannel = self.template(network_driver="flannel")
        self._begin("db", flannel)
        troubles.offer_old_chart()
        troubles.serve_old_api()
        self.image = self.cloud.image(self.unique("drill-image"))
        self.addCleanup(self.cloud.forget_image, self.image)
        old = self.template(
            image_id=self.image,
            labels={"capi_helm_chart_version": troubles.OLD_CHART},
        )
        self._begin("ci", old)
        for name, uuid in self.uuids.items():
            made = self.until_status(
                uuid, ("CREATE_COMPLETE", "CREATE_FAILED")
            )
            self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
            self.releases[name] = str(made["stack_id"])
            self.note(name)

    def run_1_4_0(self, *options: dict[str, dict[str, str]]) -> None:
        sections = dict(ALWAYS)
        for each in options:
            sections |= each
        base.write_override(sections)
        self.admit()
        programs.lab("restart", "magnum", "--driver", "1.4.0")
        self._predecessor_runs = True

    def _restart_ours(self) -> None:
        """Whatever happened, this driver cleans up."""
        if self._predecessor_runs:
            programs.lab("restart", "magnum")
            self._predecessor_runs = False

    def _begin(self, name: str, template: str, **fields: Any) -> None:
        self.uuids[name] = self.cluster(
            template, name=self.unique(name), **fields
        )
        # After the cluster's own clean-up, and therefore before it.
        self.addCleanup(self._restart_ours)

    def _shop_is_there(self) -> bool:
        """1.4.0 has done what it does in the request."""
        found = self.magnum.find(self.uuids["shop"]) or {}
        release = found.get("stack_id")
        return bool(
            release
            and self.plane.get(kinds.CLUSTER, self.namespace, release)
            and release in self.looks.helm("list", "--deployed", "--short")
        )

    def plant(self) -> None:
        (credential,) = self.credentials_of(self.uuids["db"])
        self.cloud.revoke(credential["id"])
        self.cloud.forget_image(self.image)
        troubles.stop_old_api()
        self.say(
            "planted: shop has an allow list that its chart does not read, "
            "and CAs of 60 days; db has a template with flannel, and its "
            "application credential is deleted in Keystone; ci has chart "
            f"{troubles.OLD_CHART}, whose {troubles.OLD_API} the management "
            "cluster stops to serve, and its image is deleted in Glance"
        )

    # Helpers

    def say(self, text: str) -> None:
        self.tell(_UUID.sub("<id>", text))

    def show(self, lines: list[dict[str, str]]) -> None:
        """Record lines of a check."""
        for each in lines:
            self.say(f"  {each['Check']}: {each['Detail']}")

    def checks_of(self, name: str, lines: list[dict[str, str]]) -> set[str]:
        """Return the checks with a line about a cluster."""
        uuid = self.uuids[name]
        return {each["Check"] for each in lines if uuid in each["Detail"]}

    def still(self) -> Any:
        """All there is, once the controllers have come to rest."""

        def rested() -> Any:
            before = self.snapshot()
            time.sleep(5)
            return before if before == self.snapshot() else None

        return self.until(rested, 120, "the controllers do not come to rest")

    def snapshot(self) -> Any:
        return self.looks.objects(), looks.rows([*self.uuids.values()])

    def note(self, name: str) -> None:
        self.machines[name] = self.looks.machines(self.releases[name])

    def assert_grown(self, name: str, more: int) -> None:
        """All machines that were there are there, and some are new."""
        before = self.machines[name]
        self.note(name)
        now = self.machines[name]
        self.assertLessEqual(set(before), set(now))
        self.assertEqual(len(before) + more, len(now))

    def update_ends(self, name: str) -> None:
        done = self.until_status(self.uuids[name], _DONE)
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
