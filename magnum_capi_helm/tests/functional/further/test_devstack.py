# SPDX-License-Identifier: Apache-2.0

"""The DevStack plugin, from stack to unstack, on the lab's cloud and plane.

What it needs of DevStack itself is played; ``openstack``, ``kubectl``, Magnum,
Glance and the management cluster are real.
"""

from __future__ import annotations

import os
import pathlib
import stat
import struct
import subprocess

import fixtures
import yaml

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

#: DevStack's functions. That of options writes the file, as the real one.
_DEVSTACK = r"""
set -eu
function define_plugin { :; }
function plugin_requires { :; }
function is_service_enabled { :; }
function setup_develop { :; }
function trueorfalse { echo "${!2:-$1}"; }
function die { echo "${*:2}" >&2; exit 1; }
function iniset {
    python3 - "$@" <<'END'
import configparser
import sys

path, section, option, value = sys.argv[1:]
found = configparser.RawConfigParser(strict=False)
found.read(path)
if not found.has_section(section):
    found.add_section(section)
found.set(section, option, value)
with open(path, "w") as sink:
    found.write(sink)
END
}
source "$CAPI_HELM_DIR/devstack/settings"
source "$CAPI_HELM_DIR/devstack/plugin.sh" "$@"
"""
#: A management cluster that is given has Cluster API; this makes the rest.
_DRIVER_USER = r"""
set -eu
source "$0/tools/management-cluster/download.sh"
source "$0/tools/management-cluster/driver-user.sh"
KUBECONFIG_FILE=$1 DRIVER_KUBECONFIG=$2 DRY_RUN=""
make_driver_user "$0/magnum_capi_helm/kubernetes/permissions.yaml"
"""
_CONF = programs.LAB / "cloud" / "magnum" / "magnum.conf"
_PROPERTIES = ("os_distro", "kube_version", "magnum_driver")
_PHASES = ("pre-install", "install", "post-config", "extra", "test-config")


def _qcow2() -> bytes:
    """A disk of a mebibyte with nothing on it: Glance looks what it is.

    https://gitlab.com/qemu-project/qemu/-/blob/master/docs/interop/qcow2.rst
    """
    cluster_bits = 16
    cluster = 1 << cluster_bits
    header = struct.pack(
        ">4sIQIIQIIQQIIQ",
        b"QFI\xfb",
        2,  # version
        0,  # no backing file
        0,
        cluster_bits,
        1 << 20,
        0,  # not encrypted
        1,  # one entry of the first table, which follows the other two
        3 * cluster,
        cluster,
        1,
        0,  # no snapshots
        0,
    )
    return header.ljust(4 * cluster, b"\0")


class DevStackTest(base.LabCase):
    """A host of DevStack, whose management cluster was there already."""

    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = self.home / "magnum.conf"
        self.conf.write_text(_CONF.read_text())
        self.kubeconfig = self.home / "given"
        image = self.home / "image.qcow2"
        image.write_bytes(_qcow2())
        self.name = self.unique("devstack")
        self.env = {
            **os.environ,
            "CAPI_HELM_DIR": str(programs.CHECKOUT),
            "CAPI_HELM_EXTERNAL_NETWORK": "public",
            "CAPI_HELM_FLAVOR": "m1.control",
            "CAPI_HELM_IMAGE": str(image),
            "CAPI_HELM_IMAGE_KUBE_VERSION": "v1.34.2",
            "CAPI_HELM_IMAGE_NAME": self.name,
            "CAPI_HELM_INSTALL_COMPONENTS": "False",
            "CAPI_HELM_KUBECONFIG": str(self.kubeconfig),
            "DATA_DIR": str(self.home / "data"),
            "DEST": str(self.home),
            "MAGNUM_CONF": str(self.conf),
            "MAGNUM_CONF_DIR": str(self.home),
            "MAGNUM_DIR": str(self.home / "magnum"),
            "OS_CLIENT_CONFIG_FILE": str(self._clouds()),
            "PATH": os.pathsep.join(
                [
                    str(programs.LAB / "venv" / "bin"),
                    str(programs.LAB / "bin"),
                    os.environ["PATH"],
                ]
            ),
        }

    def _clouds(self) -> pathlib.Path:
        """DevStack's name for the cloud's administrator."""
        known = yaml.safe_load((programs.LAB / "clouds.yaml").read_text())
        path = self.home / "clouds.yaml"
        path.touch(0o600)
        clouds = {"clouds": {"devstack-admin": known["clouds"]["admin"]}}
        path.write_text(yaml.safe_dump(clouds))
        return path

    def _bash(self, script: str, *words: str) -> str:
        done = subprocess.run(
            ["bash", "-c", script, *words],
            cwd=self.home,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=180 * base.SLOWER,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_what_stack_makes_works_and_unstack_removes_it(self) -> None:
        self._bash(
            _DRIVER_USER,
            str(programs.CHECKOUT),
            str(programs.LAB / "kubeconfig"),
            str(self.kubeconfig),
        )
        self.addCleanup(self._bash, _DEVSTACK, "devstack", "unstack")
        for phase in _PHASES:
            self._bash(_DEVSTACK, "devstack", "stack", phase)
        self._assert_configured()

        cluster = self.cluster("k8s-small", keypair="demo")
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        self.assertEqual("v1.34.2", made["coe_version"])
        self.delete(cluster)

        self._bash(_DEVSTACK, "devstack", "unstack")
        for kind in ("image", "coe cluster template"):
            left = self._openstack(f"{kind} list -f value -c name")
            self.assertNotIn("k8s-small", left.split())
            self.assertNotIn(self.name, left.split())
        self._bash(_DEVSTACK, "devstack", "clean")
        self.assertFalse((self.home / "data" / "magnum-capi-helm").exists())

    def _assert_configured(self) -> None:
        """Conductors with these options would do their work."""
        used = self.home / "capi-management.kubeconfig"
        self.assertEqual(0o600, stat.S_IMODE(used.stat().st_mode))
        checked = self._bash(
            'magnum-capi-helm --config-file "$MAGNUM_CONF" check 2>&1'
        )
        self.assertNotIn("FAILED", checked.upper())
        image = self._openstack(f"image show {self.name} -f json")
        properties = yaml.safe_load(image)["properties"]
        self.assertEqual(
            ("ubuntu", "v1.34.2", "k8s_capi_helm_v1"),
            tuple(map(properties.get, _PROPERTIES)),
        )

    def _openstack(self, words: str) -> str:
        return self._bash(f"openstack --os-cloud devstack-admin {words}")
