# SPDX-License-Identifier: Apache-2.0

"""``magnum-compatibility``: what was run with which versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import pathlib
import sys
from typing import Any

import markup
from sphinx import application

# The checkout: what is read here is no part of the driver.
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tools import compatibility


def rows(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row for each environment."""
    for each in lines:
        packages = dict(each["packages"])
        magnum = packages.pop("magnum", "-")
        others = [f"{name} {number}" for name, number in packages.items()]
        if "cluster_api" in each:
            others.insert(0, f"Cluster API {each['cluster_api']}")
        if "helm" in each:
            others.insert(0, f"helm {each['helm']}")
        yield (
            magnum,
            each["python"],
            ", ".join(others),
            str(each.get("passed", 0)),
            str(each.get("failed", 0)),
            str(each.get("skipped", 0)),
            f"{markup.literal(each['environment'])}, {each['date']}",
        )


class Compatibility(markup.Generated):
    """``.. magnum-compatibility::``"""

    def lines(self) -> Iterator[str]:
        """The table of the newest run of each environment."""
        self.env.note_dependency(str(compatibility.RECORD))
        found = compatibility.newest(compatibility.RECORD.read_text())
        if not found:
            return iter(["Nothing was recorded yet."])
        header = (
            "Magnum",
            "Python",
            "Also",
            "Passed",
            "Failed",
            "Skipped",
            "Run",
        )
        return markup.table(header, (9, 9, 36, 8, 8, 8, 22), rows(found))


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-compatibility", Compatibility)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
