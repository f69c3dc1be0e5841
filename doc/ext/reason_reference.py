# SPDX-License-Identifier: Apache-2.0

"""``magnum-reasons``: what OpenStack refuses, as a tenant reads it.

A row for each text that the code knows, so that the page can't be behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import re

import markup
from sphinx import application

from magnum_capi_helm.status import messages

#: Fields side by side stand for each other.
_FIELDS = re.compile(r"(?:\{\w+\})+")
_FIELD = re.compile(r"\{(\w+)\}")


def reasons(sayings: Iterable[messages.KnownMessage]) -> Iterator[str]:
    """A table: the reason, and what to do."""
    rows = (
        (_shown(each.fact), markup.text(each.advice.replace("`", "")))
        for each in sayings
    )
    return markup.table(("Reason", "What to do"), (45, 55), rows)


def _shown(fact: str) -> str:
    return markup.text(
        _FIELDS.sub(lambda found: _FIELD.search(found[0])[1].upper(), fact)
    )


class Reasons(markup.Generated):
    """``.. magnum-reasons::``"""

    def lines(self) -> Iterator[str]:
        """The table of all known texts."""
        return reasons(messages.KNOWN_MESSAGES)


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-reasons", Reasons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
