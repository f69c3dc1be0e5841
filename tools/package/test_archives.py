# SPDX-License-Identifier: Apache-2.0

"""What is in the archives of a release, and what they say of themselves."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tools import archives
from tools import shared_files

#: What git and Gerrit want, and nobody else.
_NOT_RELEASED = {".gitignore", ".gitreview"}
#: Where an environment has the files of these directories in git.
SHARED = {
    "etc/grafana/": "grafana/",
    "etc/prometheus/": "prometheus/",
    "samples/": "samples/",
    "tools/management-cluster/": "tools/management-cluster/",
}
_SHARE = "share/magnum-capi-helm/"
_NOT_SHARED = {"etc/prometheus/magnum-capi-helm.rules.test.yaml"}
#: What the build adds to what git has.
_ADDED = re.compile(
    r"AUTHORS|ChangeLog|PKG-INFO|RELEASENOTES\.rst|setup\.cfg"
    r"|doc/build/share/[\w./-]+"
    r"|magnum_capi_helm\.egg-info/[\w.-]+"
    r"|releasenotes/notes/reno\.cache"
)


class ArchivesTest(unittest.TestCase):
    maxDiff = None
    built: archives.Archives

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.built = archives.build(pathlib.Path(folder.name))

    def test_the_wheel_has_the_package_without_its_tests(self) -> None:
        """So it has what the driver reads at run time."""
        package = {
            path
            for path in archives.of_git()
            if path.startswith(f"{archives.PACKAGE}/")
            and not path.startswith(f"{archives.PACKAGE}/tests/")
        }
        self.assertEqual(package, archives.of_wheel(self.built.wheel))

    def test_the_wheel_has_the_files_that_operators_use(self) -> None:
        made = (shared_files.MANUAL, shared_files.COMPLETION)
        wanted = {f"share/{each}" for each in made}
        wanted |= {
            f"{_SHARE}{place}{path.removeprefix(folder)}"
            for path in archives.of_git() - _NOT_SHARED
            for folder, place in SHARED.items()
            if path.startswith(folder)
        }
        for name in ("create-template.py", "install-management-cluster.sh"):
            wanted.add(f"{_SHARE}tools/{name}")
        self.assertEqual(wanted, archives.shared(self.built.wheel))

    def test_an_older_build_directory_brings_no_tests_back(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            lib = pathlib.Path(folder)
            stale = lib / archives.PACKAGE / "tests" / "test_old.py"
            stale.parent.mkdir(parents=True)
            stale.touch()
            command = [sys.executable, "setup.py", "-q", "build_py"]
            subprocess.run(
                [*command, "--build-lib", folder],
                cwd=archives.CHECKOUT,
                check=True,
                timeout=300,
            )
            self.assertTrue((lib / archives.PACKAGE / "driver.py").is_file())
            self.assertFalse(stale.parent.exists())

    def test_the_source_archive_has_what_git_has(self) -> None:
        wanted = archives.of_git() - _NOT_RELEASED
        found = archives.of_sdist(self.built.sdist)
        self.assertEqual(set(), wanted - found)
        self.assertEqual(
            [], [each for each in found - wanted if not _ADDED.fullmatch(each)]
        )

    def test_a_package_index_takes_their_names_and_metadata(self) -> None:
        version = r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?"
        for path, end in (
            (self.built.sdist, r"\.tar\.gz"),
            (self.built.wheel, r"-py3-none-any\.whl"),
        ):
            self.assertRegex(path.name, rf"^magnum_capi_helm-{version}{end}$")
        command = [sys.executable, "-m", "twine", "check", "--strict"]
        files = [str(self.built.sdist), str(self.built.wheel)]
        done = subprocess.run(
            command + files, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
