# SPDX-License-Identifier: Apache-2.0

"""The installer of management clusters, run among stubs."""

from __future__ import annotations

from oslotest import base

from tools.tests.tools import stubs

SCRIPT = str(stubs.ROOT / "tools" / "install-management-cluster.sh")

#: An empty management cluster, that has a token for whoever asks.
KUBECTL = """
case "$*" in
    *"data.token"*) echo -n secret-token | base64 ;;
    *"data.ca"*) echo Y2E= ;;
    *"--filename -") cat >/dev/null ;;
    *"config view"*) echo https://capi.example.org:6443 ;;
esac
"""
#: The same with what clusterctl installed.
INSTALLED = """
case "$*" in
    *"get crd"*) echo crd ;;
    *"get providers"*) printf '%s\\n' {} ;;
esac
"""


class InstallerTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        names = ("clusterctl", "curl", "helm", "kubectl", "tar", "uname")
        answers = {
            "clusterctl-linux-amd64": (
                "echo ignition=$EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION"
            ),
            "curl": stubs.CURL,
            "kubectl": KUBECTL,
            "tar": stubs.TAR,
            "uname": "echo x86_64",
        }
        self.stubs = self.useFixture(stubs.Stubs(names, answers))
        self.path = self.stubs.path
        (self.path / "kubeconfig").touch()

    def install(self, *argv: str) -> list[str]:
        """Run it; the commands without those that ask for the machine."""
        kubeconfig = ("--kubeconfig", f"{self.path}/kubeconfig")
        cache = ("--cache", f"{self.path}/cache")
        self.done = self.stubs.bash(SCRIPT, *kubeconfig, *cache, *argv)
        return [each for each in self.stubs.commands() if each != "uname -m"]

    def refusal(self, *argv: str) -> str:
        """The error of a run that changes nothing."""
        commands = self.install(*argv)
        self.assertEqual(1, self.done.returncode, self.done.stdout)
        changes = [
            each
            for each in commands
            if " apply " in each or each.startswith(("helm", "clusterctl"))
        ]
        self.assertEqual([], changes)
        return self.stubs.plain(self.done.stderr)
