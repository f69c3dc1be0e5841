# SPDX-License-Identifier: Apache-2.0

"""Plain texts of the code as reStructuredText."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import re

from docutils import nodes
from sphinx.util import docutils

#: Names of labels, options and fields.
_NAME = re.compile(r"(?<![\w.-])[a-z0-9]+(?:_[a-z0-9]+)+(?![\w.-]*[/=(])")
#: What would mean something; the colon is that of an address.
_SPECIAL = re.compile(r"([\\*`|_:])")


def literal(name: str) -> str:
    """A name as it is written."""
    return f"``{name}``"


def text(sentence: str) -> str:
    """A sentence in which names stand out and nothing else is markup."""
    found = []
    end = 0
    for match in _NAME.finditer(sentence):
        found.append(_escaped(sentence[end : match.start()]))
        # Two escaped blanks, which vanish, let it stand beside anything.
        found.append(rf"\ {literal(match[0])}\ ")
        end = match.end()
    found.append(_escaped(sentence[end:]))
    return "".join(found)


def table(
    header: Sequence[str],
    widths: Sequence[int],
    rows: Iterable[Sequence[str]],
) -> Iterator[str]:
    """A table whose cells are reStructuredText already."""
    yield from (".. list-table::", "   :header-rows: 1")
    yield f"   :widths: {' '.join(map(str, widths))}"
    yield ""
    for row in (header, *rows):
        for number, cell in enumerate(row):
            yield f"   {' ' if number else '*'} - {cell}"
    yield ""


def _escaped(sentence: str) -> str:
    return _SPECIAL.sub(r"\\\1", sentence)


class Generated(docutils.SphinxDirective):
    """A directive whose content is made from the code."""

    def lines(self) -> Iterator[str]:
        """The content as reStructuredText."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """The content, parsed where the directive is."""
        # The code may change when the page does not.
        self.env.note_reread()
        return self.parse_text_to_nodes(
            "\n".join(self.lines()), allow_section_headings=True
        )
