# SPDX-License-Identifier: Apache-2.0

"""A table of costs, as reStructuredText. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bench import kinds
from bench import medians

_NAMES = {
    kinds.NEW: "this driver",
    kinds.BEFORE: "before",
    kinds.OLD: "1.4.0",
    kinds.NONE: "none",
}
_ORDER = tuple(_NAMES)
_TITLES = {
    kinds.HEALTH: ("Health tick over all clusters", "Clusters"),
    kinds.STATUS: (
        "Status tick, with so many clusters in progress",
        "In progress",
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


def tables(found: Mapping[medians.Case, medians.Cost]) -> str:
    """A list-table for each kind of tick."""
    return "\n".join(
        "\n".join(_table(kind, found))
        for kind in (kinds.HEALTH, kinds.STATUS)
        if any(case.kind == kind for case in found)
    )


def _table(
    kind: str, found: Mapping[medians.Case, medians.Cost]
) -> Iterable[str]:
    title, size = _TITLES[kind]
    yield f".. list-table:: {title}"
    yield "   :header-rows: 1"
    yield ""
    headings = [heading for heading, _, _ in _COLUMNS]
    yield from _row([size, "Driver", *headings, "Wrong"])
    for count in sorted({case.size for case in found if case.kind == kind}):
        yield from _rows(kind, count, found)
    yield ""


def _rows(
    kind: str, count: int, found: Mapping[medians.Case, medians.Cost]
) -> Iterable[str]:
    by_driver = {
        name: found[case]
        for name in _ORDER
        if (case := medians.Case(kind, count, name)) in found
    }
    for name, cost in by_driver.items():
        figures = [write(cost.figures[key]) for _, key, write in _COLUMNS]
        yield from _row([str(count), _NAMES[name], *figures, str(cost.wrong)])
    if kinds.NEW in by_driver and kinds.OLD in by_driver:
        new, old = (by_driver[each] for each in (kinds.NEW, kinds.OLD))
        ratios = [
            medians.times_less(new.figures[key], old.figures[key])
            if key in _COMPARED
            else ""
            for _, key, _ in _COLUMNS
        ]
        yield from _row([str(count), "times less", *ratios, ""])


def _row(cells: Sequence[str]) -> Iterable[str]:
    for number, cell in enumerate(cells):
        start = "   * - " if not number else "     - "
        yield (start + cell).rstrip()
