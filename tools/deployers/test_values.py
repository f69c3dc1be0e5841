# SPDX-License-Identifier: Apache-2.0

"""The pages about OpenStack-Ansible and OpenStack-Helm: their files."""

from __future__ import annotations

import pathlib
import re
from typing import Any
import unittest

import yaml

from tools import archives
from tools.deployers import check
from tools.deployers import kolla

_SAMPLES = archives.CHECKOUT / "samples"
_ANSIBLE = _SAMPLES / "openstack-ansible"
_HELM = _SAMPLES / "openstack-helm"


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
        # The only variable that a sample names is the version of the chart.
        text = re.sub("{{ .* }}", "0.27.0", (_ANSIBLE / name).read_text())
        values = yaml.safe_load(text)["magnum_config_overrides"]
        found[name] = _with_defaults("openstack-ansible", values)
    return found


class ValuesTest(unittest.TestCase):
    def test_driver_reads_the_configuration_that_each_tool_writes(
        self,
    ) -> None:
        for name, text in _magnum_confs().items():
            with self.subTest(name):
                check.verify(self, text)

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

    def test_ansible_accepts_the_playbook(self) -> None:
        words = ("--syntax-check", "--inventory=localhost,")
        playbook = _ANSIBLE / "capi-helm.yml"
        kolla.Kolla("22.2.0").run("ansible-playbook", *words, playbook)

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
