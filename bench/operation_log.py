# SPDX-License-Identifier: Apache-2.0

"""Read operations from the conductor's log. Pure."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import re
import statistics

_LINE = re.compile(
    r"(?P<verb>created|resized|upgraded|deleted|changed nodegroups of)"
    r" release (?P<release>[^ :]+)[^:]*:"
    r" driver (?P<driver>[\d.]+) s,"
    r" helm (?P<helm>[\d.]+) s(?: \((?P<processes>\d+) processes\))?"
)


@dataclasses.dataclass(frozen=True)
class Operation:
    """One line of the log.

    :param driver: seconds that were not helm's
    :param helm: seconds of helm
    :param processes: helm processes; None where the log does not say
    """

    verb: str
    release: str
    driver: float
    helm: float
    processes: int | None


def parse(lines: Iterable[str]) -> list[Operation]:
    """The operations in a log."""
    return [
        Operation(
            found["verb"],
            found["release"],
            float(found["driver"]),
            float(found["helm"]),
            int(found["processes"]) if found["processes"] else None,
        )
        for line in lines
        if (found := _LINE.search(line))
    ]


def summary(operations: Iterable[Operation]) -> list[str]:
    """Medians of each kind of operation, one line for each."""
    by_verb: dict[str, list[Operation]] = {}
    for each in operations:
        by_verb.setdefault(each.verb, []).append(each)
    return [
        f"{verb}: {len(found)} times, driver"
        f" {statistics.median(each.driver for each in found):.3f} s, helm"
        f" {statistics.median(each.helm for each in found):.3f} s,"
        f" {_processes(found)}"
        for verb, found in by_verb.items()
    ]


def _processes(found: Iterable[Operation]) -> str:
    numbers = sorted({each.processes for each in found if each.processes})
    if not numbers:
        return "helm processes not logged"
    return f"helm processes {', '.join(map(str, numbers))}"
