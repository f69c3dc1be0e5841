# SPDX-License-Identifier: Apache-2.0

"""``python3 -m bench``."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys
from typing import Any

from bench import kinds
from lab import environment
from lab import layout

#: Seconds: polls share a look at health for up to twenty.
_SPACING = 25.0
#: Run by the Python that called, which may have matplotlib.
_PLAIN = ("report",)


def main(words: list[str]) -> int:
    """Run a command; return 0 only if every verdict was right."""
    given = _parser().parse_args(words)
    if given.command not in _PLAIN and not _inside():
        _enter(words)
    # Servers are stopped however we end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return int(globals()[f"_{given.command}"](given))


def _inside() -> bool:
    return pathlib.Path(sys.prefix) == layout.VENV


def _enter(words: list[str]) -> None:
    """Become the same command, run by the lab's Python."""
    if not layout.PYTHON.exists():
        raise SystemExit("there is no lab yet: python3 -m lab up")
    os.chdir(layout.CHECKOUT)
    # The lab's Magnum loads eventlet, which says that it is old.
    argv = [str(layout.PYTHON), "-W", "ignore", "-m", "bench", *words]
    os.execve(layout.PYTHON, argv, environment.inside())  # noqa: S606


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench", description="Measure what polling costs."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_run(commands)
    recorded = commands.add_parser(
        "record", help="record a cluster of the running lab"
    )
    recorded.add_argument("release")
    recorded.add_argument("state")
    report = commands.add_parser("report", help="write table and picture")
    report.add_argument("results", type=pathlib.Path, nargs="*")
    report.add_argument(
        "--docs", action="store_true", help="those of the documentation"
    )
    commands.add_parser("stop", help="stop servers that were left running")
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser("run", help="measure ticks")
    run.add_argument(
        "--clusters",
        type=_numbers,
        default=(1, 10, 100, 1000),
        help="sizes of the population for health ticks",
    )
    run.add_argument(
        "--in-progress",
        type=_numbers,
        default=(1, 10, 100, 1000),
        help="clusters of the largest population that are in progress, for "
        "status ticks",
    )
    run.add_argument(
        "--kinds", type=_words, default=kinds.ALL, help="health, status"
    )
    _add_repetition(run)
    run.add_argument(
        "--projects", type=int, default=20, help="namespaces of the clusters"
    )
    run.add_argument(
        "--ill-every",
        type=int,
        default=50,
        help="of so many clusters, one has an ill worker and one an ill "
        "control plane; at least 8",
    )
    run.add_argument(
        "--restricted",
        action="store_true",
        help="drivers have the user of the shipped permissions (default: an "
        "administrator)",
    )
    _add_drivers(run)
    run.add_argument(
        "--out",
        type=pathlib.Path,
        default=None,
        help="folder of results.jsonl (default: .bench)",
    )


def _add_repetition(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runs",
        type=int,
        default=3,
        help="new processes of each driver, in turns",
    )
    command.add_argument(
        "--ticks",
        type=int,
        default=1,
        help="measured ticks of each process",
    )
    command.add_argument(
        "--spacing",
        type=float,
        default=_SPACING,
        help="seconds between two ticks of this driver's process",
    )


def _add_drivers(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--drivers",
        type=_drivers,
        default=kinds.DEFAULT,
        help="new (this checkout), 1.4.0, none, or before: this driver in "
        "the checkout $BENCH_BEFORE",
    )


def _drivers(text: str) -> tuple[str, ...]:
    names = _words(text)
    if unknown := set(names) - set(kinds.DRIVERS):
        raise argparse.ArgumentTypeError(
            f"{unknown}: known are {kinds.DRIVERS}"
        )
    return names


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each)


def _words(text: str) -> tuple[str, ...]:
    return tuple(each for each in text.split(",") if each)


def _run(given: argparse.Namespace) -> int:
    from bench import measuring
    from bench import members
    from bench import places

    strange = set(given.kinds) - set(kinds.ALL)
    if strange:
        raise SystemExit(f"--kinds {strange}: known are {kinds.ALL}")
    members.PROJECTS = given.projects
    members.ILL_EVERY = given.ill_every
    plan = measuring.Plan(
        kinds=given.kinds,
        clusters=given.clusters,
        in_progress=given.in_progress,
        names=given.drivers,
        runs=given.runs,
        ticks=given.ticks,
        spacing=given.spacing,
        target=(given.out or places.STATE) / "results.jsonl",
        restricted=given.restricted,
    )
    return 1 if measuring.run(plan, _say) else 0


def _say(text: str) -> None:
    print(text, flush=True)


def _report(given: argparse.Namespace) -> int:
    from bench import places
    from bench import report

    results = given.results or [places.RESULTS]
    _say(report.report(results, places.STATE, docs=given.docs))
    return 0


def _record(given: argparse.Namespace) -> int:
    from bench import places
    from bench import record

    target = places.RECORDED / f"{given.state}.json.gz"
    record.record(given.release, target, secrets=given.state == "settled")
    return 0


def _stop(given: argparse.Namespace) -> int:
    from bench import servers

    with servers.alone():
        servers.stop()
    return 0
