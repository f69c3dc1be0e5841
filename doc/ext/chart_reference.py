# SPDX-License-Identifier: Apache-2.0

"""The directives of the chart's versions, from the code.

``magnum-chart-versions``: what each version was tested with;
``magnum-chart-traps``: what to know of some versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import markup
from sphinx import application

from magnum_capi_helm.model import versions


def version_table(releases: Iterable[versions.Release]) -> Iterator[str]:
    """A table with a row for versions that were tested with the same."""
    header = (
        "Chart",
        "Cluster API",
        "CAPO",
        "ORC",
        "Addons",
        "Janitor",
        "cert-manager",
        "helm",
        "Kubernetes",
    )
    rows = (
        (
            ", ".join(each.charts),
            each.cluster_api,
            each.provider,
            each.resources or "not needed",
            each.addons,
            each.janitor,
            each.cert_manager,
            each.helm,
            " to ".join(each.kubernetes),
        )
        for each in releases
    )
    return markup.table(header, (18, 10, 10, 10, 10, 10, 12, 8, 12), rows)


def traps(known: Mapping[versions.Range, str]) -> Iterator[str]:
    """A table: versions, and what is peculiar to them."""
    rows = (
        (_range(charts), f"{markup.text(text)}.")
        for charts, text in known.items()
    )
    return markup.table(("Chart", "It"), (25, 75), rows)


def _range(charts: versions.Range) -> str:
    """A range of one version is that version."""
    return charts.since if charts.since == charts.until else str(charts)


class ChartVersions(markup.Generated):
    """``.. magnum-chart-versions::``"""

    def lines(self) -> Iterator[str]:
        """The table of what was tested together."""
        return version_table(versions.tested_releases())


class ChartTraps(markup.Generated):
    """``.. magnum-chart-traps::``"""

    def lines(self) -> Iterator[str]:
        """The table of peculiarities."""
        return traps(versions.TRAPS)


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-chart-versions", ChartVersions)
    app.add_directive("magnum-chart-traps", ChartTraps)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
