# SPDX-License-Identifier: Apache-2.0

"""What of a page stands for what on the lab, and what is not run, and why.

The table of ``user/quickstart`` is ``tables/user-quickstart.yaml``. A command
that the table does not except is run, and has to end well.
"""

from __future__ import annotations

import pathlib
import re

import msgspec
import yaml

from lab.documents import commands

FOLDER = pathlib.Path(__file__).parent / "tables"
_CHECKOUT = FOLDER.parents[2]
#: Shell commands that make what many pages take for granted, by name.
GIVEN: dict[str, str] = yaml.safe_load((FOLDER / "given.yaml").read_text())


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is special about some commands.

    :param starts: how they begin, on one line
    :param first: shell commands that are run before: what the reader has done
        that the page does not say
    :param not_run: why they are not run
    :param prints: a pattern that is found in what they print
    :param code: the exit code that they have
    """

    starts: str
    first: str = ""
    not_run: str = ""
    prints: str = ""
    code: int = 0


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page on the lab.

    :param stands: words of the page, and what is put in their place
    :param given: names in ``GIVEN`` of what the page takes for granted
    :param before: shell commands: what else it takes for granted
    :param after: shell commands that take it away again
    :param user: whose ``openrc`` is read: ``demo`` or ``admin``
    :param not_run: why none of the page's commands is run
    :param tests: parts of the paths of tests that prove what the page says
    """

    stands: dict[str, str] = {}
    given: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    user: str = "demo"
    not_run: str = ""
    tests: tuple[str, ...] = ()
    commands: tuple[Entry, ...] = ()

    def entry(self, command: str) -> Entry:
        """Return what is said about a command."""
        line = commands.one_line(command)
        for each in self.commands:
            if line.startswith(each.starts):
                return each
        return Entry(starts="", not_run=self.not_run)

    def on_the_lab(self, command: str) -> str:
        """Return the command with the lab's names."""
        longest_first = sorted(self.stands, key=len, reverse=True)
        return re.sub(
            "|".join(map(_whole_word, longest_first)),
            lambda found: self.stands.get(found[0], ""),
            command,
        )


def _whole_word(word: str) -> str:
    """Return a pattern for a word that is no part of a longer one."""
    start = r"(?<![\w.-])" if word[0].isalnum() else ""
    end = r"(?![\w-])" if word[-1].isalnum() else ""
    return f"{start}{re.escape(word)}{end}"


def load(page: str) -> Table:
    """Return the table of a page.

    :raises msgspec.ValidationError: a field is wrong
    """
    file = FOLDER / f"{page.replace('/', '-')}.yaml"
    return msgspec.convert(yaml.safe_load(file.read_text()) or {}, Table)


def pages() -> list[str]:
    """Return the pages that have a table."""
    names = sorted(file.stem for file in FOLDER.glob("*-*.yaml"))
    return [name.replace("-", "/", 1) for name in names]


def tests(word: str) -> list[str]:
    """Return files of tests with a word in their path, and their tests."""
    found = []
    for folder in ("lab", "magnum_capi_helm"):
        for file in sorted(_CHECKOUT.glob(f"{folder}/**/test_*.py")):
            path = str(file.relative_to(_CHECKOUT))
            if word in path:
                names = re.findall(r"def test_(\w+)", file.read_text())
                lines = (f"    {name.replace('_', ' ')}" for name in names)
                found.append("\n".join([path, *lines]))
    return found
