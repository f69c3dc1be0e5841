# SPDX-License-Identifier: Apache-2.0

"""Who took how long: the driver says in Magnum's log how long helm took."""

from collections.abc import Sequence
import dataclasses
import pathlib
import re

from lab import layout

_LINE = re.compile(r"release ([\w.-]+) in \S+: helm ([\d.]+) s")


@dataclasses.dataclass(frozen=True)
class Part:
    """One operation; the log lines give helm's share."""

    name: str
    total: float
    helm: float | None

    @property
    def rest(self) -> float:
        """Cluster API, the machines, the driver, and the polls in between."""
        return self.total - (self.helm or 0.0)


class Log:
    """What is added to Magnum's log from now on."""

    def __init__(self, path: pathlib.Path | None = None) -> None:
        self._path = path or layout.log("magnum")
        self._offset = self._path.stat().st_size

    def part(self, name: str, release: str, total: float) -> Part:
        """The operation that has just ended, with its shares."""
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            text = stream.read().decode(errors="replace")
            self._offset = stream.tell()
        found = [w for w in _LINE.findall(text) if w[0] == release]
        helm = sum(float(words[1]) for words in found)
        return Part(name, total, helm if found else None)


def table(parts: Sequence[Part]) -> str:
    """Seconds, one row for each operation."""
    head = f"{'':10}{'helm':>9}{'Cluster API':>13}{'total':>9}"
    rows = [
        f"{part.name:10}{_seconds(part.helm):>9}"
        f"{_seconds(part.rest):>13}{_seconds(part.total):>9}"
        for part in parts
    ]
    return "\n".join([head, *rows])


def _seconds(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f} s"
