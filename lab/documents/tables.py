# SPDX-License-Identifier: Apache-2.0

"""What of a page stands for what on the lab, and what is not run, and why.

A page has a table of the name of its path: ``tables/user-quickstart.yaml``.
Every command that the table does not except is run, and has to end well.
"""

from __future__ import annotations

import pathlib
import re

import msgspec
import yaml

from lab.documents import commands

FOLDER = pathlib.Path(__file__).parent / "tables"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is special about some commands.

    :param starts: how they begin, on one line
    :param first: a shell command that is run before: what the reader has done
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

    def about(self, command: str) -> bool:
        """Whether it is about this one."""
        return commands.one_line(command).startswith(self.starts)


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page on the lab.

    :param stands: words of the page, and what is put in their place
    :param given: what of ``given.yaml`` the page takes for granted
    :param before: shell commands: what else it takes for granted
    :param after: shell commands that take it away again
    :param user: whose ``openrc`` is read: ``demo`` or ``admin``
    :param not_run: why none of the page's commands is run
    """

    stands: dict[str, str] = {}
    given: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    user: str = "demo"
    not_run: str = ""
    commands: tuple[Entry, ...] = ()

    def entry(self, command: str) -> Entry:
        """What is said about a command; nothing special if nothing is."""
        for each in self.commands:
            if each.about(command):
                return each
        return Entry(starts="", not_run=self.not_run)

    def on_the_lab(self, command: str) -> str:
        """The command with the lab's names."""
        if not self.stands:
            return command
        longest_first = sorted(self.stands, key=len, reverse=True)
        return re.sub(
            "|".join(_whole(each) for each in longest_first),
            lambda found: self.stands[found[0]],
            command,
        )


def _whole(word: str) -> str:
    """A pattern for a word that is no part of a longer one."""
    start = r"(?<![\w.-])" if word[0].isalnum() else ""
    end = r"(?![\w-])" if word[-1].isalnum() else ""
    return f"{start}{re.escape(word)}{end}"


def given(name: str) -> str:
    """Shell commands that make what many pages take for granted.

    :raises KeyError: there is no such thing
    """
    script: str = yaml.safe_load((FOLDER / "given.yaml").read_text())[name]
    return script


def path(page: str) -> pathlib.Path:
    """Where the table of a page is."""
    return FOLDER / f"{page.replace('/', '-')}.yaml"


def pages() -> list[str]:
    """All pages that have a table."""
    return [each for each in commands.names() if path(each).exists()]


def load(page: str) -> Table:
    """The table of a page.

    :raises FileNotFoundError: it has none
    :raises msgspec.ValidationError: with the field that is wrong
    """
    found = yaml.safe_load(path(page).read_text())
    return msgspec.convert(found or {}, Table)
