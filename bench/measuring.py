# SPDX-License-Identifier: Apache-2.0

"""Measures ticks and writes one JSON line for each."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import json
import pathlib
import time
from typing import Any

from bench import counting
from bench import drivers
from bench import kinds
from bench import magnum_rows
from bench import members
from bench import population

#: Clusters that are in progress in status ticks.
_IN_PROGRESS = (1, 10, 100, 1000)
#: Seconds between two ticks of this driver's process: polls share a look at
#: health for up to twenty.
_SPACING = 25.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan of measurements.

    :param kinds: of ticks
    :param clusters: sizes of the population for health ticks; the largest is
        that for status ticks
    :param runs: new processes of each driver
    """

    kinds: tuple[str, ...]
    clusters: tuple[int, ...]
    names: tuple[str, ...]
    runs: int
    target: pathlib.Path


def run(plan: Plan, say: Callable[[str], None]) -> int:
    """Measure everything; the number of wrong verdicts."""
    wrong = 0
    plan.target.parent.mkdir(parents=True, exist_ok=True)
    with population.running(say) as made:
        health = kinds.HEALTH in plan.kinds
        for size in sorted(plan.clusters) if health else ():
            made.become(size)
            say(f"{size} clusters")
            wrong += _runs(plan, say, made, kinds.HEALTH, 0)
        size = max(plan.clusters)
        for count in _IN_PROGRESS if kinds.STATUS in plan.kinds else ():
            if count <= size:
                made.become(size, in_progress=count)
                say(f"{count} of {size} clusters in progress")
                wrong += _runs(plan, say, made, kinds.STATUS, count)
    return wrong


def _runs(
    plan: Plan,
    say: Callable[[str], None],
    made: population.Population,
    kind: str,
    in_progress: int,
) -> int:
    """The drivers take turns, so that what else is going on hits all."""
    wrong = 0
    for number in range(plan.runs):
        for name in plan.names:
            made.reset()
            with drivers.Process(name) as process:
                for found in _ticks(process, kind, in_progress):
                    line = {
                        "driver": name,
                        "kind": kind,
                        "clusters": made.size,
                        "in_progress": in_progress,
                        "run": number,
                        **found,
                    }
                    wrong += found["wrong_count"]
                    with plan.target.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")
                    say(json.dumps(line))
    return wrong


def _ticks(process: drivers.Process, kind: str, in_progress: int) -> Any:
    """A cold tick, a measured tick, and the hooks alone."""
    for number, mode in enumerate((kinds.TICK, kinds.TICK, kinds.HOOKS)):
        if number and process.name in drivers.OURS:
            # The others keep nothing from one tick to the next.
            time.sleep(_SPACING)
        counter = counting.Counter()
        found = process.run(kind, mode)
        counted = counter.read()
        wrong = (
            process.wrong()
            if kind == kinds.HEALTH
            else _wrong_rows(in_progress)
        )
        yield {
            "mode": mode,
            "cold": number == 0,
            **found,
            **counted,
            "wrong": wrong[:20],
            "wrong_count": len(wrong) + found["hook_failures"],
        }


def _wrong_rows(in_progress: int) -> list[str]:
    """Clusters whose status is not what it must be."""
    expected = {
        members.Member(number).identity.cluster
        for number in range(in_progress)
    }
    return [
        f"{uuid}: {status}"
        for uuid, status in magnum_rows.statuses().items()
        if (uuid in expected) != (status == "UPDATE_IN_PROGRESS")
    ]
