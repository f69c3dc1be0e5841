# SPDX-License-Identifier: Apache-2.0

"""The table of the cloud's faults, from what the tests kept.

``python3 -m lab.fault_table``, after ``tox -e cloud -- test_faults``,
writes ``doc/source/evidence/cloud-faults.inc``.
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
   :widths: 16 26 36 6 16

"""
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
    :param said: the cloud's words
    :param polls: status polls from these words to the reason
    :param over: how the reason went
    """

    fault: str
    where: str
    said: str = ""
    status: str = ""
    reason: str = ""
    polls: int = 0
    over: str = ""


def read(path: pathlib.Path) -> list[Row]:
    """Return the rows; of what was run several times, the last one."""
    rows: dict[tuple[str, str], Row] = {}
    for line in path.read_text().splitlines():
        row = Row(**json.loads(line))
        rows[row.fault, row.where] = row
    return list(rows.values())


def table(rows: Sequence[Row]) -> str:
    """Return the rows as reStructuredText."""
    lines = [
        *_row("Fault", "The cloud", "The user", "Polls", "When it is over")
    ]
    for each in sorted(
        rows, key=lambda each: (each.fault.lower(), each.where)
    ):
        lines += _row(
            f"{each.fault}, {each.where}",
            _quoted(each.said),
            _quoted(each.reason),
            str(each.polls),
            each.over,
        )
    return _HEAD + "\n".join([*lines, ""])


def _key(row: Row) -> tuple[str, str]:
    return row.fault.lower(), row.where


def _quoted(text: str) -> str:
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return f"``{' '.join(text.replace('`', chr(39)).split())}``"


def _row(*cells: str) -> Iterator[str]:
    for number, cell in enumerate(cells):
        yield f"   {'  ' if number else '* '}- {cell}".rstrip()


def main() -> None:
    """Write the table."""
    PAGE.write_text(table(read(layout.STATE / ROWS)))


if __name__ == "__main__":
    main()
