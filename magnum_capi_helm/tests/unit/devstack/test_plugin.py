# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The plugin in each phase of DevStack: every command that it runs.

DevStack's own functions are stubs, and so is what changes a machine.
"""

from __future__ import annotations

import stat

from oslotest import base

from magnum_capi_helm.tests.unit.tools import stubs
from magnum_capi_helm.tests.unit.tools import (
    test_install_management_cluster as installer,
)

_NAMES = (
    # DevStack's
    "define_plugin",
    "die",
    "iniset",
    "is_service_enabled",
    "plugin_requires",
    "setup_develop",
    "trueorfalse",
    # others'
    "clusterctl",
    "curl",
    "helm",
    "k3s-killall.sh",
    "k3s-uninstall.sh",
    "kubectl",
    "openstack",
    "sudo",
    "tar",
    "uname",
)
#: Those that say how the plugin came to be called.
_NOISE = (
    "define_plugin",
    "is_service_enabled",
    "plugin_requires",
    "trueorfalse",
    "uname",
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
_DATA = "T/data/magnum-capi-helm"
_K3S = "https://github.com/k3s-io/k3s/releases/download/v1.34.1%2Bk3s1"
_CURL = (
    "curl --fail --silent --show-error --location --proto =https --retry 3 "
    f"--connect-timeout 20 --max-time 900 --output {_DATA}/cache"
)

K3S = [
    f"{_CURL}/k3s/v1.34.1+k3s1/k3s.part {_K3S}/k3s",
    f"{_CURL}/k3s/v1.34.1+k3s1/k3s.sums {_K3S}/sha256sum-amd64.txt",
    f"{_CURL}/k3s/v1.34.1+k3s1/install.sh.part "
    "https://raw.githubusercontent.com/k3s-io/k3s/v1.34.1%2Bk3s1/install.sh",
    f"sudo install -m 0755 {_DATA}/cache/k3s/v1.34.1+k3s1/k3s "
    "/usr/local/bin/k3s",
    "sudo env INSTALL_K3S_SKIP_DOWNLOAD=true "
    "INSTALL_K3S_EXEC=server\\ --disable\\ traefik\\ --disable\\ servicelb\\ "
    f"--disable\\ metrics-server sh {_DATA}/cache/k3s/v1.34.1+k3s1/install.sh",
    "sudo cat /etc/rancher/k3s/k3s.yaml",
]
_CONF = "iniset T/magnum/magnum.conf"
CONFIGURED = [
    f"{_CONF} capi_helm kubeconfig_file T/magnum/capi-management.kubeconfig",
    f"{_CONF} capi_helm chart_store {_DATA}/charts",
    f"{_CONF} drivers default_driver k8s_capi_helm_v1",
    f"{_CONF} cluster_template kubernetes_allowed_network_drivers "
    "calico\\,cilium",
    f"{_CONF} cluster_template kubernetes_default_network_driver calico",
    f"{_CONF} kubernetes keystone_auth_default_policy "
    "T/magnum/keystone_auth_default_policy.json",
]
_ADMIN = "openstack --os-cloud devstack-admin"
IMAGE = [
    f"{_ADMIN} image show capi-v1.34.2",
    f"{_ADMIN} image create capi-v1.34.2 --public --file T/image.qcow2 "
    "--disk-format qcow2 --container-format bare --property os_distro=ubuntu "
    "--property kube_version=v1.34.2 --property "
    "magnum_driver=k8s_capi_helm_v1",
]
TEMPLATE = [
    "openstack coe cluster template create k8s-small --coe kubernetes "
    "--image capi-v1.34.2 --external-network public --flavor m1.medium "
    "--master-flavor m1.medium --network-driver calico --master-lb-enabled "
    "--floating-ip-enabled --labels monitoring_enabled=false --labels "
    "nvidia_gpu_operator_enabled=false --labels "
    "mellanox_network_operator_enabled=false --public",
]
DRIVER_USER = [
    "apply --filename ROOT/magnum_capi_helm/management/permissions.yaml",
    "apply --filename -",
    "config view --minify --raw --output "
    "jsonpath=\\{.clusters\\[0\\].cluster.server\\}",
    "get secret magnum-capi-helm-token --namespace magnum-capi-helm "
    "--output jsonpath=\\{.data.token\\}",
    "get secret magnum-capi-helm-token --namespace magnum-capi-helm "
    "--output jsonpath=\\{.data.ca\\\\.crt\\}",
]


def components(kubeconfig: str) -> list[str]:
    """What the installer of management clusters runs."""
    found = [
        *installer.READY,
        *installer.HELM,
        *installer.CERT_MANAGER,
        *installer.ORC,
        *installer.PROVIDER_FILES,
        *installer.NOBODYS,
        *installer.INIT,
        *installer.ADDONS,
        *installer.JANITOR,
        *(f"kubectl --kubeconfig T/kubeconfig {each}" for each in DRIVER_USER),
    ]
    return [
        each.replace("T/kubeconfig", kubeconfig).replace(
            "T/cache", f"{_DATA}/cache"
        )
        for each in found
    ]


class PluginTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.stubs = self.useFixture(stubs.Stubs(_NAMES, _ANSWERS))
        self.path = self.stubs.path
        policy = "etc/magnum/keystone_auth_default_policy.sample"
        for each in ("magnum", "source/etc/magnum"):
            (self.path / each).mkdir(parents=True)
        for each in ("image.qcow2", "given", f"source/{policy}"):
            (self.path / each).touch()
        self.settings = {
            "CAPI_HELM_DIR": str(stubs.ROOT),
            "CAPI_HELM_IMAGE": f"{self.path}/image.qcow2",
            "CAPI_HELM_IMAGE_KUBE_VERSION": "v1.34.2",
            "DATA_DIR": f"{self.path}/data",
            "DEST": "/opt/stack",
            "MAGNUM_CONF": f"{self.path}/magnum/magnum.conf",
            "MAGNUM_CONF_DIR": f"{self.path}/magnum",
            "MAGNUM_DIR": f"{self.path}/source",
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
        for name in (
            "pre-install",
            "install",
            "post-config",
            "extra",
            "test-config",
        ):
            found += self.phase("stack", name)
            self.assertEqual("", self.done.stderr, name)
            self.assertEqual(0, self.done.returncode, name)
        return found

    def test_stack_with_a_k3s_of_its_own(self) -> None:
        self.assertEqual(
            [
                "setup_develop ROOT",
                *K3S,
                *components(f"{_DATA}/admin.kubeconfig"),
                *CONFIGURED,
                *IMAGE,
                *TEMPLATE,
            ],
            self.stack(),
        )
        admin = self.path / "data" / "magnum-capi-helm" / "admin.kubeconfig"
        self.assertEqual("an administrator\n", admin.read_text())
        self.assertEqual(0o600, stat.S_IMODE(admin.stat().st_mode))

    def test_stack_with_a_management_cluster_that_is_given(self) -> None:
        self.given()
        self.assertEqual(
            [
                "setup_develop ROOT",
                *components("T/given"),
                *CONFIGURED,
                *IMAGE,
                *TEMPLATE,
            ],
            self.stack(),
        )

    def test_the_driver_is_no_administrator_there(self) -> None:
        self.given()
        (self.path / "given").write_text("an administrator")
        self.stack()
        used = self.path / "magnum" / "capi-management.kubeconfig"
        self.assertIn("token: secret-token", used.read_text())
        self.assertEqual(0o600, stat.S_IMODE(used.stat().st_mode))

    def test_stack_where_cluster_api_is_already(self) -> None:
        self.given()
        (self.path / "given").write_text("whoever")
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "False"
        self.assertEqual(
            ["setup_develop ROOT", *CONFIGURED, *IMAGE, *TEMPLATE],
            self.stack(),
        )
        used = self.path / "magnum" / "capi-management.kubeconfig"
        self.assertEqual("whoever", used.read_text())

    def test_stack_with_another_chart(self) -> None:
        self.given()
        self.settings["CAPI_HELM_CHART_VERSION"] = "0.23.0"
        commands = self.stack()
        self.assertIn(
            f"{_CONF} capi_helm default_helm_chart_version 0.23.0", commands
        )
        self.assertIn("--infrastructure openstack:v0.11.3", str(commands))

    def test_without_an_image_there_is_no_template(self) -> None:
        del self.settings["CAPI_HELM_IMAGE"]
        self.assertEqual([], self.phase("stack", "test-config"))
        self.assertEqual(
            "CAPI_HELM_IMAGE is empty: there will be no image or template\n",
            self.done.stdout,
        )
        self.assertEqual([], self.phase("unstack")[1:])

    def test_an_image_may_be_fetched(self) -> None:
        url = "https://images.example.org/ubuntu.qcow2"
        self.settings["CAPI_HELM_IMAGE"] = url
        commands = self.phase("stack", "test-config")
        self.assertEqual(
            f"{_CURL}/images/ubuntu.qcow2.part {url}", commands[1]
        )
        self.assertIn(f"--file {_DATA}/cache/images/ubuntu.qcow2", commands[2])

    def test_an_image_that_is_there_is_not_made_again(self) -> None:
        self.stubs.answer("openstack", "")
        self.assertEqual(
            [IMAGE[0], *TEMPLATE], self.phase("stack", "test-config")
        )

    def test_a_helm_is_installed_where_there_is_none(self) -> None:
        self.given()
        # That in the archive is a copy of it.
        (self.path / "bin" / "helm").rename(self.path / "helm")
        self.stubs.answer("tar", stubs.TAR.replace("bin/helm", "helm"))
        self.phase("stack", "install")
        commands = self.phase("stack", "install")
        self.assertEqual(
            f"sudo install -m 0755 {_DATA}/cache/helm/v3.17.3/helm "
            "/usr/local/bin/helm",
            commands[-1],
        )
        self.assertEqual(
            "sudo rm -f /usr/local/bin/helm", self.phase("clean")[-1]
        )

    def test_unstack_and_clean_remove_what_was_made(self) -> None:
        self.stack()
        self.assertEqual(
            [
                f"{_ADMIN} coe cluster template delete k8s-small",
                f"{_ADMIN} image delete capi-v1.34.2",
                "sudo k3s-killall.sh",
            ],
            self.phase("unstack"),
        )
        self.assertEqual(["sudo k3s-uninstall.sh"], self.phase("clean"))
        left = sorted(path.name for path in (self.path / "data").iterdir())
        self.assertEqual([], left)
        used = self.path / "magnum" / "capi-management.kubeconfig"
        self.assertFalse(used.exists())

    def test_unstack_goes_on_when_magnum_is_stopped(self) -> None:
        self.stubs.answer("openstack", "exit 1")
        self.assertEqual("sudo k3s-killall.sh", self.phase("unstack")[-1])
        self.assertEqual(0, self.done.returncode)

    def test_of_a_given_management_cluster_only_the_user_is_removed(
        self,
    ) -> None:
        self.given()
        self.stack()
        self.phase("unstack")
        self.assertEqual(
            [
                "kubectl --kubeconfig T/given delete --ignore-not-found "
                "--filename "
                "ROOT/magnum_capi_helm/management/permissions.yaml"
            ],
            self.phase("clean"),
        )

    def test_without_magnum_nothing_is_done(self) -> None:
        self.stubs.answer("is_service_enabled", "exit 1")
        self.assertEqual([], self.phase("stack", "install"))

    def test_bad_settings_are_refused_before_anything(self) -> None:
        for name, value, why in (
            (
                "CAPI_HELM_KUBECONFIG",
                "/nowhere",
                "there is no file /nowhere that can be read",
            ),
            (
                "CAPI_HELM_CHECKSUMS",
                "/nowhere",
                "there is no file /nowhere that can be read",
            ),
            (
                "CAPI_HELM_IMAGE",
                "/nowhere",
                "CAPI_HELM_IMAGE: there is no /nowhere",
            ),
            (
                "CAPI_HELM_IMAGE_KUBE_VERSION",
                "1.34",
                "CAPI_HELM_IMAGE_KUBE_VERSION is '1.34': give that of the "
                "image, such as v1.34.2",
            ),
            (
                "CAPI_HELM_TEMPLATE",
                "huge",
                "CAPI_HELM_TEMPLATE: there is no "
                "ROOT/samples/templates/huge.yaml",
            ),
        ):
            with self.subTest(name):
                kept = dict(self.settings)
                self.settings[name] = value
                commands = self.phase("stack", "pre-install")
                self.settings = kept
                self.assertEqual(1, self.done.returncode)
                self.assertEqual(
                    f"{why}\n", self.stubs.plain(self.done.stderr)
                )
                self.assertEqual(["die"], [c.split()[0] for c in commands])
