# SPDX-License-Identifier: Apache-2.0

"""The page about Kolla, with one release of Kolla."""

from __future__ import annotations

import json
import pathlib
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
_STUB = '#!/bin/sh\nprintf "%s\\n" "$@" >"$OUT"\n'


def _folder(case: unittest.TestCase) -> pathlib.Path:
    made = tempfile.TemporaryDirectory()
    case.addCleanup(made.cleanup)
    return pathlib.Path(made.name)


def with_stub(case: unittest.TestCase, name: str) -> dict[str, str]:
    """Return variables that make a program write its words to ``$OUT``."""
    folder = _folder(case)
    (folder / name).write_text(_STUB)
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "OUT": str(folder / "words")}


def words(stub: dict[str, str]) -> list[str]:
    """Return the words that the program had."""
    return pathlib.Path(stub["OUT"]).read_text().splitlines()


class KollaCase(unittest.TestCase):
    """The tests of one release.

    :cvar version: of kolla and kolla-ansible
    :cvar helm: version in the image
    """

    maxDiff = None
    version: str
    helm: str

    def setUp(self) -> None:
        super().setUp()
        self.kolla = kolla.Kolla(self.version)
        self.kolla.install()

    def test_image_gets_the_version_of_the_recipe(self) -> None:
        line = self.kolla.pip_line(_folder(self))
        self.assertIn(_FROM_GIT, _PAGE.read_text())
        for package in (_RELEASED, _FROM_GIT):
            stub = with_stub(self, "python3")
            build = _folder(self)
            # The shell of a RUN line.
            subprocess.run(
                ["/bin/sh", "-c", line.replace(_RELEASED, package)],
                cwd=build,
                env=stub,
                check=True,
            )
            self.assertEqual([*_PIP, package], words(stub))
            self.assertEqual([], list(build.iterdir()))

    def test_image_of_the_conductor_has_the_helm_of_the_page(self) -> None:
        self.assertEqual(self.helm, self.kolla.helm())
        self.assertIn(self.helm.removeprefix("v"), _PAGE.read_text())

    def test_containers_get_the_files_and_volumes_of_the_page(self) -> None:
        written = self.kolla.configure(_folder(self))
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
        self.assertEqual(
            "ok: calico or cilium; the default is calico",
            check.verify(self, text)["network drivers"],
        )

    def test_variables_of_the_page_are_known_to_kolla_ansible(self) -> None:
        names = yaml.safe_load((kolla.SAMPLES / "globals.yml").read_text())
        texts = [
            path.read_text()
            for part in ("group_vars/**/*.yml", "roles/*/defaults/main.yml")
            for path in (self.kolla.share / "ansible").glob(part)
        ]
        # 2025.1 has one file of group_vars, which this pattern finds, too.
        known = set().union(*(yaml.safe_load(each) or {} for each in texts))
        self.assertEqual([], [each for each in names if each not in known])
