# SPDX-License-Identifier: Apache-2.0

"""Tables of faults and how they ended, from what the tests kept.

``python3 -m lab.chaos.table``, after the tests, adds what
they found to what is kept beside the page, and writes the tables anew. What
the half hour at random counted is beside it, too.
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
_NEW = (
    _CHECKOUT / ".lab" / "chaos.jsonl",
    _CHECKOUT / ".lab" / "chaos-compared.jsonl",
)
_WANDERED = _CHECKOUT / ".lab" / "chaos-wandered.txt"
_PAGES = _CHECKOUT / "doc" / "source" / "evidence"
KEPT = _PAGES / "faults-measured.jsonl"
TABLES = _PAGES / "faults-measured.inc"
#: Characters of a reason.
_LONGEST = 120
#: Names of what is left.
_MOST = 3
_HEAD = """\
.. Written by "python3 -m lab.chaos.table".
"""


def read(
    *paths: pathlib.Path,
) -> tuple[list[endings.Cell], list[endings.Ending]]:
    """What is in files; of what was run several times, the last run."""
    cells: dict[tuple[str, ...], endings.Cell] = {}
    ended: dict[tuple[str, ...], endings.Ending] = {}
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else ():
            row = json.loads(line)
            key = (row["operation"], row["step"], row["fault"])
            if "driver" in row:
                ended[(*key, row["driver"])] = endings.Ending(**row)
            else:
                cells[key] = endings.Cell(**row)
    return list(cells.values()), list(ended.values())


def tables(
    cells: Sequence[endings.Cell], ended: Sequence[endings.Ending] = ()
) -> str:
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
    around = [each for each in cells if not each.fault]
    if around:
        parts += _around(around)
    if ended:
        parts += _compared(ended)
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


def _around(cells: Sequence[endings.Cell]) -> Iterable[str]:
    yield ".. list-table:: While a cluster is resized"
    yield "   :header-rows: 1"
    yield "   :widths: 40 15 45"
    yield ""
    yield from _row(["What happens", "Done after, s", "The user reads"])
    for each in cells:
        read = ", ".join(f"``{one}``" for one in each.reason.split(" | "))
        yield from _row(
            [each.step, f"{each.seconds:.0f}", read if each.reason else ""]
        )
    yield ""


def _compared(ended: Sequence[endings.Ending]) -> Iterable[str]:
    """This driver beside the other one."""
    last = {(e.operation, e.step, e.fault, e.driver): e for e in ended}
    drivers = list(dict.fromkeys(each.driver for each in ended))
    yield ".. list-table:: The same faults with magnum-capi-helm 1.4.0"
    yield "   :header-rows: 1"
    yield ""
    yield from _row(["Step", "Fault", *drivers])
    for row in dict.fromkeys(key[:3] for key in last):
        operation, step, fault = row
        found = [last.get((*row, driver)) for driver in drivers]
        yield from _row([f"{operation}: {step}", fault, *map(_ending, found)])
    yield ""


def _ending(found: endings.Ending | None) -> str:
    """Status and reason, and what nobody will remove."""
    if found is None:
        return ""
    text = f"``{found.status}`` after {found.seconds:.0f} s"
    if not found.met:
        text += ", and did not come to this step"
    if reason := " ".join(found.reason.split()):
        text += f": ``{reason[:_LONGEST].rstrip()}``"
    if found.left:
        text += f"; left behind: {', '.join(found.left[:_MOST])}"
    if more := len(found.left[_MOST:]):
        text += f" and {more} more"
    return text


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
    cells, ended = read(KEPT, *_NEW)
    # Where the lab was is nobody's affair.
    lines = [
        json.dumps(vars(each)).replace(f"{_CHECKOUT}/", "")
        for each in (*cells, *ended)
    ]
    KEPT.write_text("".join(f"{each}\n" for each in lines))
    TABLES.write_text(tables(*read(KEPT)))
    if _WANDERED.exists():
        (_PAGES / "faults-wandered.txt").write_text(_WANDERED.read_text())


if __name__ == "__main__":
    main()
