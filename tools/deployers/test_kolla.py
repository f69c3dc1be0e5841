# SPDX-License-Identifier: Apache-2.0

"""The page about Kolla: its files, with Kolla of each release."""

from __future__ import annotations

import json
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

import yaml

from tools import archives
from tools.deployers import check
from tools.deployers import kolla

_PAGE = archives.CHECKOUT / "doc" / "source" / "install" / "kolla.rst"
_RELEASED = "magnum-capi-helm==2.0.0"
_FROM_GIT = "magnum-capi-helm@git+https://opendev.org/openstack/magnum-capi-helm@master"
_PIP = [
    *("-m", "pip", "--no-cache-dir", "install", "--upgrade"),
    *("-c", "/requirements/upper-constraints.txt"),
    *("/magnum[osprofiler]", "magnum-cluster-api"),
]
_HOME = "/var/lib/magnum"
#: kolla and kolla-ansible -> helm in the image of conductors.
_RELEASES = {"20.6.0": "v3.16.3", "21.3.0": "v3.19.0", "22.2.0": "v3.19.0"}
_STUB = '#!/bin/sh\nprintf "%s\\n" "$@" >"$OUT"\n'


class KollaTest(unittest.TestCase):
    maxDiff = None

    def folder(self) -> pathlib.Path:
        """Return an empty folder."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name)

    def words(
        self, stub: str, *command: str, terminal: int = subprocess.DEVNULL
    ) -> list[str]:
        """Return the words that a program gets which a command runs."""
        folder = self.folder()
        (folder / stub).write_text(_STUB)
        (folder / stub).chmod(0o755)
        env = {"PATH": f"{folder}:/usr/bin:/bin", "OUT": str(folder / "words")}
        subprocess.run(
            ["/bin/sh", *command],
            cwd=folder,
            env=env,
            stdin=terminal,
            stdout=terminal,
            check=True,
        )
        self.assertEqual(2, len(list(folder.iterdir())))
        return (folder / "words").read_text().splitlines()

    def test_images_get_the_recipe_and_the_helm_of_the_page(self) -> None:
        page = _PAGE.read_text()
        self.assertIn(_FROM_GIT, page)
        for version, helm in _RELEASES.items():
            release = kolla.Kolla(version)
            self.assertEqual(helm, release.helm())
            self.assertIn(helm.removeprefix("v"), page)
            line = release.pip_line(self.folder())
            for package in (_RELEASED, _FROM_GIT):
                # The shell of a RUN line.
                run = line.replace(_RELEASED, package)
                self.assertEqual(
                    [*_PIP, package], self.words("python3", "-c", run)
                )

    def test_containers_get_the_files_and_volumes_of_the_page(self) -> None:
        for version in _RELEASES:
            with self.subTest(version):
                release = kolla.Kolla(version)
                self.verify_service(release, release.configure(self.folder()))

    def verify_service(
        self, release: kolla.Kolla, written: pathlib.Path
    ) -> None:
        """Compare what Kolla-Ansible wrote for a conductor with the page."""
        service = json.loads((written / "service.json").read_text())
        wanted = yaml.safe_load((kolla.SAMPLES / "globals.yml").read_text())
        self.assertEqual(
            wanted["magnum_tag"], service["image"].rpartition(":")[2]
        )
        volumes = {f"magnum:{_HOME}/"}
        volumes.update(wanted["magnum_conductor_extra_volumes"])
        self.assertLessEqual(volumes, set(service["volumes"]))
        conductor = written / "magnum-conductor"
        files = json.loads((conductor / "config.json").read_text())
        self.assertIn(
            {
                "source": "/var/lib/kolla/config_files/kubeconfig",
                "dest": f"{_HOME}/.kube/config",
                "owner": "magnum",
                "perm": "0600",
            },
            files["config_files"],
        )
        self.assertTrue((conductor / "kubeconfig").exists())
        text = (conductor / "magnum.conf").read_text()
        sample = (kolla.SAMPLES / "magnum.conf").read_text()
        self.assertLessEqual(check.options(sample), check.options(text))
        self.assertIn(("database", "max_retries", "-1"), check.options(text))
        check.verify(self, text)
        # 2025.1 has one file of group_vars, which this pattern finds, too.
        known = {
            name
            for part in ("group_vars/**/*.yml", "roles/*/defaults/main.yml")
            for path in (release.share / "ansible").glob(part)
            for name in yaml.safe_load(path.read_text()) or {}
        }
        self.assertEqual(set(), set(wanted) - known)

    def test_script_asks_for_a_terminal_only_where_there_is_one(self) -> None:
        script = str(kolla.SAMPLES / "magnum-capi-helm")
        command = ("cluster", "apply", "two words")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        for terminal, options in (
            (theirs, ["-i", "-t"]),
            (subprocess.DEVNULL, ["-i"]),
        ):
            options += ["magnum_conductor", "magnum-capi-helm"]
            self.assertEqual(
                ["exec", *options, *command],
                self.words("docker", script, *command, terminal=terminal),
            )
