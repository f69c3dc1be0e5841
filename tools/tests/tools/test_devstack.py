# SPDX-License-Identifier: Apache-2.0

"""The DevStack plugin, called as DevStack calls it.

DevStack's own functions are stubs, and so is all that changes a machine.
"""

from __future__ import annotations

import shutil
import stat

from tools.tests.tools import stubs

#: How the plugin came to be called.
_NOISE = ("define_plugin", "is_service_enabled", "plugin_requires")
_ANSWERS = {
    **dict.fromkeys(_NOISE, ""),
    # The installer of management clusters, which has tests of its own.
    "bash": 'mkdir -p "${7%/*}"; echo "the driver" >"$7"',
    "curl": stubs.CURL,
    "die": 'echo "${*:2}" >&2; exit 1',
    **dict.fromkeys(("helm", "iniset", "kubectl", "setup_develop"), ""),
    **dict.fromkeys(("k3s-killall.sh", "k3s-uninstall.sh"), ""),
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
_LINK = "sudo ln -sf T/data/venv/bin/magnum-capi-helm /usr/local/bin/"
_UNLINK = "sudo rm -f /usr/local/bin/magnum-capi-helm"
_HELM = (
    f"sudo install -m 0755 {_DATA}/cache/helm/v3.17.3/helm /usr/local/bin/helm"
)
_ADMIN = "openstack --os-cloud devstack-admin"
_SHOW = f"{_ADMIN} image show capi-v1.34.2 --format value --column status"
_K3S = (
    "https://github.com/k3s-io/k3s/releases/download/v1.34.1%2Bk3s1/k3s",
    "/releases/download/v1.34.1%2Bk3s1/sha256sum-amd64.txt",
    "https://raw.githubusercontent.com/k3s-io/k3s/v1.34.1%2Bk3s1/install.sh",
    f"sudo install -m 0755 {_DATA}/cache/k3s/v1.34.1+k3s1/k3s "
    "/usr/local/bin/k3s",
    "sudo env INSTALL_K3S_SKIP_DOWNLOAD=true "
    "INSTALL_K3S_EXEC=server\\ --disable\\ traefik\\ --disable\\ servicelb\\ "
    f"--disable\\ metrics-server sh {_DATA}/cache/k3s/v1.34.1+k3s1/install.sh",
    "sudo cat /etc/rancher/k3s/k3s.yaml",
)
_CONF = "iniset T/magnum/magnum.conf"
_CONFIGURED = (
    f"{_CONF} capi_helm kubeconfig_file T/magnum/capi-management.kubeconfig",
    f"{_CONF} capi_helm chart_store {_DATA}/charts",
    f"{_CONF} drivers default_driver k8s_capi_helm_v1",
    f"{_CONF} cluster_template kubernetes_allowed_network_drivers "
    "calico\\,cilium",
    f"{_CONF} cluster_template kubernetes_default_network_driver calico",
)
_IMAGE = (
    f"{_ADMIN} image create capi-v1.34.2 --public --file T/image.qcow2 "
    "--disk-format qcow2 --container-format bare --property os_distro=ubuntu "
    "--property kube_version=v1.34.2 --property "
    "magnum_driver=k8s_capi_helm_v1"
)
_TEMPLATE = (
    "openstack coe cluster template create k8s-small --coe=kubernetes "
    "--image=capi-v1.34.2 --external-network=public --flavor=m1.medium "
    "--master-flavor=m1.medium "
)
_UNREAD = "there is no file /nowhere that can be read"
#: Setting, its value, why the plugin refuses it.
_REFUSALS = (
    ("CAPI_HELM_KUBECONFIG", "/nowhere", _UNREAD),
    ("CAPI_HELM_CHECKSUMS", "/nowhere", _UNREAD),
    ("CAPI_HELM_IMAGE", "/nowhere", "CAPI_HELM_IMAGE: there is no /nowhere"),
    (
        "CAPI_HELM_IMAGE_KUBE_VERSION",
        "1.34",
        "CAPI_HELM_IMAGE_KUBE_VERSION is '1.34': give that of the image, such "
        "as v1.34.2",
    ),
    (
        "CAPI_HELM_TEMPLATE",
        "huge",
        "CAPI_HELM_TEMPLATE: there is no ROOT/samples/templates/huge.yaml",
    ),
)


def _installer(kubeconfig: str) -> str:
    """Return the beginning of the command that installs Cluster API."""
    return (
        "bash ROOT/tools/install-management-cluster.sh --kubeconfig "
        f"{kubeconfig} --cache {_DATA}/cache --driver-kubeconfig "
        f"{_DATA}/driver.kubeconfig"
    )


class PluginTest(stubs.ScriptTestCase):
    answers = _ANSWERS

    def setUp(self) -> None:
        super().setUp()
        (self.path / "magnum").mkdir()
        for each in ("image.qcow2", "given"):
            (self.path / each).write_text("an administrator")
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
        noise = (*_NOISE, "trueorfalse", "uname")
        commands = self.stubs.commands()
        return [each for each in commands if each.split()[0] not in noise]

    def refusal(self) -> str:
        """The error of the first phase, which changes nothing."""
        for each in self.phase("stack", "pre-install"):
            self.assertIn(each.split()[0], ("die", "helm"))
        self.assertEqual(1, self.done.returncode)
        return self.stubs.plain(self.done.stderr)

    def stack(self) -> list[str]:
        """All calls that stack.sh makes."""
        found = []
        for name in (
            *("pre-install", "install", "post-config", "extra"),
            "test-config",
        ):
            found += self.phase("stack", name)
            self.assertEqual("", self.done.stderr, name)
            self.assertEqual(0, self.done.returncode, name)
        return found

    def test_stack_installs_what_is_not_there(self) -> None:
        admin = self.path / "data" / "magnum-capi-helm" / "admin.kubeconfig"
        used = self.path / "magnum" / "capi-management.kubeconfig"
        ours = f"{_DATA}/admin.kubeconfig"
        for installed, steps, user in (
            ("True", [*_K3S, _installer(ours)], "the driver\n"),
            ("True", [_installer("T/given")], "the driver\n"),
            ("False", [], "an administrator"),
        ):
            if _K3S[0] not in steps:
                self.given()
            shutil.rmtree(self.path / "data", ignore_errors=True)
            self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = installed
            configured = ("setup_develop ROOT", _LINK, *steps, *_CONFIGURED)
            self.assert_commands(
                ["helm version", *configured, _SHOW, _IMAGE, _TEMPLATE],
                self.stack(),
            )
            if _K3S[0] in steps:
                self.assertEqual("an administrator\n", admin.read_text())
                self.assertEqual(0o600, stat.S_IMODE(admin.stat().st_mode))
            # The driver is no administrator where the installer ran.
            self.assertEqual(user, used.read_text())
            self.assertEqual(0o600, stat.S_IMODE(used.stat().st_mode))

    def test_stack_takes_the_chart_and_the_checksums_of_settings(self) -> None:
        self.given()
        self.settings["CAPI_HELM_CHART_VERSION"] = "0.23.0"
        self.settings["CAPI_HELM_CHECKSUMS"] = f"{self.path}/given"
        found = self.stack()
        self.assertIn(
            f"{_CONF} capi_helm default_helm_chart_version 0.23.0", found
        )
        options = "--chart 0.23.0 --checksums T/given"
        self.assertIn(f"{_installer('T/given')} {options}", found)

    def test_template_needs_an_image(self) -> None:
        del self.settings["CAPI_HELM_IMAGE"]
        self.assertEqual([], self.phase("stack", "test-config"))
        self.assertEqual(
            "CAPI_HELM_IMAGE is empty: there will be no image or template\n",
            self.done.stdout,
        )
        self.assertEqual([], self.phase("unstack")[1:])

    def test_image_is_made_once_and_again_unless_it_is_whole(self) -> None:
        url = "https://images.example.org/ubuntu.qcow2"
        file = f"{_DATA}/cache/images/ubuntu.qcow2"
        for setting, answer, changes in (
            ("", "echo active", []),
            (
                "",
                "echo queued",
                [f"{_ADMIN} image delete capi-v1.34.2", _IMAGE],
            ),
            (url, "exit 1", [f"{file}.part {url}", f"--file {file} "]),
        ):
            self.stubs.answer(
                "openstack", f'[[ $* != *"image show"* ]] || {answer}'
            )
            if setting:
                self.settings["CAPI_HELM_IMAGE"] = setting
            self.assert_commands(
                [_SHOW, *changes, _TEMPLATE],
                self.phase("stack", "test-config"),
            )

    def test_helm_is_installed_where_there_is_none(self) -> None:
        self.given()
        # That in the archive is a copy of it.
        (self.path / "bin" / "helm").rename(self.path / "helm")
        self.stubs.answer("tar", stubs.TAR.replace("bin/helm", "helm"))
        archive = "https://get.helm.sh/helm-v3.17.3-linux-amd64.tar.gz"
        fetched = (archive, f"{archive}.sha256sum", "tar --extract ")
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "False"
        self.assert_commands(
            ["setup_develop ROOT", _LINK, *fetched, _HELM],
            self.phase("stack", "install"),
        )
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "True"
        self.assertEqual(_HELM, self.phase("stack", "install")[-1])
        self.assertIn("sudo rm -f /usr/local/bin/helm", self.phase("clean"))

    def test_helm_that_is_too_old_is_refused_before_anything(self) -> None:
        for version in ("v3.9.4", "v3.15.4"):
            self.stubs.answer("helm", f"echo {version}")
            self.assertEqual(
                f"T/bin/helm is {version[1:]}: upgrade it to 3.16 or later, "
                "or remove it, and one is installed\n",
                self.refusal(),
            )
        for version in ("v3.16.0", "v3.16.1+g5a5449d", "v4.2.0"):
            self.stubs.answer("helm", f"echo {version}")
            self.phase("stack", "pre-install")
            self.assertEqual(0, self.done.returncode, version)

    def test_unstack_and_clean_remove_what_was_made(self) -> None:
        store = self.path / "charts"
        store.mkdir()
        (store / "filled-beforehand.tgz").touch()
        for elsewhere in (False, True):
            if elsewhere:
                self.settings["CAPI_HELM_CHART_STORE"] = str(store)
            self.stack()
            self.assertEqual(
                [
                    f"{_ADMIN} coe cluster template delete k8s-small",
                    f"{_ADMIN} image delete capi-v1.34.2",
                    "sudo k3s-killall.sh",
                ],
                self.phase("unstack"),
            )
            self.assertEqual(
                ["sudo k3s-uninstall.sh", _UNLINK], self.phase("clean")
            )
            self.assertEqual([], list((self.path / "data").iterdir()))
            self.assertEqual([], list((self.path / "magnum").iterdir()))
        self.assertTrue((store / "filled-beforehand.tgz").exists())
        # Magnum may be stopped.
        self.stubs.answer("openstack", "exit 1")
        self.assertEqual("sudo k3s-killall.sh", self.phase("unstack")[-1])
        self.assertEqual(0, self.done.returncode)

    def test_clean_removes_the_user_from_a_given_cluster(self) -> None:
        self.given()
        self.stack()
        self.phase("unstack")
        file = "ROOT/magnum_capi_helm/kubernetes/permissions.yaml"
        self.assertEqual(
            [
                "kubectl --kubeconfig T/given delete --ignore-not-found "
                f"--filename {file}",
                _UNLINK,
            ],
            self.phase("clean"),
        )

    def test_given_cluster_needs_kubectl_for_components(self) -> None:
        self.given()
        (self.path / "bin" / "kubectl").unlink()
        # This machine may have one.
        few = self.path / "few"
        few.mkdir()
        for name in ("head", "mkdir", "sort"):
            (few / name).symlink_to(f"/bin/{name}")
        self.settings["PATH"] = f"{self.path}/bin:{few}"
        self.assertEqual(
            "CAPI_HELM_KUBECONFIG: there is no kubectl to install components "
            "with; install one\n",
            self.refusal(),
        )
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "False"
        self.phase("stack", "pre-install")
        self.assertEqual(0, self.done.returncode)

    def test_command_is_linked_for_an_environment_alone(self) -> None:
        self.given()
        self.settings["GLOBAL_VENV"] = "False"
        self.assertNotIn(_LINK, self.phase("stack", "install"))
        self.assertNotIn(_UNLINK, self.phase("clean"))

    def test_plugin_does_nothing_without_magnum(self) -> None:
        self.stubs.answer("is_service_enabled", "exit 1")
        self.assertEqual([], self.phase("stack", "install"))

    def test_bad_settings_are_refused_before_anything(self) -> None:
        for name, value, why in _REFUSALS:
            kept = dict(self.settings)
            self.settings[name] = value
            self.assertEqual(f"{why}\n", self.refusal())
            self.settings = kept
