# SPDX-License-Identifier: Apache-2.0

"""Medians of what was measured, as the table and the picture of the docs.

The picture needs matplotlib: ``bench/requirements.txt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import dataclasses
import json
import pathlib
import statistics
from typing import Any

from bench import kinds

_DOCS = pathlib.Path(__file__).parents[1] / "doc" / "source"
TABLE = _DOCS / "evidence" / "sizing-measured.inc"
PICTURE = _DOCS / "_static" / "polling-cost.png"
_NOTE = (
    '.. Written by "python3 -m bench report --docs"; medians of {runs}'
    " runs.\n\n"
)
#: Which figures are taken from whole ticks, and which from the hooks alone.
_OF_TICKS = (
    *("requests", "bytes", "handshakes", "process_cpu", "wall", "peak_kb"),
    "own_cpu",
)
_OF_HOOKS = {"own_cpu": "hooks_cpu", "hook_wall": "hooks_wall"}
_NAMES = {
    kinds.NEW: "this driver",
    kinds.BEFORE: "before",
    kinds.OLD: "1.4.0",
}
#: Title of a table and its first column, and the axis of the picture.
_TITLES = {
    kinds.HEALTH: (
        "Health tick over all clusters",
        "Clusters",
        "health tick: clusters",
    ),
    kinds.STATUS: (
        "Status tick, with so many clusters in progress",
        "In progress",
        "status tick: clusters in progress",
    ),
}
#: Heading, figure, how it is written.
_COLUMNS: Sequence[tuple[str, str, Callable[[float], str]]] = (
    ("Requests", "requests", lambda found: f"{found:.0f}"),
    ("MB", "bytes", lambda found: f"{found / 1e6:.1f}"),
    ("TLS", "handshakes", lambda found: f"{found:.0f}"),
    ("CPU, s", "hooks_cpu", lambda found: f"{found:.3f}"),
    ("Wall, s", "hooks_wall", lambda found: f"{found:.3f}"),
    ("CPU in tick, s", "own_cpu", lambda found: f"{found:.3f}"),
    ("Process, s", "process_cpu", lambda found: f"{found:.3f}"),
    ("Peak, MB", "peak_kb", lambda found: f"{found / 1e3:.0f}"),
)
_COMPARED = ("requests", "handshakes", "hooks_cpu", "hooks_wall", "own_cpu")
_FIELDS = (
    ("requests", "requests to the API server"),
    ("hooks_cpu", "CPU of the driver, seconds"),
    ("hooks_wall", "from the first call to the last answer, seconds"),
)
_STYLES = {
    kinds.NEW: {"label": "this driver", "color": "#1b6ca8", "marker": "o"},
    kinds.OLD: {"label": "1.4.0", "color": "#c0392b", "marker": "s"},
}


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


def report(
    results: list[pathlib.Path], folder: pathlib.Path, *, docs: bool
) -> str:
    """Write table and picture; the table.

    :param folder: where to, unless they are for the docs
    """
    lines = [
        json.loads(line)
        for path in results
        for line in path.read_text().splitlines()
    ]
    found = costs(lines)
    if not found:
        raise SystemExit("nothing was measured yet: python3 -m bench run")
    runs = min(each.runs for each in found.values())
    text = _NOTE.format(runs=runs) + tables(found)
    table, picture = (
        path if docs else folder / path.name for path in (TABLE, PICTURE)
    )
    table.write_text(text)
    _draw(found, picture)
    return text


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
    ticks, hooks = (
        [each for each in lines if not each["cold"] and each["mode"] == mode]
        for mode in (kinds.TICK, kinds.HOOKS)
    )
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


def tables(found: Mapping[Case, Cost]) -> str:
    """A list-table for each kind of tick, as reStructuredText."""
    lines: list[str] = []
    headings = [heading for heading, _, _ in _COLUMNS]
    for kind, (title, size, _) in _TITLES.items():
        counts = sorted({case.size for case in found if case.kind == kind})
        if counts:
            lines += [f".. list-table:: {title}", "   :header-rows: 1", ""]
            lines += _row([size, "Driver", *headings, "Wrong"])
            for count in counts:
                lines += _rows(kind, count, found)
            lines.append("")
    return "\n".join(lines)


def _rows(kind: str, count: int, found: Mapping[Case, Cost]) -> Iterator[str]:
    by_driver = {
        name: found[case]
        for name in _NAMES
        if (case := Case(kind, count, name)) in found
    }
    for name, cost in by_driver.items():
        figures = [write(cost.figures[key]) for _, key, write in _COLUMNS]
        yield from _row([str(count), _NAMES[name], *figures, str(cost.wrong)])
    if kinds.NEW in by_driver and kinds.OLD in by_driver:
        new, old = (by_driver[each] for each in (kinds.NEW, kinds.OLD))
        ratios = [
            times_less(new.figures[key], old.figures[key])
            if key in _COMPARED
            else ""
            for _, key, _ in _COLUMNS
        ]
        yield from _row([str(count), "times less", *ratios, ""])


def _row(cells: Sequence[str]) -> Iterator[str]:
    for number, cell in enumerate(cells):
        start = "     - " if number else "   * - "
        yield (start + cell).rstrip()


def _draw(found: Mapping[Case, Cost], target: pathlib.Path) -> None:
    """Write a PNG with one curve for each driver in each field."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(
        len(_TITLES), len(_FIELDS), figsize=(13, 7.5), layout="constrained"
    )
    for row, (kind, (*_, along)) in zip(grid, _TITLES.items(), strict=True):
        for field, (key, title) in zip(row, _FIELDS, strict=True):
            for name, style in _STYLES.items():
                points = [
                    (case.size, cost.figures[key])
                    for case, cost in sorted(found.items())
                    if (case.kind, case.driver) == (kind, name)
                    and cost.figures[key]
                ]
                if points:
                    field.plot(*zip(*points, strict=True), **style)
            field.set(xscale="log", yscale="log", xlabel=along, title=title)
            field.grid(which="major", alpha=0.4)
            if field.get_legend_handles_labels()[0]:
                field.legend()
    figure.savefig(target, dpi=110, metadata={"Software": None})
