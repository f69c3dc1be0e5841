# SPDX-License-Identifier: Apache-2.0

"""``python3 -m bench``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import os
import pathlib
import signal
import sys
from typing import Any

from bench import kinds
from lab import environment
from lab import layout


def main(words: list[str]) -> int:
    """Run a command; return 0 only if every verdict was right."""
    given = _parser().parse_args(words)
    # A report is made by the Python that called, which may have matplotlib.
    if given.do is not _report and pathlib.Path(sys.prefix) != layout.VENV:
        _enter(words)
    # Servers are stopped however we end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return int(given.do(given))


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
    run = commands.add_parser("run", help="measure ticks")
    run.set_defaults(do=_run)
    options: tuple[tuple[str, Callable[[str], Any], Any, str], ...] = (
        ("clusters", _numbers, (1, 10, 100, 1000), "sizes of the population"),
        ("kinds", _choice(kinds.ALL), kinds.ALL, ", ".join(kinds.ALL)),
        (
            "drivers",
            _choice(kinds.DRIVERS),
            kinds.DEFAULT,
            "new (this checkout), 1.4.0, or before: this driver in the "
            "checkout $BENCH_BEFORE",
        ),
        ("runs", int, 3, "new processes of each driver, in turns"),
        ("out", pathlib.Path, None, "folder of results.jsonl (.bench)"),
    )
    for name, kind, default, text in options:
        run.add_argument(f"--{name}", type=kind, default=default, help=text)
    report = commands.add_parser("report", help="write table and picture")
    report.set_defaults(do=_report)
    report.add_argument("results", type=pathlib.Path, nargs="*")
    report.add_argument(
        "--docs", action="store_true", help="those of the documentation"
    )
    stop = commands.add_parser(
        "stop", help="stop servers that were left running"
    )
    stop.set_defaults(do=_stop)
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _choice(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Return the type of an argument of some words out of these."""

    def words(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        if unknown := set(names) - set(known):
            raise argparse.ArgumentTypeError(f"{unknown}: known are {known}")
        return names

    return words


def _run(given: argparse.Namespace) -> int:
    from bench import measuring
    from bench import places

    plan = measuring.Plan(
        kinds=given.kinds,
        clusters=given.clusters,
        names=given.drivers,
        runs=given.runs,
        target=(given.out or places.STATE) / "results.jsonl",
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


def _stop(given: argparse.Namespace) -> int:
    from bench import servers

    with servers.alone():
        servers.stop()
    return 0
