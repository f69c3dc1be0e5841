# SPDX-License-Identifier: Apache-2.0

"""Programs of Debian packages that tests run where they can be had.

A package is unpacked below the lab's folder and not installed, so it starts no
server. Only a machine without lists of packages needs root, to fetch them.
"""

import dataclasses
import os
import pathlib
import shutil

from lab import environment
from lab import errors
from lab import layout
from lab import tools


@dataclasses.dataclass(frozen=True)
class Program:
    """A program and the Debian package that contains it."""

    name: str
    package: str

    @property
    def _root(self) -> pathlib.Path:
        return layout.STATE / self.name

    def folder(self) -> pathlib.Path | None:
        """Return the program's folder unless it is on the ``PATH`` anyway.

        :returns: None also where the program can't be had; the tests that run
            it are skipped
        """
        if shutil.which(self.name):
            return None
        found = self._root / "usr" / "bin"
        if not (found / self.name).exists():
            try:
                self._fetch()
            except (OSError, errors.LabError) as error:
                print(f"no {self.name}, whose tests are skipped: {error}")
                return None
        return found

    def _fetch(self) -> None:
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise errors.LabError("it is taken from a Debian package")
        root, log = self._root, layout.log(self.name)
        root.mkdir(parents=True, exist_ok=True)
        env = environment.outside(DEBIAN_FRONTEND="noninteractive")
        download = ["apt-get", "download", "-q", self.package]
        try:
            tools.run(download, log=log, env=env, cwd=root)
        except errors.LabError:
            if os.getuid():
                raise
            tools.run(["apt-get", "update", "-q"], log=log, env=env)
            tools.run(download, log=log, env=env, cwd=root)
        for package in root.glob(f"{self.package}_*.deb"):
            tools.run(["dpkg-deb", "-x", package, root], log=log)
            package.unlink()


PROGRAMS = (
    Program("promtool", "prometheus"),
    # A private registry of charts.
    Program("docker-registry", "docker-registry"),
)
