# SPDX-License-Identifier: Apache-2.0

"""Write reStructuredText, and add directives that return it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import inspect
import re
from typing import TypeAlias

from docutils import nodes
from sphinx import application
from sphinx.util import docutils

Lines: TypeAlias = Callable[..., Iterable[str]]

#: Names of labels, options and fields.
_NAME = re.compile(r"(?<![\w.-])[a-z0-9]+(?:_[a-z0-9]+)+(?![\w.-]*[/=(])")
#: Characters with a meaning; the colon is that of an address.
_SPECIAL = re.compile(r"([\\*`|_:])")


def literal(name: str) -> str:
    """Return a name as it is written."""
    return f"``{name}``"


def text(sentence: str) -> str:
    """Return a sentence in which names stand out and nothing is markup."""
    parts = []
    end = 0
    for match in _NAME.finditer(sentence):
        parts.append(_escaped(sentence[end : match.start()]))
        # Two escaped blanks, which vanish, let it stand beside anything.
        parts.append(rf"\ {literal(match[0])}\ ")
        end = match.end()
    parts.append(_escaped(sentence[end:]))
    return "".join(parts)


def table(
    header: Sequence[str],
    widths: Sequence[int],
    rows: Iterable[Sequence[str]],
) -> Iterator[str]:
    """Yield a table whose cells are reStructuredText already."""
    yield from (".. list-table::", "   :header-rows: 1")
    yield f"   :widths: {' '.join(map(str, widths))}"
    yield ""
    for row in (header, *rows):
        for number, cell in enumerate(row):
            yield f"   {' ' if number else '*'} - {cell}"
    yield ""


def _escaped(sentence: str) -> str:
    return _SPECIAL.sub(r"\\\1", sentence)


class _Generated(docutils.SphinxDirective):
    """A directive whose content is made from the code."""

    lines: Lines

    def run(self) -> list[nodes.Node]:
        """Parse the content where the directive is."""
        # The code may change when the page does not.
        self.env.note_reread()
        lines = type(self).lines(self.env, *self.arguments)
        return self.parse_text_to_nodes(
            "\n".join(lines), allow_section_headings=True
        )


def add_directives(
    app: application.Sphinx, directives: Mapping[str, Lines]
) -> dict[str, bool]:
    """Add directives to Sphinx, and return what its ``setup`` must.

    :param directives: name -> function that returns reStructuredText; it gets
        Sphinx's environment and the arguments of the directive
    """
    for name, lines in directives.items():
        members = {
            "lines": staticmethod(lines),
            "required_arguments": len(inspect.signature(lines).parameters) - 1,
        }
        app.add_directive(name, type(name, (_Generated,), members))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
