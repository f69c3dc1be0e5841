# SPDX-License-Identifier: Apache-2.0

"""The pages about OpenStack-Ansible and OpenStack-Helm: their files."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any
import unittest

import yaml

from magnum_capi_helm.config import conf
from tools import archives
from tools.deployers import check
from tools.deployers import kolla

_SAMPLES = archives.CHECKOUT / "samples"
_ANSIBLE = _SAMPLES / "openstack-ansible"
_HELM = _SAMPLES / "openstack-helm"
_INSTALL = archives.CHECKOUT / "doc" / "source" / "install"


def _read(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text())


def _with_defaults(tool: str, sample: dict[str, Any]) -> str:
    """Return the magnum.conf of a tool, with what a sample adds.

    As helm does, a value of null removes a section.
    """
    whole = _read(pathlib.Path(__file__).parent / "logins.yaml")
    sections = dict(whole[tool]["magnum.conf"])
    for name, options in sample.items():
        sections[name] = options and {**sections.get(name, {}), **options}
    lines = []
    for name, options in sections.items():
        if options:
            lines += [f"[{name}]", *(f"{k} = {v}" for k, v in options.items())]
    return "\n".join([*lines, ""])


def _magnum_confs() -> dict[str, str]:
    """Return magnum.conf of each sample, by the sample's name."""
    values = _read(_HELM / "magnum.yaml")["conf"]["magnum"]
    found = {"magnum.yaml": _with_defaults("openstack-helm", values)}
    for name in ("magnum_all.yml", "user_variables_magnum.yml"):
        values = _read(_ANSIBLE / name)
        # Variables that a sample names, each in the same file.
        text = re.sub(
            r"{{ (\w+) }}",
            lambda found: str(values[found[1]]),  # noqa: B023
            yaml.safe_dump(values["magnum_config_overrides"]),
        )
        found[name] = _with_defaults("openstack-ansible", yaml.safe_load(text))
    return found


class ConfigurationTest(unittest.TestCase):
    maxDiff = None

    def test_driver_reads_the_configuration_that_each_tool_writes(
        self,
    ) -> None:
        for name, text in _magnum_confs().items():
            with self.subTest(name):
                check.verify(self, text)

    def test_options_of_the_samples_exist(self) -> None:
        texts = {
            **_magnum_confs(),
            "magnum.conf": (kolla.SAMPLES / "magnum.conf").read_text(),
        }
        ours = ("capi_helm", "cluster_template", "drivers", "DEFAULT")
        for name, text in texts.items():
            for section, option, _ in check.options(text):
                if section not in ours:
                    continue
                group = (
                    conf.CONF if section == "DEFAULT" else conf.CONF[section]
                )
                self.assertIn(option, group, f"{name}: [{section}]")

    def test_group_that_no_driver_reads_is_removed(self) -> None:
        self.assertNotIn("capi-helm", _magnum_confs()["magnum.yaml"])


class VersionsTest(unittest.TestCase):
    def test_management_cluster_has_what_the_chart_was_tested_with(
        self,
    ) -> None:
        cluster = _read(_ANSIBLE / "k8s_all.yml")
        magnum = _read(_ANSIBLE / "magnum_all.yml")
        chart = magnum["magnum_capi_azimuth_helm_charts_version"]
        tool = archives.CHECKOUT / "tools/management-cluster/versions.py"
        printed = subprocess.run(
            [sys.executable, str(tool), "--chart", chart],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        tested = dict(line.split("=") for line in printed.splitlines())
        for variable, file, name in (
            ("CLUSTER_API", cluster, "cluster_api_version"),
            ("CLUSTER_API", cluster, "clusterctl_version"),
            ("PROVIDER", cluster, "cluster_api_infrastructure_version"),
            (
                "ADDONS",
                magnum,
                "magnum_capi_azimuth_helm_addon_provider_version",
            ),
        ):
            self.assertEqual(tested[variable], file[name], name)
        self.assertEqual(conf.CONF.capi_helm.default_helm_chart_version, chart)

    def test_recipes_name_one_version_without_a_redirection(self) -> None:
        for path in (
            _ANSIBLE / "user_variables_magnum.yml",
            _HELM / "Dockerfile",
            kolla.SAMPLES / "template-overrides.j2",
        ):
            found = re.findall(
                r"magnum-capi-helm([^\s'\"]*)", path.read_text()
            )
            self.assertEqual(["==2.0.0"], found, path.name)


class PodTest(unittest.TestCase):
    def test_paths_of_the_driver_are_mounts_of_the_pod(self) -> None:
        values = _read(_HELM / "magnum.yaml")
        pod = values["pod"]["mounts"]["magnum_conductor"]["magnum_conductor"]
        mounts = {e["mountPath"]: e["name"] for e in pod["volumeMounts"]}
        volumes = {each["name"]: each for each in pod["volumes"]}
        self.assertEqual(set(volumes), set(mounts.values()))
        driver = values["conf"]["magnum"]["capi_helm"]
        secret = volumes[mounts["/etc/magnum-capi"]]["secret"]
        self.assertEqual(
            "/etc/magnum-capi/kubeconfig", driver["kubeconfig_file"]
        )
        # The pod runs as another user, without fsGroup.
        self.assertEqual(0o444, secret["defaultMode"])
        self.assertIn(driver["chart_store"], mounts)
        command = (
            f"create secret generic {secret['secretName']} \\\n"
            "       --from-file kubeconfig="
        )
        self.assertIn(command, (_INSTALL / "openstack-helm.rst").read_text())


class PlaybookTest(unittest.TestCase):
    def test_ansible_accepts_the_playbook(self) -> None:
        release = kolla.Kolla("22.2.0")
        release.install()
        with tempfile.TemporaryDirectory() as folder:
            release.run(
                pathlib.Path(folder),
                "ansible-playbook",
                "--syntax-check",
                "--inventory=localhost,",
                _ANSIBLE / "capi-helm.yml",
            )

    def test_playbook_puts_the_kubeconfig_where_the_driver_reads_it(
        self,
    ) -> None:
        (play,) = _read(_ANSIBLE / "capi-helm.yml")
        (copied,) = (
            task["ansible.builtin.copy"]["dest"]
            for task in play["tasks"]
            if "ansible.builtin.copy" in task
        )
        for name in ("magnum_all.yml", "user_variables_magnum.yml"):
            driver = _read(_ANSIBLE / name)["magnum_config_overrides"]
            self.assertEqual(copied, driver["capi_helm"]["kubeconfig_file"])


class PagesTest(unittest.TestCase):
    def test_pages_include_each_sample(self) -> None:
        texts = "".join(
            path.read_text()
            for path in (archives.CHECKOUT / "doc" / "source").rglob("*.rst")
        )
        folders = ("kolla", "metrics", "openstack-ansible", "openstack-helm")
        missing = [
            str(path.relative_to(_SAMPLES))
            for name in folders
            for path in (_SAMPLES / name).iterdir()
            if f"samples/{name}/{path.name}\n" not in texts
        ]
        self.assertEqual([], missing)
