# SPDX-License-Identifier: Apache-2.0

"""The plugin in each phase of DevStack: every command that it runs."""

from __future__ import annotations

import shutil
import stat

from tools.tests.devstack import commands
from tools.tests.devstack import plugin
from tools.tests.tools import stubs


class PluginTest(plugin.PluginTestCase):
    def test_stack_installs_what_is_not_there(self) -> None:
        admin = self.path / "data" / "magnum-capi-helm" / "admin.kubeconfig"
        used = self.path / "magnum" / "capi-management.kubeconfig"
        given = commands.installer("T/given")
        for k3s, installed, components in (
            (
                commands.K3S,
                "True",
                commands.installer(f"{commands.DATA}/admin.kubeconfig"),
            ),
            ([], "True", given),
            ([], "False", []),
        ):
            if not k3s:
                self.given()
                (self.path / "given").write_text("an administrator")
            shutil.rmtree(self.path / "data", ignore_errors=True)
            self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = installed
            self.assertEqual(
                [
                    commands.HELM_ASKED,
                    "setup_develop ROOT",
                    commands.LINKED,
                    *k3s,
                    *components,
                    *commands.CONFIGURED,
                    *commands.IMAGE,
                    *commands.TEMPLATE,
                ],
                self.stack(),
            )
            if k3s:
                self.assertEqual("an administrator\n", admin.read_text())
                self.assertEqual(0o600, stat.S_IMODE(admin.stat().st_mode))
            # The driver is no administrator where the installer ran.
            self.assertIn(
                "token: secret-token" if components else "an administrator",
                used.read_text(),
            )
            self.assertEqual(0o600, stat.S_IMODE(used.stat().st_mode))

    def test_stack_with_another_chart(self) -> None:
        self.given()
        self.settings["CAPI_HELM_CHART_VERSION"] = "0.23.0"
        found = self.stack()
        self.assertIn(
            f"{commands.CONF} capi_helm default_helm_chart_version 0.23.0",
            found,
        )
        self.assertIn("--infrastructure openstack:v0.11.3", str(found))

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
        found = self.phase("stack", "test-config")
        self.assertEqual(
            f"{commands.CURL}/images/ubuntu.qcow2.part {url}", found[1]
        )
        self.assertIn(
            f"--file {commands.DATA}/cache/images/ubuntu.qcow2", found[2]
        )

    def test_an_image_is_made_once_and_again_unless_it_is_whole(self) -> None:
        for status, changes in (
            ("active", []),
            (
                "queued",
                [
                    f"{commands.ADMIN} image delete capi-v1.34.2",
                    *commands.IMAGE[1:],
                ],
            ),
        ):
            self.stubs.answer("openstack", f"echo {status}")
            self.assertEqual(
                [commands.IMAGE[0], *changes, *commands.TEMPLATE],
                self.phase("stack", "test-config"),
            )

    def test_a_helm_is_installed_where_there_is_none(self) -> None:
        self.given()
        # That in the archive is a copy of it.
        (self.path / "bin" / "helm").rename(self.path / "helm")
        self.stubs.answer("tar", stubs.TAR.replace("bin/helm", "helm"))
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "False"
        self.assertEqual(
            [
                "setup_develop ROOT",
                commands.LINKED,
                *commands.HELM_FETCHED,
                commands.HELM_INSTALLED,
            ],
            self.phase("stack", "install"),
        )
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "True"
        found = self.phase("stack", "install")
        self.assertEqual(commands.HELM_INSTALLED, found[-1])
        self.assertIn("sudo rm -f /usr/local/bin/helm", self.phase("clean"))

    def test_a_helm_that_is_too_old_is_refused_before_anything(self) -> None:
        for version, code in (
            ("v3.9.4", 1),
            ("v3.15.4", 1),
            ("v3.16.0", 0),
            ("v3.16.1+g5a5449d", 0),
            ("v4.2.0", 0),
        ):
            self.stubs.answer("helm", f"echo {version}")
            self.phase("stack", "pre-install")
            self.assertEqual(code, self.done.returncode, version)
            self.assertEqual(
                f"T/bin/helm is {version[1:]}: upgrade it to 3.16 or "
                "later, or remove it, and one is installed\n"
                if code
                else "",
                self.stubs.plain(self.done.stderr),
            )

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
                    f"{commands.ADMIN} coe cluster template delete k8s-small",
                    f"{commands.ADMIN} image delete capi-v1.34.2",
                    "sudo k3s-killall.sh",
                ],
                self.phase("unstack"),
            )
            self.assertEqual(
                ["sudo k3s-uninstall.sh", commands.UNLINKED],
                self.phase("clean"),
            )
            self.assertEqual([], list((self.path / "data").iterdir()))
            self.assertEqual([], list((self.path / "magnum").iterdir()))
        self.assertEqual(
            ["filled-beforehand.tgz"], [path.name for path in store.iterdir()]
        )

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
                "ROOT/magnum_capi_helm/kubernetes/permissions.yaml",
                commands.UNLINKED,
            ],
            self.phase("clean"),
        )

    def test_given_management_cluster_needs_kubectl_for_components(
        self,
    ) -> None:
        self.given()
        (self.path / "bin" / "kubectl").unlink()
        # This machine may have one.
        few = self.path / "few"
        few.mkdir()
        for name in ("bash", "head", "mkdir", "sort"):
            (few / name).symlink_to(f"/bin/{name}")
        self.settings["PATH"] = f"{self.path}/bin:{few}"
        for installed, code in (("True", 1), ("False", 0)):
            self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = installed
            self.phase("stack", "pre-install")
            self.assertEqual(code, self.done.returncode, installed)
            self.assertEqual(
                "CAPI_HELM_KUBECONFIG: there is no kubectl to install "
                "components with; install one\n"
                if code
                else "",
                self.done.stderr,
            )

    def test_command_stays_where_pip_puts_it_without_an_environment(
        self,
    ) -> None:
        self.given()
        self.settings["GLOBAL_VENV"] = "False"
        self.assertNotIn(commands.LINKED, self.phase("stack", "install"))
        self.assertNotIn(commands.UNLINKED, self.phase("clean"))
        self.stubs.answer("is_service_enabled", "exit 1")
        self.assertEqual([], self.phase("stack", "install"))

    def test_bad_settings_are_refused_before_anything(self) -> None:
        unread = "there is no file /nowhere that can be read"
        for name, value, why in (
            ("CAPI_HELM_KUBECONFIG", "/nowhere", unread),
            ("CAPI_HELM_CHECKSUMS", "/nowhere", unread),
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
            kept = dict(self.settings)
            self.settings[name] = value
            found = self.phase("stack", "pre-install")
            self.settings = kept
            self.assertEqual(1, self.done.returncode, name)
            self.assertEqual(f"{why}\n", self.stubs.plain(self.done.stderr))
            self.assertEqual(["die"], [c.split()[0] for c in found])
