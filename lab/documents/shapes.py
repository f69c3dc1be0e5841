# SPDX-License-Identifier: Apache-2.0

"""Whether what is printed looks like what the page shows.

Names, times and numbers differ. What does not are the columns of a table.
"""

from __future__ import annotations

_RULE, _ROW = "+-", "|"


def columns(text: str) -> list[str]:
    """The names of a table's columns, without spaces; none: no table.

    A narrow table has a name on several lines.
    """
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(_RULE):
            break
    rows = []
    for line in lines:
        if not line.startswith(_ROW):
            break
        rows.append([cell.strip() for cell in line.strip(_ROW).split(_ROW)])
    cells = zip(*rows, strict=False)
    return ["".join(parts).replace(" ", "") for parts in cells]


def differ(shown: str, printed: str) -> str:
    """What a reader would wonder at; empty: nothing.

    A command that finds nothing prints no table.
    """
    wanted, found = columns(shown), columns(printed)
    if not wanted or not found or wanted == found:
        return ""
    return f"the page shows the columns {wanted}, printed are {found}"
