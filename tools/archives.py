# SPDX-License-Identifier: Apache-2.0

"""Build and read the archives of a release."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tarfile
from typing import NamedTuple
import zipfile

CHECKOUT = pathlib.Path(__file__).parents[1]
PACKAGE = "magnum_capi_helm"
#: Long enough for a slow package index.
_BUILD_SECONDS = 900


class Archives(NamedTuple):
    """The two files that a release uploads."""

    sdist: pathlib.Path
    wheel: pathlib.Path


def build(into: pathlib.Path) -> Archives:
    """Build the source archive, and from it the wheel, as a release does.

    :param into: directory for the two files; made if it is not there
    :raises subprocess.CalledProcessError: the build failed; what it said is
        on standard error
    """
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", into, CHECKOUT],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=_BUILD_SECONDS,
    )
    (sdist,) = into.glob("*.tar.gz")
    (wheel,) = into.glob("*.whl")
    return Archives(sdist, wheel)


def of_git() -> set[str]:
    """Return the paths of all files in git, relative to the checkout."""
    command = ["git", "-C", str(CHECKOUT), "ls-files", "-z"]
    listed = subprocess.check_output(command, text=True, timeout=60)
    return set(listed.rstrip("\0").split("\0"))


def of_sdist(sdist: pathlib.Path) -> set[str]:
    """Return the paths in a source archive, without its top folder."""
    with tarfile.open(sdist) as archive:
        return {e.name.partition("/")[2] for e in archive if e.isfile()}


def of_wheel(wheel: pathlib.Path) -> set[str]:
    """Return the paths in a wheel, without its metadata and shared files."""
    with zipfile.ZipFile(wheel) as archive:
        return {e for e in archive.namelist() if e.startswith(f"{PACKAGE}/")}


def shared(wheel: pathlib.Path) -> set[str]:
    """Return the paths of shared files, relative to the environment."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {e.partition(".data/data/")[2] for e in archive.namelist()}
    return inside - {""}
