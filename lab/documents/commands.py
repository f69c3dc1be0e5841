# SPDX-License-Identifier: Apache-2.0

"""The commands of a page: lines of literal blocks that begin with ``$``.

What follows such a line belongs to it for as long as a shell would go on
reading: after a backslash, inside of quotes, a here-document or a loop. The
other lines of the block are what the command prints.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import functools
import pathlib
import re
import shlex

from docutils import core
from docutils import nodes
from docutils.parsers import rst
from docutils.parsers.rst import directives
from docutils.parsers.rst import roles

SOURCE = pathlib.Path(__file__).parents[2] / "doc" / "source"
PROMPT = "$ "
#: Programs whose commands have a prompt wherever they are shown.
_KNOWN = re.compile(
    r"(sudo -u magnum |sudo )?(openstack|kubectl|magnum-capi-helm|helm"
    r"|openssl|jq|curl|git|tar) [a-z-]"
)
_HERE = re.compile(r"<<-?\s*['\"]?(\w+)")
_LOOP = re.compile(r"^(for|while|until)\b")


class _Block(rst.Directive):
    """Sphinx's ``code-block``, which has more options than docutils'."""

    optional_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012
        name: directives.unchanged
        for name in ("caption", "name", "emphasize-lines", "linenos")
    }

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        caption = self.options.get("caption", "")
        language = "".join(self.arguments)
        return [
            nodes.literal_block(text, text, caption=caption, language=language)
        ]


@functools.cache
def _prepare() -> None:
    directives.register_directive("code-block", _Block)
    for role in ("doc", "ref", "option", "term"):
        roles.register_generic_role(role, nodes.literal)


def names() -> list[str]:
    """All pages, as ``user/quickstart``."""
    return sorted(
        str(path.relative_to(SOURCE).with_suffix(""))
        for path in SOURCE.rglob("*.rst")
    )


def text(page: str) -> str:
    """The source of a page."""
    return (SOURCE / f"{page}.rst").read_text()


@functools.cache
def _blocks(source: str) -> tuple[nodes.literal_block, ...]:
    """Literal blocks, in the order of the page."""
    _prepare()
    tree = core.publish_doctree(
        source,
        settings_overrides={
            # Sphinx itself complains of what is wrong.
            "report_level": 5,
            "halt_level": 5,
            "file_insertion_enabled": False,
        },
    )
    # Of a directive that docutils does not know, it shows the source.
    return tuple(
        block
        for block in tree.findall(nodes.literal_block)
        if not isinstance(block.parent, nodes.system_message)
    )


def literals(source: str) -> list[str]:
    """The text of each literal block."""
    return [block.astext() for block in _blocks(source)]


def files(source: str) -> Iterator[tuple[str, str]]:
    """Names and content of the files that a page shows: the caption.

    Those of a directory, such as ``/etc``, are not a reader's own.
    """
    for block in _blocks(source):
        name = block.get("caption", "")
        if re.fullmatch(r"\w[\w.-]*\.\w+", name):
            yield name, f"{block.astext()}\n"


def _open(command: str) -> bool:
    """Whether a shell would read on."""
    here = _HERE.search(command)
    if here:
        return command.splitlines()[-1].strip() != here[1]
    if command.endswith("\\"):
        return True
    if _LOOP.match(command):
        return not re.search(r"^\s*done\b", command, re.MULTILINE)
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


@dataclasses.dataclass(frozen=True)
class Step:
    """A command, and what the page says that it prints."""

    command: str
    shown: str = ""


def of_block(block: str) -> list[Step]:
    """The commands of one literal block."""
    return _steps(block, PROMPT)


def of_script(script: str) -> list[str]:
    """The commands of a script, which have no prompt."""
    return [each.command for each in _steps(script, "")]


def _steps(text_: str, prompt: str) -> list[Step]:
    found: list[Step] = []
    lines = iter(text_.splitlines())
    for line in lines:
        if line.startswith(prompt) and line.strip():
            command = _whole(line.removeprefix(prompt), lines)
            found.append(Step(command))
        elif found:
            last = found.pop()
            found.append(Step(last.command, f"{last.shown}{line}\n"))
    return found


def _whole(command: str, lines: Iterator[str]) -> str:
    """A command with the lines that it goes on in."""
    while _open(command):
        following = next(lines, None)
        if following is None:
            raise ValueError(f"{command!r} does not end")
        command = f"{command}\n{following}"
    return command


def steps(source: str) -> list[Step]:
    """The commands of a page, in its order."""
    return [each for block in literals(source) for each in of_block(block)]


def commands(source: str) -> list[str]:
    """The same, without what they print."""
    return [each.command for each in steps(source)]


def unmarked(source: str) -> list[str]:
    """Lines that are commands, and have no prompt."""
    return [
        line
        for block in literals(source)
        if PROMPT not in block
        for line in block.splitlines()
        if _KNOWN.match(line)
    ]


def of_root(source: str) -> list[str]:
    """Lines with the prompt of root, which would be taken for output."""
    return [
        line
        for block in _blocks(source)
        if block.get("language") == "console"
        for line in block.astext().splitlines()
        if line.startswith("# ")
    ]


def one_line(command: str) -> str:
    """A command without its line breaks, for who looks for it."""
    return " ".join(command.replace("\\\n", " ").split())
