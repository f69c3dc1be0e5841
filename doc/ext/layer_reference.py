# SPDX-License-Identifier: Apache-2.0

"""The directive ``magnum-layers``: which folder may import which.

A page that has it is about all folders: one that it does not name elsewhere is
a warning, and warnings fail the build.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import pathlib
import textwrap

import markup
from sphinx import application
from sphinx.util import logging

from magnum_capi_helm.tests import folders

LOG = logging.getLogger(__name__)


def listed(table: Sequence[Iterable[str]]) -> Iterator[str]:
    """The layers as a literal block, the uppermost first."""
    yield from ("::", "")
    for layer in table:
        members = ", ".join(sorted(layer))
        yield from textwrap.wrap(
            members,
            75,
            initial_indent="   ",
            subsequent_indent="     ",
            break_long_words=False,
        )
    yield ""


def unnamed(table: Iterable[Iterable[str]], page: str) -> list[str]:
    """Return the folders and modules that a page does not name."""
    names = (name for layer in table for name in layer)
    return sorted(name for name in names if markup.literal(name) not in page)


class Layers(markup.Generated):
    """``.. magnum-layers::``"""

    def lines(self) -> Iterator[str]:
        """The list of layers."""
        page = pathlib.Path(self.env.doc2path(self.env.docname)).read_text()
        for name in unnamed(folders.LAYERS, page):
            LOG.warning("no word on %s", name, location=self.env.docname)
        return listed(folders.LAYERS)


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-layers", Layers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
