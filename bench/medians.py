# SPDX-License-Identifier: Apache-2.0

"""Medians of what was measured, and a table of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import statistics
from typing import Any

from bench import kinds

#: Which figures are taken from whole ticks, and which from the hooks alone.
_OF_TICKS = (
    "requests",
    "bytes",
    "handshakes",
    "logins",
    "process_cpu",
    "wall",
    "peak_kb",
    "own_cpu",
)
_OF_HOOKS = {"own_cpu": "hooks_cpu", "hook_wall": "hooks_wall"}


@dataclasses.dataclass(frozen=True, order=True)
class Case:
    """The identity of a measurement.

    :param size: clusters of a health tick; those in progress of a status
        tick
    """

    kind: str
    size: int
    driver: str


@dataclasses.dataclass(frozen=True)
class Cost:
    """Medians over all measured ticks of a case; seconds, bytes, kB.

    :param figures: by name; those of the hooks alone begin with ``hooks_``
    :param wrong: verdicts that were wrong, in all ticks together
    :param runs: processes that were measured
    """

    figures: Mapping[str, float]
    wrong: int
    runs: int


def costs(lines: Iterable[Mapping[str, Any]]) -> dict[Case, Cost]:
    """Medians by case; cold ticks are left out, their wrong verdicts not."""
    sorted_out: dict[Case, list[Mapping[str, Any]]] = {}
    for line in lines:
        health = line["kind"] == kinds.HEALTH
        size = line["clusters" if health else "in_progress"]
        case = Case(line["kind"], size, line["driver"])
        sorted_out.setdefault(case, []).append(line)
    return {case: _cost(found) for case, found in sorted(sorted_out.items())}


def _cost(lines: Sequence[Mapping[str, Any]]) -> Cost:
    ticks = [
        each
        for each in lines
        if each["mode"] == kinds.TICK and not each["cold"]
    ]
    hooks = [each for each in lines if each["mode"] == kinds.HOOKS]
    figures = {name: _median(ticks, name) for name in _OF_TICKS}
    for name, called in _OF_HOOKS.items():
        figures[called] = _median(hooks, name)
    return Cost(
        figures,
        wrong=sum(each["wrong_count"] for each in lines),
        runs=len({each["run"] for each in lines}),
    )


def _median(lines: Sequence[Mapping[str, Any]], name: str) -> float:
    found = [float(each[name]) for each in lines]
    return statistics.median(found) if found else 0.0


def times_less(new: float, old: float) -> str:
    """Return by which factor the new figure is smaller."""
    if not old:
        return ""
    if not new:
        return "all"
    ratio = old / new
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
