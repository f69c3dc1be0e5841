# SPDX-License-Identifier: Apache-2.0

"""Turns JSON lines into the table and the picture of the docs."""

from __future__ import annotations

import json
import pathlib

from bench import medians
from bench import plot
from bench import table

_DOCS = pathlib.Path(__file__).parents[1] / "doc" / "source"
TABLE = _DOCS / "evidence" / "sizing-measured.inc"
PICTURE = _DOCS / "_static" / "polling-cost.png"
_NOTE = (
    '.. Written by "python3 -m bench report --docs"; medians of {runs}'
    " runs.\n\n"
)


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
    found = medians.costs(lines)
    if not found:
        raise SystemExit("nothing was measured yet: python3 -m bench run")
    runs = min(each.runs for each in found.values())
    text = _NOTE.format(runs=runs) + table.tables(found)
    written = TABLE if docs else folder / TABLE.name
    written.write_text(text)
    plot.draw(found, PICTURE if docs else folder / PICTURE.name)
    return text
