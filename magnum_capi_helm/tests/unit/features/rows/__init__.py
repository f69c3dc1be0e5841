# SPDX-License-Identifier: Apache-2.0

"""Values of labels to test with, a module for each topic.

``CHANGES``: label -> (a value that is not its default, other labels that it
needs, or the template's ``network_driver``); ``REFUSED``: label -> a value
that no user may give; ``ANY_TEXT``: the labels that take any text.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def merged(table: str) -> dict[str, Any]:
    """That table of all topics; a label has one row."""
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(__path__):
        rows = getattr(
            importlib.import_module(f"{__name__}.{module.name}"), table, {}
        )
        assert not set(rows) & set(found), f"two rows: {module.name}"
        found.update(rows)
    return found
