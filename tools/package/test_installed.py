# SPDX-License-Identifier: Apache-2.0

"""The wheel beside Magnum in a clean environment, as operators install it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import yaml

from tools import archives

# Of one program; pip installs Magnum and all that it needs.
_SECONDS = 2400
#: What the project was called by before, and whose place this one takes.
_FORMER = "magnum-capi-helm==1.4.0"


class Environment:
    """A virtual environment that sees nothing of the checkout."""

    def __init__(self, folder: pathlib.Path) -> None:
        """:param folder: where it is made; also where commands run."""
        self._folder = folder
        self._bin = folder / "venv" / "bin"
        self.run(sys.executable, "-m", "venv", "venv")

    def run(self, *command: str) -> str:
        """What a command says on standard output.

        :raises AssertionError: it failed; what it said is in the message
        """
        known = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
        }
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**known, "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise AssertionError(
                f"{command} ended with {done.returncode}:\n"
                f"{done.stdout}\n{done.stderr}"
            )
        return done.stdout

    def program(self, name: str, *words: str) -> str:
        """What a program of the environment says."""
        return self.run(str(self._bin / name), *words)

    def pip(self, *words: str) -> str:
        """What pip says."""
        return self.program("python", "-m", "pip", "-q", *words)


class InstalledTest(unittest.TestCase):
    built: archives.Archives
    beside_magnum: Environment

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        here = pathlib.Path(folder.name)
        cls.built = archives.build(here / "dist")
        cls.beside_magnum = Environment(here)
        constraints = archives.CHECKOUT / "lab" / "constraints.txt"
        cls.beside_magnum.pip(
            "install",
            "-c",
            os.environ.get("PACKAGE_CONSTRAINTS", str(constraints)),
            str(cls.built.wheel),
        )

    def test_magnum_lists_the_driver(self) -> None:
        listed = self.beside_magnum.program(
            "magnum-driver-manage", "list-drivers", "-f", "json"
        )
        names = {each["Name"] for each in json.loads(listed)}
        # Up to 2026.1 Magnum has another one of its own.
        self.assertEqual(
            {"k8s_capi_helm_v1"}, names - {"k8s_fedora_coreos_v1"}
        )

    def test_magnum_lists_the_systems_that_the_driver_runs(self) -> None:
        listed = self.beside_magnum.program(
            "magnum-driver-manage", "list-drivers", "--details", "-f", "json"
        )
        systems = {
            (each["Server_Type"], each["OS"], each["COE"])
            for each in json.loads(listed)
            if each["Name"] == "k8s_capi_helm_v1"
        }
        self.assertEqual(
            {
                ("vm", "ubuntu", "kubernetes"),
                ("vm", "flatcar", "kubernetes"),
                ("vm", "capi-kubeadm-cloudinit", "kubernetes"),
            },
            systems,
        )

    def test_all_that_the_requirements_ask_for_fits_together(self) -> None:
        self.beside_magnum.pip("check")

    def test_the_command_line_reads_what_it_was_packed_with(self) -> None:
        manifest = self.beside_magnum.program(
            "magnum-capi-helm", "management-cluster", "permissions"
        )
        kinds = [each["kind"] for each in yaml.safe_load_all(manifest)]
        self.assertEqual(
            [
                "Namespace",
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
            ],
            kinds,
        )

    def test_the_options_are_offered_to_the_generator(self) -> None:
        sample = self.beside_magnum.program(
            "oslo-config-generator", "--namespace", "capi_helm"
        )
        self.assertIn("\n[capi_helm]\n", sample)
        self.assertIn("\n[capi_helm_cluster_labels]\n", sample)


class ReplacedTest(unittest.TestCase):
    def test_pip_replaces_1_4_0_and_leaves_none_of_its_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            built = archives.build(here / "dist")
            environment = Environment(here)
            environment.pip("install", "--no-deps", _FORMER)
            environment.pip("install", "--no-deps", str(built.wheel))
            (package,) = here.glob(
                f"venv/lib/python3*/site-packages/{archives.PACKAGE}"
            )
            found = {
                f"{archives.PACKAGE}/{path.relative_to(package)}"
                for path in package.rglob("*")
                if path.is_file() and "__pycache__" not in path.parts
            }
            self.assertEqual(archives.of_wheel(built.wheel), found)
