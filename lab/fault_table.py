# SPDX-License-Identifier: Apache-2.0

"""The table of the cloud's faults, from what the tests kept.

``python3 -m lab.fault_table``, after ``tox -e cloud -- faults`` or ``tox -e
nodes -- faults``, writes new rows into
``doc/source/evidence/cloud-faults.inc``; the others stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import dataclasses
import json
import pathlib
import re

from lab import layout

ROWS = "cloud-faults.jsonl"
PAGE = layout.CHECKOUT / "doc" / "source" / "evidence" / "cloud-faults.inc"
_HEAD = """\
.. Written by "python3 -m lab.fault_table".

.. list-table::
   :header-rows: 1
   :widths: 13 21 10 29 12 5 10

"""
_COLUMNS = (
    "Fault",
    "The component",
    "Status",
    "Reason",
    "Health",
    "Polls",
    "When it is over",
)
#: Generated names and identifiers say nothing to a reader.
_NAMES = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}"), "ID"),
    (re.compile(r"c-[0-9a-f]{6}-[0-9a-f]{12}"), "R"),
    (re.compile(r"magnum-[0-9a-f]{32}"), "NS"),
    (
        re.compile(
            r"\bR-(control-plane|[\w-]+?)-[a-z0-9]{5}(?:-[a-z0-9]{5})?\b"
        ),
        r"R-\1-X",
    ),
)


@dataclasses.dataclass
class Row:
    """One fault, and what was said of it.

    :param where: control plane or workers
    :param said: the words of the component with the fault
    :param health: the word, and the entries that are not well
    :param polls: status polls from these words to the reason; health polls if
        the health alone has it
    :param silent: seconds for which the driver waits for words of others
    :param over: how the reason went
    """

    fault: str
    where: str
    said: str = ""
    status: str = ""
    reason: str = ""
    health: str = ""
    polls: int = 0
    silent: int = 0
    over: str = ""


def read(page: str, *paths: pathlib.Path) -> list[Row]:
    """Return the rows; of what was run several times, the last one.

    :param page: the table that has been published
    """
    rows = [*_published(page)]
    for path in paths:
        for line in path.read_text().splitlines():
            rows.append(_short(Row(**json.loads(line))))
    return list({(each.fault, each.where): each for each in rows}.values())


def _short(row: Row) -> Row:
    """Return a row with short names, and each cell in one line."""
    cells: dict[str, str] = {}
    for name in ("said", "reason", "health"):
        text = str(getattr(row, name))
        for pattern, short in _NAMES:
            text = pattern.sub(short, text)
        cells[name] = " ".join(text.replace("`", "'").split())
    return dataclasses.replace(row, **cells)  # type: ignore[arg-type]


def _published(page: str) -> Iterator[Row]:
    """Yield the rows of a table, as ``table`` has written them."""
    for entry in page.split("   * - ")[2:]:
        fault, said, status, reason, health, polls, over = (
            cell.strip().removeprefix("``").removesuffix("``")
            for cell in entry.split("\n     -")
        )
        fault, _, where = fault.rpartition(", ")
        count, _, silent = polls.partition(", after ")
        seconds = int(silent.removesuffix(" s") or 0)
        words = (fault, where, said, status, reason, health)
        yield Row(*words, int(count), seconds, over)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as reStructuredText."""
    lines = [*_row(*_COLUMNS)]
    for each in sorted(rows, key=_key):
        silent = f", after {each.silent} s" if each.silent else ""
        lines += _row(
            f"{each.fault}, {each.where}",
            _quoted(each.said),
            each.status,
            _quoted(each.reason),
            _quoted(each.health),
            f"{each.polls}{silent}",
            each.over,
        )
    return _HEAD + "\n".join([*lines, ""])


def _key(row: Row) -> tuple[str, str]:
    return row.fault.lower(), row.where


def _quoted(text: str) -> str:
    return f"``{text}``" if text else ""


def _row(*cells: str) -> Iterator[str]:
    for number, cell in enumerate(cells):
        yield f"   {'  ' if number else '* '}- {cell}".rstrip()


def main() -> None:
    """Write the table."""
    rows = read(PAGE.read_text(), layout.STATE / ROWS)
    PAGE.write_text(table(rows))


if __name__ == "__main__":
    main()
