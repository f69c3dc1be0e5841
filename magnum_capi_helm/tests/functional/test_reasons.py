# SPDX-License-Identifier: Apache-2.0

"""A cluster that can't be made says why, in the words that know."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base

ADDON_FAULT = "lab.example.org/fail"


class _ReasonCase(base.LabCase):
    def _with_reason(self, cluster: str, text: str) -> dict[str, Any] | None:
        found = self.magnum.find(cluster)
        reason = (found or {}).get("status_reason") or ""
        return found if text in reason else None


class NoHostTest(_ReasonCase):
    def test_no_valid_host_is_named_and_fails_after_the_timeout(self) -> None:
        template = self.template(flavor_id="m1.worker.nohost")
        # Workers are asked for once the control plane is there.
        cluster = self.cluster(template, create_timeout=3)
        waiting = self.until(
            lambda: self._with_reason(cluster, "No valid host was found"), 240
        )
        self.assertEqual("CREATE_IN_PROGRESS", waiting["status"])
        release = waiting["stack_id"]
        self.assertRegex(
            waiting["status_reason"],
            rf"nodegroup default-worker: machine {release}-default-worker-"
            r"\S+: No valid host was found",
        )
        failed = self.until_status(
            cluster, ("CREATE_FAILED", "CREATE_COMPLETE"), 240
        )
        self.assertEqual("CREATE_FAILED", failed["status"])
        self.assertIn("No valid host was found", failed["status_reason"])
        groups = self.magnum.nodegroups(cluster)
        self.assertEqual("CREATE_COMPLETE", groups["default-master"]["status"])
        self.assertEqual("CREATE_FAILED", groups["default-worker"]["status"])
        self.assertIn(
            "No valid host was found",
            groups["default-worker"]["status_reason"],
        )
        self.delete(cluster)
        self.assert_all_gone(release)

    def test_control_plane_without_host_is_named(self) -> None:
        cluster = self.cluster(
            self.template(master_flavor_id="m1.control.nohost")
        )
        waiting = self.until(
            lambda: self._with_reason(cluster, "No valid host was found"), 240
        )
        self.assertEqual("CREATE_IN_PROGRESS", waiting["status"])
        self.assertRegex(
            waiting["status_reason"],
            rf"nodegroup default-master: machine {waiting['stack_id']}"
            r"-control-plane-\S+: No valid host was found",
        )


class AddonTest(_ReasonCase):
    def test_failing_addon_is_named_and_the_cluster_recovers(self) -> None:
        cluster = self.cluster(self.template())
        release = self.until(
            lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
        )
        addon = f"{release}-ccm-openstack"
        self.until(
            lambda: self._annotate(addon, "quota of load balancers"), 60
        )
        failing = self.until(
            lambda: self._with_reason(cluster, "quota of load balancers"), 180
        )
        self.assertEqual("CREATE_IN_PROGRESS", failing["status"])
        self.assertEqual(
            "addon ccm-openstack: Failed: quota of load balancers",
            failing["status_reason"],
        )
        self._annotate(addon, None)
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"])
        self.assertIsNone(done["status_reason"])

    def _annotate(self, addon: str, text: str | None) -> Any:
        return self.plane.patch(
            kinds.HELM_RELEASE,
            self.namespace,
            addon,
            {"metadata": {"annotations": {ADDON_FAULT: text}}},
        )
