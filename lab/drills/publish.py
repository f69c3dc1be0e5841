# SPDX-License-Identifier: Apache-2.0
"""Put the records of the last drills beside the page that shows them.

``python3 -m lab.drills.publish``, after the drills. Folders
of one run are left out of them, and the log's own lines.
"""

from __future__ import annotations

import re
import textwrap

from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import records

_LOGGED = re.compile(r"^\S+ +(audit: |cluster \S+: |release \S+ in |/)")
_FOLDER = re.compile(rf"/tmp/\w+/\w+|{re.escape(str(programs.LAB))}")
_PROJECT = re.compile(r"\bmagnum-[0-9a-f]{32}\b")
#: Characters of what was said at once, and of a line.
_LONGEST = 300
_WIDTH = 79


def shown(record: str) -> str:
    """A record as the page has it."""
    lines = []
    for each in record.splitlines():
        if _LOGGED.match(each):
            continue
        line = _PROJECT.sub("magnum-PROJECT", _FOLDER.sub("", each))
        lines += textwrap.wrap(
            line[:_LONGEST],
            _WIDTH,
            subsequent_indent=" " * 11,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
    return "".join(f"{each}\n" for each in lines)


def main() -> None:
    """Copy each record."""
    records.PAGES.mkdir(exist_ok=True)
    for each in sorted(records.DIRECTORY.glob("*.txt")):
        (records.PAGES / each.name).write_text(shown(each.read_text()))


if __name__ == "__main__":
    main()
