# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""The drivers that are compared, and the processes that they run in."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

from bench import places
from lab import environment
from lab import errors
from lab import layout
from lab import predecessor

NEW = "new"
OLD = predecessor.VERSION
NONE = "none"
NAMES = (NEW, OLD, NONE)


class Process:
    """A conductor's polls with one driver."""

    def __init__(self, name: str) -> None:
        self.name = name
        log = places.log(f"runner-{name}")
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        with log.open("ab") as out:
            self._child = subprocess.Popen(
                [
                    str(layout.PYTHON),
                    "-P",
                    str(layout.SOURCE.parent / "bench" / "runner.py"),
                    str(places.MAGNUM_CONF),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                env=environment.inside(PYTHONPATH=path(name)),
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
        """A tick, or the hooks alone; what it cost."""
        found: dict[str, Any] = self._ask({"kind": kind, "mode": mode})
        return found

    def wrong(self) -> list[str]:
        """What the last health poll got wrong."""
        if self.name == NONE:
            return []
        found: list[str] = self._ask(
            {
                "expected": str(places.EXPECTED),
                "per_node": self.name == NEW,
            }
        )
        return found

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


def path(name: str) -> str:
    """PYTHONPATH for a driver: the bench, and the driver if it needs one.

    Ours is installed from this checkout, which must not be on the path: it
    would stand before any other driver.
    """
    folder = places.STATE / f"path-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "bench"
    if not link.is_symlink():
        link.symlink_to(layout.CHECKOUT / "bench")
    words = [str(folder)]
    if name == OLD:
        predecessor.install()
        words.insert(0, str(predecessor.FOLDER))
    if name == NONE:
        _register(folder)
    return os.pathsep.join(words)


def _register(folder: pathlib.Path) -> None:
    """Let the driver that does nothing stand for this one, by its name."""
    info = folder / "magnum_capi_helm-0.dist-info"
    shutil.rmtree(info, ignore_errors=True)
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: magnum-capi-helm\nVersion: 0\n"
    )
    (info / "entry_points.txt").write_text(
        "[magnum.drivers]\nk8s_capi_helm_v1 = bench.noop:Driver\n"
    )
