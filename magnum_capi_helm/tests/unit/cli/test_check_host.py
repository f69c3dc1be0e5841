# SPDX-License-Identifier: Apache-2.0

"""``check``: what is wrong with a host or its configuration."""

from __future__ import annotations

import os
import pathlib
from typing import Any
from unittest import mock

import fixtures
from magnum import objects
from oslotest import base

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import check_host
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base as flows


class HostChecksTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        self.home = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.store = self.home / "charts"
        conf.CONF.set_override("chart_store", str(self.store), "capi_helm")
        made = plane.Plane(str(self.store))
        self.helm = made.helm
        self.rt = made.runtime()
        flows.install(self, self.rt)

    def drivers(self, allowed: str, default: str) -> str:
        for name, value in (
            ("allowed_network_drivers", allowed.split(",")),
            ("default_network_driver", default),
        ):
            option = f"kubernetes_{name}"
            conf.CONF.set_override(option, value, "cluster_template")
        try:
            return check_host.check_network_drivers(self.rt)
        except errors.NotConfigured as error:
            return str(error)

    def refused(self, allowed: str, default: str) -> str:
        """What is said of options with which templates are refused."""
        return (
            "[cluster_template] kubernetes_allowed_network_drivers = "
            f"{allowed}, kubernetes_default_network_driver = {default}: "
            "Magnum or the driver refuses templates: allow calico or cilium, "
            "which the chart has, and choose the default among these"
        )

    def test_the_allowed_network_drivers_are_checked(self) -> None:
        both = "calico or cilium; the default is {}"
        rows = {
            ("calico,cilium", "calico"): both.format("calico"),
            ("calico,cilium", "cilium"): both.format("cilium"),
            ("all", "calico"): both.format("calico"),
            # Magnum's own.
            ("flannel,calico", "flannel"): "calico; the default is calico",
            **{
                wrong: self.refused(*wrong)
                for wrong in (
                    ("flannel", "flannel"),
                    ("calcio", "calico"),
                    ("cilium", "flannel"),
                    ("all", "weave"),
                )
            },
        }
        found = {row: self.drivers(*row) for row in rows}
        self.assertEqual(rows, found)

    def test_a_helm_that_is_too_old(self) -> None:
        for version, old in (
            ("v3.9.0", True),
            ("v3.15.4+g1a2b3c4", True),
            ("v2.17.0", True),
            ("v3.16.0", False),
            ("v3.20.2", False),
            ("v4.2.0", False),
            ("of a distribution", False),
        ):
            self.helm.installed = version
            try:
                said = check_host.check_helm(self.rt)
            except errors.NotConfigured as error:
                said = str(error)
            refusal = (
                f"helm {version} is too old: install helm 3.16 or later on "
                "the PATH of magnum-conductor"
            )
            self.assertEqual(refusal if old else version, said)

    def put(self, content: bytes) -> pathlib.Path:
        """Put a chart into the store by hand; the path of it."""
        path = self.store / "openstack-cluster-0.27.0.tgz"
        self.store.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def test_a_chart_that_was_put_there_by_hand_is_checked(self) -> None:
        path = self.put(b"<html>404 Not Found</html>")
        with self.assertRaisesRegex(
            errors.ChartUnavailable, f"^{path} is no packaged helm chart .*"
        ):
            check_host.check_chart(self.rt)

    def written(self) -> list[str]:
        """Each file and directory where the driver might write."""
        return sorted(
            str(each.relative_to(self.home)) for each in self.home.rglob("*")
        )

    def test_a_look_at_a_chart_writes_nothing(self) -> None:
        repository = conf.CONF.capi_helm.helm_chart_repo
        before = self.written()
        self.assertEqual(
            f"openstack-cluster 0.27.0 can be fetched from {repository}, and "
            f"will be stored in {self.store}",
            check_host.check_chart(self.rt),
        )
        self.assertEqual(before, self.written())
        self.helm.published = set()
        with self.assertRaisesRegex(
            errors.ChartUnavailable, "is not in the chart store and can't be"
        ):
            check_host.check_chart(self.rt)
        self.assertEqual(before, self.written())
        path = self.put(
            fake_chart.package("openstack-cluster", "0.27.0", {}, {})
        )
        before = self.written()
        self.assertEqual(str(path), check_host.check_chart(self.rt))
        self.assertEqual(before, self.written())

    def test_a_chart_store_that_can_t_be_written(self) -> None:
        text = f"{self.store} can't be written by user {os.geteuid()}"
        with (
            mock.patch("os.access", return_value=False),
            self.assertRaisesRegex(errors.NotConfigured, text),
        ):
            check_host.check_chart(self.rt)


_GONE = "/gone.yaml: No such file or directory"
_NO_FILE = (
    "no configuration file was found, so all options have their defaults: "
    "give --config-file"
)


class ConfigurationTest(command_case.CommandCase):
    def read(self, text: str) -> str:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = home / "magnum.conf"
        path.write_text(text)
        conf.CONF([], project="magnum", default_config_files=[str(path)])
        return str(path)

    def test_without_a_configuration_file_nothing_is_ok(self) -> None:
        conf.CONF([], project="magnum", default_config_files=[])
        self.assertEqual(("failed", _NO_FILE), self.checked()["configuration"])

    def test_files_and_directories_that_were_read_are_named(self) -> None:
        path = self.read("")
        self.assertEqual(("ok", path), self.checked()["configuration"])
        home = self.useFixture(fixtures.TempDir()).path
        conf.CONF(["--config-dir", home], default_config_files=[])
        self.assertEqual(("ok", home), self.checked()["configuration"])

    def test_the_files_of_the_options_are_read_as_a_create_does(self) -> None:
        [broken] = self.create_tempfiles([("broken", "- a list\n")])
        rows: list[tuple[str, object, str]] = [
            ("values_files", ["/gone.yaml"], f" {_GONE}"),
            ("values_files", [broken], f" {broken}: must be a mapping"),
            ("trusted_ca_files", ["/gone.yaml"], f" {_GONE}"),
            ("audit_policy_file", "/gone.yaml", f" {_GONE}"),
            ("registry_auth_file", "/gone.yaml", f" {_GONE}"),
            ("app_cred_access_rules", "/gone.yaml", f" {_GONE}"),
            (
                "registry_mirror",
                "https://m",
                "=https://m: give a registry such as "
                "mirror.example.org:5000/all, without https://",
            ),
        ]
        for name, value, words in rows:
            with self.subTest(f"{name} {value}"):
                conf.CONF.set_override(name, value, "capi_helm")
                self.assertEqual(
                    ("failed", f"[capi_helm] {name}{words}"),
                    self.checked()["configuration"],
                )
                conf.CONF.clear_override(name, "capi_helm")
        self.assertEqual("ok", self.checked()["configuration"][0])

    def test_all_that_is_wrong_is_told_at_once(self) -> None:
        for name in ("app_cred_access_rules", "audit_policy_file"):
            conf.CONF.set_override(name, "/gone.yaml", "capi_helm")
        self.assertEqual(
            f"[capi_helm] audit_policy_file {_GONE}; "
            f"[capi_helm] app_cred_access_rules {_GONE}",
            self.checked()["configuration"][1],
        )

    def test_a_default_label_that_is_not_allowed_is_named(self) -> None:
        self.read("[capi_helm_cluster_labels]\nboot_volume_size = abc\n")
        found = self.checked()
        self.assertEqual(
            (
                "failed",
                "[capi_helm_cluster_labels] boot_volume_size: 'abc' is not a "
                "whole number",
            ),
            found["configuration"],
        )
        self.assertEqual("ok", found["management cluster"][0])

    def test_options_without_which_nothing_starts_fail_alone(self) -> None:
        self.read("[capi_helm]\nhelm_timeout = abc\n")
        runtime.reset()
        self.assertEqual(
            {
                "configuration": (
                    "failed",
                    "[capi_helm] helm_timeout: invalid literal for int() with "
                    "base 10: 'abc'",
                )
            },
            self.checked(),
        )

    def test_an_unexpected_error_ends_one_check_alone(self) -> None:
        self.plane.management.kubeconfig = RuntimeError("two\nlines")
        found = self.checked()
        self.assertEqual(
            ("failed", "RuntimeError: two\\nlines"), found["kubeconfig"]
        )
        self.assertEqual("ok", found["helm"][0])


class TemplatesTest(command_case.CommandCase):
    def setUp(self) -> None:
        super().setUp()
        #: The cluster templates in Magnum's database.
        self.templates: list[Any] = []
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate, "list", lambda _: self.templates
            )
        )

    def line(self) -> tuple[str, str, int]:
        return *self.checked()["templates"], self.code

    def test_templates_and_labels_are_listed(self) -> None:
        lost = {"selinux_mode": "permissive", "calico_tag": "v3.26.4"}
        template = command_case.template
        self.assertEqual(("ok", "labels without effect: none", 0), self.line())
        self.templates += [
            template("good", labels={"boot_volume_size": "20"}),
            # Magnum goes by the name alone where a template has one.
            template(
                "heat",
                cluster_distro="fedora-coreos",
                labels={**lost, "use_podman": "true"},
            ),
            template("odd", driver=None, labels={"boot_volume_sise": "20"}),
            template("theirs", driver="k8s_cluster_api", labels=lost),
            template(
                "atomic",
                driver=None,
                cluster_distro="fedora-coreos",
                labels=lost,
            ),
            template("bare", driver=None, server_type="bm", labels=lost),
        ]
        self.assertEqual(
            (
                "ok",
                "labels without effect: template 'heat' (calico_tag, "
                "selinux_mode); template 'odd' (boot_volume_sise)",
                0,
            ),
            self.line(),
        )

    def test_a_template_of_refused_clusters_fails_the_check(self) -> None:
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        heat = command_case.template("heat", labels={"calico_tag": "v3"})
        self.templates.append(heat)
        self.assertEqual(
            (
                "failed",
                "[capi_helm] unknown_labels = reject refuses clusters of "
                "templates with labels that have no effect: template 'heat' "
                "(calico_tag)",
                1,
            ),
            self.line(),
        )
