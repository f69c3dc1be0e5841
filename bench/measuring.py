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


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan of measurements.

    :param kinds: of ticks
    :param clusters: sizes of the population for health ticks, rising
    :param in_progress: clusters in progress for status ticks
    :param runs: new processes of each driver
    :param ticks: measured ticks of each process, after the cold one
    :param spacing: seconds between the ends and beginnings of ticks
    """

    kinds: tuple[str, ...]
    clusters: tuple[int, ...]
    in_progress: tuple[int, ...]
    names: tuple[str, ...]
    runs: int
    ticks: int
    spacing: float
    target: pathlib.Path


def run(plan: Plan, say: Callable[[str], None]) -> int:
    """Measure everything; the number of wrong verdicts."""
    wrong = 0
    with population.running(say) as made:
        health = kinds.HEALTH in plan.kinds
        for size in sorted(plan.clusters) if health else ():
            made.become(size)
            say(f"{size} clusters")
            wrong += _runs(plan, say, made, kinds.HEALTH, 0)
        size = max(plan.clusters)
        for count in plan.in_progress:
            if count > size or kinds.STATUS not in plan.kinds:
                continue
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
                for found in _ticks(plan, process, kind, in_progress):
                    line = {
                        "driver": name,
                        "kind": kind,
                        "clusters": made.size,
                        "in_progress": in_progress,
                        "run": number,
                        **found,
                    }
                    wrong += found["wrong_count"]
                    plan.target.parent.mkdir(parents=True, exist_ok=True)
                    with plan.target.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")
                    say(_summary(line))
    return wrong


def _ticks(
    plan: Plan, process: drivers.Process, kind: str, in_progress: int
) -> Any:
    """A cold tick, measured ticks, and the hooks alone."""
    modes = [kinds.TICK] * (1 + plan.ticks) + [kinds.HOOKS] * plan.ticks
    for number, mode in enumerate(modes):
        if number and process.name in drivers.OURS:
            # The others keep nothing from one tick to the next.
            time.sleep(plan.spacing)
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


def _summary(line: dict[str, Any]) -> str:
    mode = "cold" if line["cold"] else line["mode"]
    return (
        f"{line['driver']:>6} {line['kind']} {mode:5}"
        f" wall {line['wall']:7.3f} s, hooks {line['hook_wall']:7.3f} s,"
        f" own CPU {line['own_cpu']:7.3f} s,"
        f" process {line['process_cpu']:7.3f} s,"
        f" requests {line['requests']:5d},"
        f" {line['bytes'] / 1e6:6.1f} MB,"
        f" TLS {line['handshakes']:4.0f}, peak {line['peak_kb'] / 1e3:.0f} MB,"
        f" wrong {line['wrong_count']}"
    )
