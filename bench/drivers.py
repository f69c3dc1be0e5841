# SPDX-License-Identifier: Apache-2.0

"""The drivers that are compared, and the processes that they run in."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any
import venv

from bench import kinds
from bench import places
from lab import environment
from lab import errors
from lab import layout
from lab import predecessor

_RUNNER = layout.CHECKOUT / "bench" / "runner.py"
#: Versions of this driver; they keep objects from one tick to the next.
OURS = (kinds.NEW, kinds.BEFORE)
_BEFORE = "BENCH_BEFORE"


class Process:
    """A conductor's polls with one driver."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._log = places.log(f"runner-{name}")
        self._log.parent.mkdir(parents=True, exist_ok=True)
        python = layout.PYTHON
        if name != kinds.NEW:
            python = _virtual(name) / "bin" / "python"
        with self._log.open("ab") as out:
            self._child = subprocess.Popen(
                # Without the script's own folder on the path: its modules are
                # the bench's.
                [python, "-P", _RUNNER, places.MAGNUM_CONF],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                env=_environ(),
                cwd=places.STATE,
                text=True,
            )
        self._answer()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.stdin:
            self._child.stdin.close()
        try:
            self._child.wait(20)
        except subprocess.TimeoutExpired:
            self._child.kill()

    def run(self, kind: str, mode: str) -> dict[str, Any]:
        """Run a tick, or the hooks alone; return what it cost."""
        cost: dict[str, Any] = self._ask({"kind": kind, "mode": mode})
        return cost

    def wrong(self) -> list[str]:
        """Return the wrong verdicts of the last health poll."""
        expected, per_node = str(places.EXPECTED), self.name in OURS
        task = {"expected": expected, "per_node": per_node}
        wrong: list[str] = self._ask(task)
        return wrong

    def _ask(self, task: dict[str, Any]) -> Any:
        if self._child.stdin is None:
            raise RuntimeError("the runner has no input")
        self._child.stdin.write(json.dumps(task) + "\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        line = self._child.stdout.readline() if self._child.stdout else ""
        if not line:
            raise errors.LabError(
                f"the runner of {self.name} ended", log=self._log
            )
        return json.loads(line)


def _environ() -> dict[str, str]:
    """Return the environment of a runner, with the bench on its path."""
    folder = places.STATE / "path"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "bench"
    if not link.is_symlink():
        link.symlink_to(layout.CHECKOUT / "bench")
    env = environment.inside(
        PYTHONPATH=str(folder),
        # Compiled once, as what is installed is, and not in the checkout.
        PYTHONPYCACHEPREFIX=str(places.STATE / "pycache"),
    )
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def _virtual(name: str) -> pathlib.Path:
    """A virtual environment with Magnum and another driver.

    Magnum and its libraries are the lab's, so that all drivers have the same;
    ours is not in it: an editable package is known to its own environment
    alone.
    """
    folder = places.STATE / f"venv-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    if name == kinds.OLD:
        predecessor.install()
        source = predecessor.FOLDER
    else:
        source = places.STATE / "driver-before"
        _link_checkout(source)
    (lab,) = layout.VENV.glob("lib/*/site-packages")
    (own,) = folder.glob("lib/*/site-packages")
    (own / "bench.pth").write_text(f"{source}\n{lab}\n")
    return folder


def _link_checkout(folder: pathlib.Path) -> None:
    """Link the driver of another checkout into a folder, and register it.

    :raises LabError: the environment names no checkout
    """
    package = pathlib.Path(os.environ.get(_BEFORE, "")) / "magnum_capi_helm"
    if not (package / "driver.py").exists():
        raise errors.LabError(
            f"{package} has no driver.py",
            hint=f"{_BEFORE} takes the folder of another checkout.",
        )
    shutil.rmtree(folder, ignore_errors=True)
    info = folder / "magnum_capi_helm-0.dist-info"
    info.mkdir(parents=True)
    (folder / package.name).symlink_to(package.resolve())
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: magnum-capi-helm\nVersion: 0\n"
    )
    (info / "entry_points.txt").write_text(
        "[magnum.drivers]\nk8s_capi_helm_v1 = magnum_capi_helm.driver:Driver\n"
    )
