# SPDX-License-Identifier: Apache-2.0

"""The tables of metrics, from their declarations.

``magnum-metrics:: cloud``: those of the command; ``magnum-metrics::
process``: those of conductors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import markup
from sphinx import application

from magnum_capi_helm import metrics as declarations

_TABLES = {"cloud": declarations.OF_CLOUD, "process": declarations.OF_PROCESS}


def metrics(declared: Iterable[declarations.Metric]) -> Iterator[str]:
    """A table: a metric with its labels, and what it is."""
    rows = (
        (_name(each), markup.text(each.help) + _parts(each))
        for each in declared
    )
    return markup.table(("Metric", "It is"), (50, 50), rows)


def _name(family: declarations.Metric) -> str:
    """The line may break anywhere between the labels."""
    labels = ", ".join(map(markup.literal, family.labels))
    return f"{markup.literal(family.name)} {labels}"


def _parts(family: declarations.Metric) -> str:
    if not family.summary:
        return ""
    return " ``_sum`` has the seconds, ``_count`` how many there were."


class Metrics(markup.Generated):
    """``.. magnum-metrics:: cloud``"""

    required_arguments = 1

    def lines(self) -> Iterator[str]:
        """The table of one of them."""
        return metrics(_TABLES[self.arguments[0]])


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-metrics", Metrics)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
