# SPDX-License-Identifier: Apache-2.0

"""What a build made and no service writes to.

A second lab takes it over, and it stays when everything else is wiped. What
is missing here is built once more.
"""

from collections.abc import Iterator
import pathlib

from lab import layout
from lab import predecessor

FOLDERS = (
    layout.BIN,
    layout.VENV,
    layout.GO_VENV,
    layout.TOX_VENV,
    layout.CRDS,
    layout.HURRIED,
    layout.CHARTS,
    predecessor.FOLDER,
)
#: Those of other steps are about databases.
_STAMPS = ("program-*", "crds", "chart", "tox")


def stamps() -> Iterator[pathlib.Path]:
    """The stamps of the steps that made it."""
    for pattern in _STAMPS:
        yield from layout.STAMPS.glob(pattern)
