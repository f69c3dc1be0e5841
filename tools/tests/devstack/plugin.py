# SPDX-License-Identifier: Apache-2.0

"""The plugin, called as DevStack calls it, among stubs.

DevStack's own functions are stubs, and so is what changes a machine.
"""

from __future__ import annotations

from oslotest import base

from tools.tests.tools import installer
from tools.tests.tools import stubs

#: How the plugin came to be called.
_NOISE = (
    *("define_plugin", "is_service_enabled", "plugin_requires"),
    *("trueorfalse", "uname"),
)
_NAMES = (
    *_NOISE,
    # DevStack's
    *("die", "iniset", "setup_develop"),
    # others'
    *("clusterctl", "curl", "helm", "k3s-killall.sh", "k3s-uninstall.sh"),
    *("kubectl", "openstack", "sudo", "tar"),
)
_ANSWERS = {
    "curl": stubs.CURL,
    "die": 'echo "${*:2}" >&2; exit 1',
    "kubectl": installer.KUBECTL,
    # There is no such image yet.
    "openstack": '[[ $* != *"image show"* ]] || exit 1',
    "sudo": '[[ $1 != cat ]] || echo "an administrator"',
    "tar": stubs.TAR,
    "trueorfalse": 'echo "${!2:-$1}"',
    "uname": "echo x86_64",
}
_PLUGIN = """
set -eu
source "$CAPI_HELM_DIR/devstack/settings"
source "$CAPI_HELM_DIR/devstack/plugin.sh" {}
"""


class PluginTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.stubs = self.useFixture(stubs.Stubs(_NAMES, _ANSWERS))
        self.path = self.stubs.path
        (self.path / "magnum").mkdir()
        for each in ("image.qcow2", "given"):
            (self.path / each).touch()
        self.settings = {
            "CAPI_HELM_DIR": str(stubs.ROOT),
            "CAPI_HELM_IMAGE": f"{self.path}/image.qcow2",
            "CAPI_HELM_IMAGE_KUBE_VERSION": "v1.34.2",
            "DATA_DIR": f"{self.path}/data",
            "DEST": "/opt/stack",
            "DEVSTACK_VENV": f"{self.path}/data/venv",
            "GLOBAL_VENV": "True",
            "MAGNUM_CONF": f"{self.path}/magnum/magnum.conf",
            "MAGNUM_CONF_DIR": f"{self.path}/magnum",
        }

    def given(self) -> None:
        """There is a management cluster already."""
        self.settings["CAPI_HELM_KUBECONFIG"] = f"{self.path}/given"

    def phase(self, *names: str) -> list[str]:
        """One call of the plugin by DevStack."""
        self.done = self.stubs.bash(
            "-c", _PLUGIN.format(" ".join(names)), **self.settings
        )
        return [
            each
            for each in self.stubs.commands()
            if each.split()[0] not in _NOISE
        ]

    def stack(self) -> list[str]:
        """All calls that stack.sh makes."""
        found = []
        phases = "pre-install install post-config extra test-config"
        for name in phases.split():
            found += self.phase("stack", name)
            self.assertEqual("", self.done.stderr, name)
            self.assertEqual(0, self.done.returncode, name)
        return found
