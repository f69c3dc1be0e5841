# SPDX-License-Identifier: Apache-2.0

"""Cost curves as a picture. Needs matplotlib: ``bench/requirements.txt``."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib
from typing import Any

from bench import kinds
from bench import medians

_FIGURES = (
    ("requests", "requests to the API server"),
    ("hooks_cpu", "CPU of the driver, seconds"),
    ("hooks_wall", "from the first call to the last answer, seconds"),
)
_ROWS = (
    (kinds.HEALTH, "health tick: clusters"),
    (kinds.STATUS, "status tick: clusters in progress"),
)
_STYLES = {
    kinds.NEW: {"label": "this driver", "color": "#1b6ca8", "marker": "o"},
    kinds.OLD: {"label": "1.4.0", "color": "#c0392b", "marker": "s"},
}


def draw(
    found: Mapping[medians.Case, medians.Cost], target: pathlib.Path
) -> None:
    """Write a PNG with one curve for each driver in each field."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, fields = pyplot.subplots(
        len(_ROWS), len(_FIGURES), figsize=(13, 7.5), layout="constrained"
    )
    for row, (kind, along) in zip(fields, _ROWS, strict=True):
        for field, (key, title) in zip(row, _FIGURES, strict=True):
            for name, style in _STYLES.items():
                _curve(field, found, (kind, name, key), style)
            field.set(xscale="log", yscale="log", xlabel=along, title=title)
            field.grid(which="major", alpha=0.4)
            if field.get_legend_handles_labels()[0]:
                field.legend()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110, metadata={"Software": None})


def _curve(
    field: Any,
    found: Mapping[medians.Case, medians.Cost],
    what: tuple[str, str, str],
    style: dict[str, str],
) -> None:
    kind, name, key = what
    points = sorted(
        (case.size, cost.figures[key])
        for case, cost in found.items()
        if case.kind == kind and case.driver == name and cost.figures[key]
    )
    if points:
        field.plot(*zip(*points, strict=True), **style)
