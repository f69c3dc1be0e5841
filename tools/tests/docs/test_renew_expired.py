# SPDX-License-Identifier: Apache-2.0

"""The script in samples/ that renews expired certificates, with a kubectl
that notes its calls."""

from __future__ import annotations

import os
import pathlib
import subprocess

import fixtures
from oslotest import base
import yaml

from tools import archives

_SCRIPT = archives.CHECKOUT / "samples" / "renew-expired-certificates.sh"
_KUBECTL = """\
#!/bin/sh
echo "$*" >> calls
case "$*" in
*"get nodes"*) echo "one two"; exit "$NODES" ;;
*"get pod"*) echo "kube-apiserver:v1" ;;
*create*) { echo ---; cat; } >> pods ;;
*wait*two*) exit "$TWO" ;;
esac
"""
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: renew-certificates-one}
spec:
  nodeName: one
  hostNetwork: true
  restartPolicy: Never
  automountServiceAccountToken: false
  tolerations: [{operator: Exists}]
  containers:
    - name: kubeadm
      image: kube-apiserver:v1
      imagePullPolicy: IfNotPresent
      command: [/kubeadm, certs, renew, all]
      securityContext: {runAsUser: 0}
      volumeMounts:
        - {name: kubeadm, mountPath: /kubeadm, readOnly: true}
        - {name: kubernetes, mountPath: /etc/kubernetes}
  volumes:
    - name: kubeadm
      hostPath: {path: /opt/bin/kubeadm, type: File}
    - name: kubernetes
      hostPath: {path: /etc/kubernetes, type: Directory}
"""


class RenewExpiredTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        kubectl = self.folder / "kubectl"
        kubectl.write_text(_KUBECTL)
        kubectl.chmod(0o755)

    def run_script(self, **env: str) -> int:
        """Return the exit code of the script."""
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", str(_SCRIPT)],
            cwd=self.folder,
            env={"PATH": path, "NODES": "0", "TWO": "0", **env},
            check=False,
        ).returncode

    def test_kubeadm_runs_on_each_node_without_scheduler(self) -> None:
        self.assertEqual(0, self.run_script(KUBEADM="/opt/bin/kubeadm"))
        first, second = yaml.safe_load_all((self.folder / "pods").read_text())
        self.assertEqual(yaml.safe_load(_POD), first)
        self.assertEqual(
            {"name": "renew-certificates-two"}, second["metadata"]
        )
        calls = (self.folder / "calls").read_text().splitlines()
        # Its certificate has expired, too.
        self.assertEqual(
            {"--insecure-skip-tls-verify"}, {c.split()[0] for c in calls}
        )

    def test_a_pod_that_does_not_succeed_ends_the_script(self) -> None:
        self.assertEqual(1, self.run_script(TWO="1"))
        last = (self.folder / "calls").read_text().splitlines()[-1]
        self.assertIn("wait", last)

    def test_an_api_that_does_not_answer_ends_the_script(self) -> None:
        self.assertEqual(1, self.run_script(NODES="1"))
        self.assertFalse((self.folder / "pods").exists())
