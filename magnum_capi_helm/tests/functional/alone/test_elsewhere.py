# SPDX-License-Identifier: Apache-2.0

"""Magnum's kubeconfig names another management cluster for a while."""

from __future__ import annotations

import pathlib
import subprocess

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_PORT, _OTHER_PORT = "16443", "16543"
#: What is said of each cluster then.
_FOREIGN = "the management cluster is not the one that the cluster was made on"


class ElsewhereTest(base.LabCase):
    """The other one is empty but for the project's namespace."""

    def test_nothing_is_gone_because_it_is_not_there(self) -> None:
        going = self.cluster(self.template())
        living = self.cluster(self.template())
        for each in (going, living):
            self.until_status(each, ("CREATE_COMPLETE",))
        release = str((self.magnum.find(going) or {})["stack_id"])
        other = self._another_one()
        namespace = {"metadata": {"name": self.namespace}}
        other.apply(kinds.NAMESPACE, namespace)

        self.magnum.call("DELETE", f"/clusters/{going}")
        found = self._until_told(going, "status_reason")
        self.assertEqual("DELETE_IN_PROGRESS", found["status"])
        found = self._until_told(living, "health_status_reason")
        self.assertEqual("UNKNOWN", found["health_status"])
        self.assertEqual("CREATE_COMPLETE", found["status"])
        self.assertEqual(1, len(self.credentials_of(going)))
        for kind in (kinds.SECRET, kinds.LEASE):
            self.assertEqual([], other.list(kind, self.namespace), kind.name)

        self.reset()
        self.delete(going)
        self.assert_all_gone(release)
        self.until_health(living, "HEALTHY")

    def _until_told(self, cluster: str, field: str) -> dict[str, object]:
        def told() -> dict[str, object] | None:
            found = self.magnum.find(cluster) or {}
            return found if _FOREIGN in str(found[field]) else None

        found: dict[str, object] = self.until(told, 120, field)
        return found

    def _another_one(self) -> client.Client:
        """Start another API server, and Magnum with its kubeconfig."""
        server = subprocess.Popen(
            self._command(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        kubeconfig = programs.LAB / "elsewhere.kubeconfig"
        text = (programs.LAB / "kubeconfig").read_text()
        kubeconfig.write_text(text.replace(_PORT, _OTHER_PORT))
        self.addCleanup(kubeconfig.unlink)
        other = base.management(kubeconfig)
        self.until(lambda: self._answers(other), 60)
        self.configure(kubeconfig_file=str(kubeconfig))
        return other

    def _command(self) -> list[str]:
        """The lab's own one: another port, another corner of etcd."""
        record = (programs.LAB / "run" / "kube-apiserver.pid").read_text()
        running = pathlib.Path("/proc", record.split()[0], "cmdline")
        words = running.read_text().rstrip("\0").split("\0")
        return [
            *(each.replace(_PORT, _OTHER_PORT) for each in words),
            f"--etcd-prefix={self.unique('/elsewhere')}",
        ]

    def _answers(self, other: client.Client) -> bool:
        try:
            return bool(maintenance.Maintenance(other).read().identity)
        except errors.ManagementError:
            return False
