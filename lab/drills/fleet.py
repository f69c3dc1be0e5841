# SPDX-License-Identifier: Apache-2.0

"""Many clusters, and the commands that an operator types for them."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Mapping
import dataclasses
import json
import os
import subprocess
import types
from typing import Any

from lab.drills import case
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs

#: Seconds that a command for a whole fleet may take.
_LONGEST = 7200.0
_MADE = ("CREATE_COMPLETE", "CREATE_FAILED")
#: Labels of a template: fewer addons let more clusters live side by side.
FEW_ADDONS = {
    f"{addon}_enabled": "false"
    for addon in (
        "cinder_csi",
        "etcd_defrag",
        "mellanox_network_operator",
        "metrics_server",
        "npd",
        "reloader",
    )
}


def size(usual: int) -> int:
    """How many clusters; fewer for who changes the drill itself."""
    return int(os.environ.get("DRILL_CLUSTERS") or usual)


@dataclasses.dataclass(frozen=True)
class Said:
    """How a command ended.

    :param lines: its table
    :param notes: what it said beside it
    """

    code: int
    lines: list[dict[str, str]]
    notes: str

    def of(self, column: str) -> dict[str, str]:
        """One column of the table, by the cluster's name."""
        return {_name(line): line[column] for line in self.lines}


class FleetCase(case.DrillCase):
    """A drill on more clusters than one looks at one by one."""

    def make(
        self,
        names: Collection[str],
        template: str,
        batch: int = 5,
        fields: Mapping[str, dict[str, Any]] = types.MappingProxyType({}),
    ) -> None:
        """Create clusters, so many at a time; ``self.fleet`` has them.

        :param fields: more fields of the request, by the cluster's name
        """
        self.fleet: dict[str, str] = {}
        begun: collections.deque[str] = collections.deque()
        for name in names:
            if len(begun) == batch:
                self._until_made(begun.popleft())
            more = fields.get(name, {})
            self.fleet[name] = self.cluster(template, name=name, **more)
            begun.append(name)
        for name in begun:
            self._until_made(name)
        self.release = {
            name: str(self.row(name)["stack_id"]) for name in self.fleet
        }

    def _until_made(self, name: str) -> None:
        made = self.until_status(self.fleet[name], _MADE, 900)
        self.assertEqual("CREATE_COMPLETE", made["status"], name)

    # What is typed

    def typed(self, *words: str, code: int = 0, table: bool = True) -> Said:
        """A command that prints a table, with what came out of it, told.

        :param code: it has to end with
        :param table: whether that is told, and not the exit code alone
        """
        self.tell(f"$ magnum-capi-helm {' '.join(words)}")
        done = subprocess.run(
            programs.command_line(*words, "-f", "json"),
            cwd=programs.CHECKOUT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        said = Said(done.returncode, json.loads(done.stdout), done.stderr)
        for line in _summed(said) if table else ():
            self.tell(line)
        self.tell(f"  (exit code {said.code})")
        self.assertEqual(code, said.code, f"{said}")
        return said

    # What is looked at

    def row(self, name: str) -> dict[str, Any]:
        """A cluster of the fleet, as its user sees it."""
        found = self.magnum.find(self.fleet[name])
        assert found is not None, name
        return found

    def column(self, field: str) -> dict[str, Any]:
        """A field of all clusters."""
        return {name: self.row(name).get(field) for name in self.fleet}

    def until_all(self, field: str, wanted: object, seconds: float) -> None:
        """Wait until all clusters say the same."""
        self.until(
            lambda: set(self.column(field).values()) == {wanted},
            seconds,
            lambda: f"{field} {wanted}: {self.column(field)}",
        )

    def machines(self) -> dict[str, str]:
        """The release of each machine that there is, by its UID."""
        return {
            each["metadata"]["uid"]: view.labels_of(each)[
                view.CLUSTER_NAME_LABEL
            ]
            for each in self.plane.list(kinds.MACHINE, self.namespace)
        }


def environment() -> dict[str, str]:
    """Of a command, without what libraries say of each other."""
    quiet = {"PYTHONWARNINGS": "ignore"}
    return {**os.environ, **programs.command_path(), **quiet}


def _name(line: dict[str, str]) -> str:
    return line.get("Cluster", "") or line.get("Name", "")


def _summed(said: Said) -> Iterator[str]:
    """What an operator reads: equal lines once, with their number."""
    for note in said.notes.splitlines():
        # Beside the sum there is the log.
        if note[:1].isdigit() or note.startswith("nothing was written"):
            yield f"  {note}"
    alike = collections.defaultdict(list)
    for line in said.lines:
        alike[_told(line)].append(_name(line) or line.get("Release", ""))
    for text, names in alike.items():
        who = names[0] if len(names) == 1 else f"{len(names)} x"
        yield f"  {who}: {text}"


def _told(line: dict[str, str]) -> str:
    wanted = {"Result", "Detail"} & line.keys() or {"Status", "State"}
    found = [str(line[key]) for key in line if key in wanted and line[key]]
    return " | ".join(found) or "-"
