# SPDX-License-Identifier: Apache-2.0

"""The management cluster or a conductor goes away, and comes back."""

from __future__ import annotations

import re
import time
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

NOISE = re.compile(r" (WARNING|ERROR) (magnum_capi_helm|urllib3|requests)")


class OutagesTest(base.LabCase):
    """Faults below and around the driver."""

    def release_of(self, cluster: str) -> str:
        """Wait until a cluster has a release, and name it."""
        found: str = self.until(
            lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
        )
        return found

    def test_without_a_kubeconfig_create_says_so(self) -> None:
        self.configure(kubeconfig_file="/nonexistent/kubeconfig")
        cluster = self.cluster(self.template())
        failed = self.until_status(cluster, ("CREATE_FAILED",), 60)
        self.assertEqual(
            "no kubeconfig at /nonexistent/kubeconfig: set [capi_helm] "
            "kubeconfig_file to a kubeconfig of the management cluster",
            failed["status_reason"],
        )
        self.delete(cluster)

    def test_killed_magnum_and_unreachable_management_cluster(self) -> None:
        # One cluster for both: making one takes most of the time.
        template = self.template()
        living = self.cluster(template)
        release = self.release_of(living)
        self._magnum_killed_right_after_helm_ran(living, release)
        elsewhere = programs.LAB / "nowhere.kubeconfig"
        text = (programs.LAB / "kubeconfig").read_text()
        elsewhere.write_text(text.replace(":16443", ":16444"))
        self.addCleanup(elsewhere.unlink)
        self.configure(kubeconfig_file=str(elsewhere))

        refused = self.cluster(template)
        failed = self.until_status(refused, ("CREATE_FAILED",), 60)
        self.assertIn(
            "the management cluster does not answer", failed["status_reason"]
        )
        self.assertIn("https://127.0.0.1:16444", failed["status_reason"])
        self.delete(refused)

        self.magnum.call("DELETE", f"/clusters/{living}")
        waiting = self.until(
            lambda: self._reason(living, "deletion waits: "), 60
        )
        self.assertEqual("DELETE_IN_PROGRESS", waiting["status"])
        self.assertIn("does not answer", waiting["status_reason"])
        self.reset()
        self.until(lambda: self.magnum.find(living) is None, 120)
        self.assert_all_gone(release)

    def _magnum_killed_right_after_helm_ran(
        self, cluster: str, release: str
    ) -> None:
        self.until(lambda: self._revisions(release), 60)
        programs.lab("stop", "magnum", "--kill")
        programs.lab("start", "magnum")
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"])
        self.assertEqual(1, len(self.credentials_of(cluster)))

    def test_api_server_away_for_a_minute_during_create(self) -> None:
        cluster = self.cluster(self.template())
        machine = self.until(
            lambda: self._machine(self.release_of(cluster)), 60
        )
        self._hold(machine, "1")
        logged = len(base.magnum_log())
        programs.lab("stop", "kube-apiserver")
        self.addCleanup(programs.lab, "up")
        stopped = time.monotonic()
        seen = set()
        while time.monotonic() < stopped + 60:
            seen.add((self.magnum.find(cluster) or {})["status"])
            time.sleep(1)
        programs.lab("start", "kube-apiserver")
        self._hold(machine, None)
        self.assertEqual({"CREATE_IN_PROGRESS"}, seen)
        new = base.magnum_log()[logged:]
        lines = [
            line
            for line in new.splitlines()
            if cluster in line and NOISE.search(line)
        ]
        # In a minute 20 status polls and 6 health polls, one line for each.
        self.assertTrue(1 <= len(lines) <= 30, lines)
        self.assertNotIn("Traceback", new)
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"])

    def _machine(self, release: str) -> str:
        """The Cluster's only OpenStackMachine, once its Machine exists."""
        selector = f"{view.CLUSTER_NAME_LABEL}={release}"
        scope = self.namespace, selector
        if not self.plane.list(kinds.MACHINE, *scope):
            return ""
        (machine,) = self.plane.list(kinds.OPENSTACK_MACHINE, *scope)
        return view.name_of(machine)

    def _hold(self, machine: str, value: str | None) -> None:
        """Keep a machine from booting, so that Cluster API has no work.

        If the API server stops between the creation of a Machine and its
        appearance in the cache, the control plane provider deletes the
        OpenStackMachine and keeps the Machine, which then never boots
        (cloneConfigsAndGenerateMachine in Cluster API 1.13.3).
        """
        self.plane.patch(
            kinds.OPENSTACK_MACHINE,
            self.namespace,
            machine,
            {"metadata": {"annotations": {"lab.example.org/hold": value}}},
        )

    def _reason(self, cluster: str, text: str) -> dict[str, Any] | None:
        found = self.magnum.find(cluster)
        reason = (found or {}).get("status_reason") or ""
        return found if text in reason else None

    def _revisions(self, release: str) -> list[dict[str, Any]]:
        return self.plane.list(
            kinds.SECRET, self.namespace, f"owner=helm,name={release}"
        )
