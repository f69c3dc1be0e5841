# SPDX-License-Identifier: Apache-2.0

"""Tables of faults and how they ended, from what the tests kept.

``python3 -m lab.chaos.table``, after the tests, adds what
they found to what is kept beside the page, and writes the tables anew.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
import json
import pathlib

from lab.chaos import columns
from lab.chaos import endings
from lab.chaos import steps

_CHECKOUT = pathlib.Path(__file__).parents[2]
_NEW = _CHECKOUT / ".lab" / "chaos.jsonl"
_PAGES = _CHECKOUT / "doc" / "source" / "evidence"
KEPT = _PAGES / "faults-measured.jsonl"
TABLES = _PAGES / "faults-measured.inc"
_HEAD = """\
.. Written by "python3 -m lab.chaos.table".
"""


def read(*paths: pathlib.Path) -> list[endings.Cell]:
    """What is in files; of what was run several times, the last run."""
    cells: dict[tuple[str, str, str], endings.Cell] = {}
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else ():
            found = endings.Cell(**json.loads(line))
            cells[found.operation, found.step, found.fault] = found
    return list(cells.values())


def tables(cells: Sequence[endings.Cell]) -> str:
    """All of them, as reStructuredText."""
    last = {(each.operation, each.step, each.fault): each for each in cells}
    parts = [_HEAD, *_summary(cells)]
    for title, known in (
        ("Requests to the management cluster", steps.KUBERNETES),
        ("Requests to Keystone", steps.KEYSTONE),
    ):
        rows = [
            (operation, step.name)
            for operation, choice in known.items()
            for step in choice
        ]
        met = {key[2] for key in last if key[:2] in rows}
        names = [each.name for each in columns.COLUMNS if each.name in met]
        if names:
            parts += _table(title, rows, names, last)
    return "\n".join(parts)


def _summary(cells: Sequence[endings.Cell]) -> Iterable[str]:
    counts = collections.Counter(each.ended for each in cells)
    yield (
        f"{len(cells)} operations with a fault: {counts[endings.DONE]} done, "
        f"{counts[endings.FAILED]} failed with a reason and done when asked "
        f"again, {counts[endings.LOST]} lost by Magnum, "
        f"{counts[endings.STUCK]} stuck."
    )
    yield ""


def _table(
    title: str,
    rows: Sequence[tuple[str, str]],
    names: Sequence[str],
    last: dict[tuple[str, str, str], endings.Cell],
) -> Iterable[str]:
    yield f".. list-table:: {title}"
    yield "   :header-rows: 1"
    yield "   :stub-columns: 1"
    yield ""
    yield from _row(["Step", *names])
    for operation, step in rows:
        found = [last.get((operation, step, name)) for name in names]
        if any(found):
            yield from _row([f"{operation}: {step}", *map(_cell, found)])
    yield ""


def _cell(found: endings.Cell | None) -> str:
    """Seconds, and a word where it was not just done."""
    if found is None:
        return ""
    seconds = f"{found.seconds:.0f}"
    return (
        seconds if found.ended == endings.DONE else f"{found.ended} {seconds}"
    )


def _row(words: Sequence[str]) -> Iterable[str]:
    for number, word in enumerate(words):
        yield f"   {'  ' if number else '* '}- {word}".rstrip()


def main() -> None:
    """Add what is new, and write the tables."""
    # Where the lab was is nobody's affair.
    lines = [
        json.dumps(vars(each)).replace(f"{_CHECKOUT}/", "")
        for each in read(KEPT, _NEW)
    ]
    KEPT.write_text("".join(f"{each}\n" for each in lines))
    TABLES.write_text(tables(read(KEPT)))


if __name__ == "__main__":
    main()
