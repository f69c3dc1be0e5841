# SPDX-License-Identifier: Apache-2.0

"""Check that polls leave no memory, open files or sockets behind."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import time
from typing import Any

from bench import drivers
from bench import kinds
from bench import population

CLUSTERS = 50
IN_PROGRESS = 10
#: The first polls fill caches, pools and the allocator's arenas, one for each
#: thread, and those may stay.
WARM = 4000
_SAID_EVERY = 1000


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Limits of the growth between the warm-up and the last poll.

    :param megabytes: of resident memory: the allocator's own ups and downs
    :param blocks: of Python's memory, for each poll; an object that stays
        is one at least
    :param descriptors: pooled connections come and go
    """

    megabytes: float = 10.0
    blocks: float = 0.5
    descriptors: int = 8


def run(
    polls: int,
    spacing: float,
    say: Callable[[str], None],
    bounds: Bounds | None = None,
) -> bool:
    """Poll again and again; whether nothing grew.

    :param polls: as many, after those that fill the caches
    :param spacing: seconds between rounds: polls soon after each other share
        what they read
    """
    with population.running(say, {}) as made:
        made.become(CLUSTERS, in_progress=IN_PROGRESS)
        with drivers.Process(kinds.NEW) as process:
            warm, end = _rounds(process, polls, spacing, say)
    return _within(warm, end, polls, bounds or Bounds(), say)


def _rounds(
    process: drivers.Process,
    polls: int,
    spacing: float,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Resources after the warm-up and after the last poll."""
    done = 0
    said = 0
    warm: dict[str, Any] = {}
    while True:
        process.run(kinds.HEALTH, kinds.TICK)
        found = process.run(kinds.STATUS, kinds.TICK)
        done += CLUSTERS + IN_PROGRESS
        if not warm and done >= WARM:
            warm = found
        if done // _SAID_EVERY > said:
            said = done // _SAID_EVERY
            say(_line(done, found))
        if done >= WARM + polls:
            return warm, found
        time.sleep(spacing)


def _line(done: int, found: dict[str, Any]) -> str:
    return (
        f"{done:6d} polls: {found['rss_kb'] / 1e3:.1f} MB,"
        f" {found['blocks']:.0f} blocks of Python's memory,"
        f" {found['descriptors']:.0f} descriptors"
    )


def _within(
    warm: dict[str, Any],
    end: dict[str, Any],
    polls: int,
    bounds: Bounds,
    say: Callable[[str], None],
) -> bool:
    memory = (end["rss_kb"] - warm["rss_kb"]) / 1e3
    blocks = (end["blocks"] - warm["blocks"]) / polls
    descriptors = end["descriptors"] - warm["descriptors"]
    say(
        f"grown in {polls} polls by {memory:.1f} MB (at most"
        f" {bounds.megabytes:.0f}), {blocks:.3f} blocks a poll (at most"
        f" {bounds.blocks}) and {descriptors:.0f} descriptors (at most"
        f" {bounds.descriptors})"
    )
    return bool(
        memory <= bounds.megabytes
        and blocks <= bounds.blocks
        and descriptors <= bounds.descriptors
    )
