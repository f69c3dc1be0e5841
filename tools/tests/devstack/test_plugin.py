# SPDX-License-Identifier: Apache-2.0

"""The plugin in each phase of DevStack: every command that it runs."""

from __future__ import annotations

import stat

from tools.tests.devstack import commands
from tools.tests.devstack import plugin
from tools.tests.tools import stubs


class PluginTest(plugin.PluginTestCase):
    def test_stack_with_a_k3s_of_its_own(self) -> None:
        self.assertEqual(
            [
                commands.HELM_ASKED,
                "setup_develop ROOT",
                commands.LINKED,
                *commands.K3S,
                *commands.installer(f"{commands.DATA}/admin.kubeconfig"),
                *commands.CONFIGURED,
                *commands.IMAGE,
                *commands.TEMPLATE,
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
                commands.HELM_ASKED,
                "setup_develop ROOT",
                commands.LINKED,
                *commands.installer("T/given"),
                *commands.CONFIGURED,
                *commands.IMAGE,
                *commands.TEMPLATE,
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
            [
                commands.HELM_ASKED,
                "setup_develop ROOT",
                commands.LINKED,
                *commands.CONFIGURED,
                *commands.IMAGE,
                *commands.TEMPLATE,
            ],
            self.stack(),
        )
        used = self.path / "magnum" / "capi-management.kubeconfig"
        self.assertEqual("whoever", used.read_text())

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

    def test_an_image_that_is_there_is_not_made_again(self) -> None:
        self.stubs.answer("openstack", "echo active")
        self.assertEqual(
            [commands.IMAGE[0], *commands.TEMPLATE],
            self.phase("stack", "test-config"),
        )

    def test_an_image_that_was_not_uploaded_whole_is_made_again(self) -> None:
        self.stubs.answer("openstack", "echo queued")
        self.assertEqual(
            [
                commands.IMAGE[0],
                f"{commands.ADMIN} image delete capi-v1.34.2",
                *commands.IMAGE[1:],
                *commands.TEMPLATE,
            ],
            self.phase("stack", "test-config"),
        )

    def without_helm(self) -> None:
        """None on the PATH; that in the archive is a copy of it."""
        (self.path / "bin" / "helm").rename(self.path / "helm")
        self.stubs.answer("tar", stubs.TAR.replace("bin/helm", "helm"))

    def test_a_helm_is_installed_where_there_is_none(self) -> None:
        self.given()
        self.without_helm()
        self.phase("stack", "install")
        found = self.phase("stack", "install")
        self.assertEqual(commands.HELM_INSTALLED, found[-1])
        self.assertIn("sudo rm -f /usr/local/bin/helm", self.phase("clean"))

    def test_a_helm_is_installed_where_cluster_api_is_already(self) -> None:
        self.given()
        self.without_helm()
        self.settings["CAPI_HELM_INSTALL_COMPONENTS"] = "False"
        self.assertEqual(
            [*commands.HELM_FETCHED, commands.HELM_INSTALLED],
            [
                each
                for each in self.phase("stack", "install")
                if each != commands.LINKED
                and not each.startswith("setup_develop")
            ],
        )
        self.assertEqual(0, self.done.returncode, self.done.stderr)

    def test_a_helm_that_is_too_old_is_refused_before_anything(self) -> None:
        for version, refused in (
            ("v3.9.4", True),
            ("v3.15.4", True),
            ("v3.16.0", False),
            ("v3.16.1+g5a5449d", False),
            ("v4.2.0", False),
        ):
            with self.subTest(version):
                self.stubs.answer("helm", f"echo {version}")
                self.phase("stack", "pre-install")
                self.assertEqual(int(refused), self.done.returncode)
                self.assertEqual(
                    f"T/bin/helm is {version[1:]}: upgrade it to 3.16 or "
                    "later, or remove it, and one is installed\n"
                    if refused
                    else "",
                    self.stubs.plain(self.done.stderr),
                )

    def test_unstack_and_clean_remove_what_was_made(self) -> None:
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
            ["sudo k3s-uninstall.sh", commands.UNLINKED], self.phase("clean")
        )
        left = sorted(path.name for path in (self.path / "data").iterdir())
        self.assertEqual([], left)
        used = self.path / "magnum" / "capi-management.kubeconfig"
        self.assertFalse(used.exists())

    def test_clean_leaves_a_chart_store_elsewhere(self) -> None:
        store = self.path / "charts"
        store.mkdir()
        (store / "filled-beforehand.tgz").touch()
        self.settings["CAPI_HELM_CHART_STORE"] = str(store)
        self.stack()
        self.phase("clean")
        self.assertEqual(
            ["filled-beforehand.tgz"], [path.name for path in store.iterdir()]
        )
        self.assertEqual([], list((self.path / "data").iterdir()))

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
                found = self.phase("stack", "pre-install")
                self.settings = kept
                self.assertEqual(1, self.done.returncode)
                self.assertEqual(
                    f"{why}\n", self.stubs.plain(self.done.stderr)
                )
                self.assertEqual(["die"], [c.split()[0] for c in found])
