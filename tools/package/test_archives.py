# SPDX-License-Identifier: Apache-2.0

"""What is in the archives of a release, and what they say of themselves."""

from __future__ import annotations

import configparser
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tools import archives
from tools import shared_files

#: All files of the product that are not modules: what it reads at run time.
READ_AT_RUN_TIME = {
    "magnum_capi_helm/chart/conversion.yaml",
    "magnum_capi_helm/cli/labels-of-1.4.0.yaml",
    "magnum_capi_helm/features/admission.yaml",
    "magnum_capi_helm/features/arguments.yaml",
    "magnum_capi_helm/features/audit-policy.yaml",
    "magnum_capi_helm/features/ignored.yaml",
    "magnum_capi_helm/helm/plugins/magnum-capi-helm/plugin.yaml",
    "magnum_capi_helm/helm/unreachable.yaml",
    "magnum_capi_helm/kubernetes/permissions.yaml",
    "magnum_capi_helm/metrics.yaml",
    "magnum_capi_helm/model/components.yaml",
    "magnum_capi_helm/patches.yaml",
    "magnum_capi_helm/resolve/offline.yaml",
    "magnum_capi_helm/status/conditions.yaml",
    "magnum_capi_helm/status/messages.yaml",
    "magnum_capi_helm/traps.yaml",
    "magnum_capi_helm/versions.yaml",
}
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

    def test_what_the_driver_reads_at_run_time_is_in_the_wheel(self) -> None:
        data = {
            path
            for path in archives.of_wheel(self.built.wheel)
            if not path.endswith(".py")
        }
        self.assertEqual(READ_AT_RUN_TIME, data)

    def test_the_source_archive_has_what_git_has(self) -> None:
        wanted = archives.of_git() - _NOT_RELEASED
        found = archives.of_sdist(self.built.sdist)
        self.assertEqual(set(), wanted - found)
        self.assertEqual(
            [], [each for each in found - wanted if not _ADDED.fullmatch(each)]
        )

    def test_the_wheel_has_the_entry_points_of_setup_cfg(self) -> None:
        parser = configparser.ConfigParser(delimiters=["="])
        parser.read(archives.CHECKOUT / "setup.cfg")
        wanted = {
            group: dict(
                re.split(r"\s*=\s*", line)
                for line in lines.strip().splitlines()
            )
            for group, lines in parser["entry_points"].items()
        }
        found = archives.entry_points(self.built.wheel)
        self.assertEqual(wanted, found)
        self.assertEqual(
            {"k8s_capi_helm_v1": "magnum_capi_helm.driver:Driver"},
            found["magnum.drivers"],
        )

    def test_both_have_the_names_that_a_package_index_takes(self) -> None:
        version = r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?"
        self.assertRegex(
            self.built.sdist.name, rf"^magnum_capi_helm-{version}\.tar\.gz$"
        )
        self.assertRegex(
            self.built.wheel.name,
            rf"^magnum_capi_helm-{version}-py3-none-any\.whl$",
        )

    def test_a_package_index_takes_their_metadata(self) -> None:
        command = [sys.executable, "-m", "twine", "check", "--strict"]
        files = [str(self.built.sdist), str(self.built.wheel)]
        done = subprocess.run(
            command + files, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
