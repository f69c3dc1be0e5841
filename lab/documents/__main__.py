# SPDX-License-Identifier: Apache-2.0

"""``python3 -m lab.documents user/quickstart ...``

Goes through pages on the running lab, and shows what it does. Without a page:
all of which something is run. ``--list`` shows what would be run of them, and
why the rest is not.
"""

from __future__ import annotations

import argparse
import sys

from lab.documents import commands
from lab.documents import reader
from lab.documents import tables


def say(text: str) -> None:
    """Show it at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def show(page: str) -> None:
    """What would be run of a page, and what not."""
    table = tables.load(page)
    say(f"== {page}\n")
    for each in commands.commands(commands.text(page)):
        why = table.entry(each).not_run
        first = table.on_the_lab(each).splitlines()[0]
        say(f"# {why}: {first}\n" if why else f"$ {first}\n")


def main() -> int:
    """0: every command did what its page says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "page", nargs="*", help="such as user/quickstart", metavar="PAGE"
    )
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    unknown = set(options.page) - set(tables.pages())
    if unknown:
        parser.error(
            f"no table for the page {min(unknown)!r}: give one of"
            f" {', '.join(tables.pages())}"
        )
    wrong = 0
    for page in options.page or tables.pages():
        if options.list:
            show(page)
            continue
        if tables.load(page).not_run:
            continue
        read = reader.Reader(page, say).read()
        wrong += len(read.wrong)
        say(
            f"== {page}: {read.run} commands run, {len(read.wrong)} wrong,"
            f" {read.not_run} not run\n"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
