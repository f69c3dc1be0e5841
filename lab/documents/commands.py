# SPDX-License-Identifier: Apache-2.0

"""The commands of a page: lines of literal blocks that begin with ``$``.

Such a line goes on for as long as a shell would read on: after a backslash, in
quotes, in a here-document or a loop. The other lines of a block are what the
command prints.
"""

from __future__ import annotations

import pathlib
import re
import shlex
import textwrap
from typing import NamedTuple

SOURCE = pathlib.Path(__file__).parents[2] / "doc" / "source"
# A line that ends with "::" or a directive; its options; what is indented
# as the next line.
_BLOCK = re.compile(
    r"^(?P<indent> *)(?:\.\. code-block::.*|(?!\.\. ).*::)\n"
    r"(?:(?P=indent) +:\w.*\n)*\n+"
    r"(?P<text>(?P<inner>(?P=indent) +)\S.*\n(?:(?P=inner).*\n|\n)*)",
    re.MULTILINE,
)
_HERE = re.compile(r"<<-?\s*['\"]?(\w+)")
_LOOP = re.compile(r"(for|while|until)\b")


class Step(NamedTuple):
    """A command, and what the page says that it prints."""

    command: str
    shown: str = ""


def read(page: str) -> str:
    """Return the source of a page, such as ``user/quickstart``."""
    return (SOURCE / f"{page}.rst").read_text()


def blocks(source: str) -> list[str]:
    """Return the literal blocks of a page."""
    return [
        textwrap.dedent(found["text"]).strip("\n")
        for found in _BLOCK.finditer(f"{source}\n")
    ]


def steps(source: str) -> list[Step]:
    """Return the commands of a page.

    :raises ValueError: a command does not end
    """
    return [step for text in blocks(source) for step in parse(text, "$ ")]


def one_line(command: str) -> str:
    """Return a command without its line breaks."""
    return " ".join(command.replace("\\\n", " ").split())


def parse(text: str, prompt: str = "") -> list[Step]:
    """Return the commands of a block or of a script.

    :raises ValueError: a command does not end
    """
    found: list[Step] = []
    command = ""
    for line in text.splitlines():
        if command or (line.startswith(prompt) and line.strip()):
            command += f"\n{line}" if command else line.removeprefix(prompt)
            if not _is_open(command):
                found.append(Step(command))
                command = ""
        elif found:
            last = found.pop()
            found.append(last._replace(shown=f"{last.shown}{line}\n"))
    if command:
        raise ValueError(f"{command!r} does not end")
    return found


def _is_open(command: str) -> bool:
    """Return whether a shell would read on."""
    if here := _HERE.search(command):
        return command.splitlines()[-1].strip() != here[1]
    if _LOOP.match(command):
        return not re.search(r"^\s*done\b", command, re.MULTILINE)
    try:
        shlex.split(command)
    except ValueError:  # quotes are open, or it ends with a backslash
        return True
    return False
