# SPDX-License-Identifier: Apache-2.0

"""A management cluster with nothing on it, beside the lab's."""

from __future__ import annotations

import pathlib
import subprocess

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_PORT, _OTHER_PORT = "16443", "16543"
#: What is said of each cluster then.
FOREIGN = "the management cluster is not the one that the cluster was made on"


class ElsewhereCase(base.LabCase):
    """Magnum's kubeconfig names it for a while."""

    def another_one(self) -> client.Client:
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
