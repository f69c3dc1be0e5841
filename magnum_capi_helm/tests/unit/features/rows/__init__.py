# SPDX-License-Identifier: Apache-2.0

"""Values of labels to test with, a module for each topic.

``CHANGES``: label -> (a value that is not its default, other labels that it
needs, or the template's ``network_driver``); ``REFUSED``: label -> a value
that no user may give; ``ANY_TEXT``: the labels that take any text.
"""

from __future__ import annotations

from collections.abc import Iterator
import importlib
import pkgutil
from typing import Any


def tables(table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each module that has that table, and the table."""
    for module in pkgutil.iter_modules(__path__):
        found = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(found, table):
            yield module.name, getattr(found, table)


def merged(table: str) -> dict[str, Any]:
    """Return that table of all topics; a label has one row."""
    found: dict[str, Any] = {}
    for name, rows in tables(table):
        assert not set(rows) & set(found), f"two rows: {name}"
        found.update(rows)
    return found
