# SPDX-License-Identifier: Apache-2.0

"""The table of the conditions, and what the driver says of each.

``python3 -m tools.condition_table`` writes
``doc/source/evidence/condition-types.inc``. It sets each condition of
``tests/data/condition-types.yaml`` to its bad status on the objects of a
cluster, and shows the most prominent text with the condition's message.
"""

from __future__ import annotations

from collections.abc import Iterator
import itertools
from typing import Any

from magnum_capi_helm.tests.unit.status import condition_types
from tools import archives

PAGE = archives.CHECKOUT.joinpath(
    "doc", "source", "evidence", "condition-types.inc"
)
_HEAD = """\
.. Written by "python3 -m tools.condition_table".

{summary}

.. list-table::
   :header-rows: 1
   :widths: 18 20 14 48

"""


def text() -> str:
    """Return the table, as reStructuredText."""
    rows = [_row("Kind", "Type", "Releases", "The driver says")]
    releases = _releases()
    types = sorted(condition_types.types())
    for (kind, name), each in itertools.groupby(types, lambda e: e[:2]):
        said = _said(list(each))
        rows.append(_row(kind, name, releases[kind, name], said))
    summary = _summary(len(rows) - 1)
    rows += _phases()
    return _HEAD.format(summary=summary) + "\n".join([*rows, ""])


def _summary(count: int) -> str:
    types = condition_types.types()
    left_out = {each.name for each in types if each.left_out}
    return (
        f"Types of condition: {count}. The driver reads "
        f"{count - len(left_out)} of them. MESSAGE is the condition's."
    )


def _releases() -> dict[tuple[str, str], str]:
    """Return the releases that have a type, as the file has them."""
    found: dict[tuple[str, str], list[str]] = {}
    file: Any = condition_types.file()
    for part in (file, file["by_hand"]):
        for kinds in part["components"].values():
            for kind, named in kinds.items():
                for name, known in named.items():
                    releases = known["releases"]
                    found.setdefault((kind, name), []).append(releases)
    return {name: ", ".join(each) for name, each in found.items()}


def _said(sets: list[condition_types.Type]) -> str:
    """Return what the driver says of a type; the sets differ only in time."""
    if reason := sets[0].left_out:
        return f"nothing: {reason}"
    for each in reversed(sets):
        if said := condition_types.first_text(each):
            said = said.replace(condition_types.MESSAGE, "MESSAGE")
            return f"``{said}``"
    return condition_types.WITHOUT_MESSAGE[sets[0].name]


def _phases() -> Iterator[str]:
    for phase in condition_types.file()["addons"]["phases"]:
        said = "nothing" if phase == "Deployed" else f"``addon NAME: {phase}``"
        yield _row("HelmRelease, Manifests", f"phase {phase}", "all", said)


def _row(*cells: str) -> str:
    lines: Iterator[str] = (
        f"   {'  ' if number else '* '}- {cell}"
        for number, cell in enumerate(cells)
    )
    return "\n".join(lines)


def main() -> None:
    """Write the table."""
    PAGE.write_text(text())


if __name__ == "__main__":
    main()
