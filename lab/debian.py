# SPDX-License-Identifier: Apache-2.0

"""Packages of Debian's that parts of the lab want, and root alone installs."""

from collections.abc import Mapping, Sequence
import os
import pathlib
import shutil

from lab import environment
from lab import errors
from lab import layout
from lab import tools

_LOG = layout.log("debian-packages")


def missing(programs: Mapping[str, pathlib.Path]) -> list[str]:
    """The packages that are not installed.

    :param programs: package -> a file that comes with it
    """
    return [name for name, path in programs.items() if not path.exists()]


def command(names: Sequence[str]) -> str:
    """What root types to install packages."""
    return "apt-get install -y --no-install-recommends " + " ".join(names)


def installable() -> bool:
    """Whether we are root, on a system that has such packages."""
    return not os.getuid() and shutil.which("apt-get") is not None


def install(names: Sequence[str]) -> None:
    """Install packages.

    :raises LabError: we can't; it says what root has to type
    """
    if not installable():
        raise errors.LabError(
            f"not installed: {', '.join(names)}",
            hint=f"As root: {command(names)}",
        )
    env = environment.outside(DEBIAN_FRONTEND="noninteractive")
    tools.run(["apt-get", "update", "-q"], log=_LOG, env=env)
    tools.run(command(names).split(), log=_LOG, env=env)
