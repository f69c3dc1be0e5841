# SPDX-License-Identifier: Apache-2.0

"""The wheel beside Magnum in a clean environment, as operators install it.

``PACKAGE_MAGNUM`` names another Magnum than the pinned one, which comes with
the newest packages that fit.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
import unittest

from tools import archives
from tools import environments
from tools import shared_files

#: What the project was called by before, and whose place this one takes.
_FORMER = "magnum-capi-helm==1.4.0"
_CONF = """
[database]
connection = sqlite:///{here}/magnum.sqlite
[capi_helm]
kubeconfig_file = {here}/kubeconfig
chart_stroe = /srv/charts
"""
#: Prints the words that bash offers after "magnum-capi-helm chart".
_BASH = """
_get_comp_words_by_ref() { words=(magnum-capi-helm chart ""); cur=""; }
. "$1"
COMP_WORDS=(magnum-capi-helm chart "") COMP_CWORD=2
_magnum_capi_helm
echo "${COMPREPLY[@]}"
"""


class InstalledTest(unittest.TestCase):
    built: archives.Archives
    beside_magnum: environments.Environment
    here: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.here = here = pathlib.Path(folder.name)
        cls.built = archives.build(here / "dist")
        cls.beside_magnum = environments.Environment(here)
        constraints = archives.CHECKOUT / "lab" / "constraints.txt"
        beside = ["-c", os.environ.get("PACKAGE_CONSTRAINTS", constraints)]
        if magnum := os.environ.get("PACKAGE_MAGNUM"):
            beside = [magnum]
        cls.beside_magnum.pip("install", *beside, cls.built.wheel)

    def test_magnum_lists_the_driver_and_the_systems_that_it_runs(
        self,
    ) -> None:
        listed = self.beside_magnum.run(
            "magnum-driver-manage", "list-drivers", "--details", "-f", "json"
        )
        systems = {
            (each["Name"], each["Server_Type"], each["OS"], each["COE"])
            for each in json.loads(listed)
            # Up to 2026.1 Magnum has another one of its own.
            if each["Name"] != "k8s_fedora_coreos_v1"
        }
        names = ("ubuntu", "debian", "rocky", "rockylinux", "flatcar")
        self.assertEqual(
            {
                ("k8s_capi_helm_v1", "vm", name, "kubernetes")
                for name in (*names, "capi-kubeadm-cloudinit")
            },
            systems,
        )

    def test_all_that_the_requirements_ask_for_fits_together(self) -> None:
        self.beside_magnum.pip("check")

    def test_the_command_line_reads_what_it_was_packed_with(self) -> None:
        manifest = self.beside_magnum.run(
            "magnum-capi-helm", "management-cluster", "permissions"
        )
        self.assertIn("kind: ValidatingAdmissionPolicy\n", manifest)

    def test_the_options_are_offered_to_the_generator(self) -> None:
        sample = self.beside_magnum.run(
            "oslo-config-generator", "--namespace", "capi_helm"
        )
        for group in ("capi_helm", "capi_helm_cluster_labels"):
            self.assertIn(f"\n[{group}]\n", sample)

    def test_check_names_a_misspelt_option_and_writes_nothing(self) -> None:
        file = self.here / "magnum.conf"
        file.write_text(_CONF.format(here=self.here))
        before = set(self.here.iterdir())
        words = ("--config-file", str(file), "check", "-f", "json")
        printed = self.beside_magnum.run("magnum-capi-helm", *words, code=1)
        lines = {each["Check"]: each for each in json.loads(printed)}
        self.assertEqual(
            {
                "Check": "configuration",
                "State": "failed",
                "Detail": "[capi_helm] has no option chart_stroe (did you "
                "mean chart_store?)",
            },
            lines["configuration"],
        )
        self.assertEqual("ok", lines["driver"]["State"], lines["driver"])
        self.assertEqual(
            f"there is no file {self.here}/magnum.sqlite: set [database] "
            "connection",
            lines["database"]["Detail"],
        )
        self.assertEqual(before, set(self.here.iterdir()))

    def test_man_shows_the_manual_page(self) -> None:
        page = self.beside_magnum.share / shared_files.MANUAL
        for section in ("USAGE", "COMMANDS", "EXIT STATUS"):
            self.assertIn(f".SH {section}\n", page.read_text())
        if shutil.which("man"):
            found = self.beside_magnum.run("man", "-w", "magnum-capi-helm")
            self.assertEqual(f"{page}\n", found)

    def test_bash_completes_with_the_file_of_the_wheel(self) -> None:
        file = self.beside_magnum.share / shared_files.COMPLETION
        offered = self.beside_magnum.run("bash", "-c", _BASH, "-", str(file))
        self.assertEqual("fetch list mirror\n", offered)

    def test_the_installer_finds_its_versions(self) -> None:
        tools = self.beside_magnum.share / "magnum-capi-helm" / "tools"
        script = tools / "management-cluster" / "versions.py"
        found = self.beside_magnum.run("python3", str(script))
        self.assertRegex(found, r"\ACHART=[\d.]+\n(.*\n)*CLUSTER_API=[\d.]+\n")

    def test_pip_replaces_1_4_0_and_leaves_none_of_its_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            environment = environments.Environment(here)
            for package in (_FORMER, self.built.wheel):
                environment.pip("install", "--no-deps", package)
            (installed,) = here.glob(
                f"venv/lib/python3*/site-packages/{archives.PACKAGE}"
            )
            found = {
                f"{archives.PACKAGE}/{path.relative_to(installed)}"
                for path in installed.rglob("*")
                if path.is_file() and "__pycache__" not in path.parts
            }
            self.assertEqual(archives.of_wheel(self.built.wheel), found)
