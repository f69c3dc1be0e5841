# SPDX-License-Identifier: Apache-2.0
"""Draw the dashboard from Prometheus' answers, in the places of Grafana.

Needs matplotlib: ``bench/requirements.txt``.
"""

from __future__ import annotations

import pathlib
import time
from typing import Any

from lab.drills import prometheus
from magnum_capi_helm.tests.unit.metrics import dashboard

#: Columns of Grafana's grid, and the inches of a cell's sides.
_COLUMNS, _WIDE, _HIGH = 24, 0.58, 0.36
_HIDDEN = {"__name__", "instance", "job", "uuid", "project_id"}
_GREEN, _RED = "#37872d", "#c4162a"


def draw(
    source: prometheus.Prometheus, seconds: float, target: pathlib.Path
) -> None:
    """Write a PNG with all panels.

    :param seconds: time of the curves until now
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    places = [each["gridPos"] for each in dashboard.content()["panels"]]
    rows = max(place["y"] + place["h"] for place in places)
    size = (_COLUMNS * _WIDE, rows * _HIGH)
    figure = pyplot.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(rows, _COLUMNS)
    for panel in dashboard.content()["panels"]:
        place = panel["gridPos"]
        top, left = place["y"], place["x"]
        field = figure.add_subplot(
            grid[top : top + place["h"], left : left + place["w"]]
        )
        heading = panel["type"] == "row"
        field.set_title(
            panel["title"], loc="left", fontsize=12 if heading else 9
        )
        _WAYS[panel["type"]](field, panel, source, seconds)
    figure.savefig(target, dpi=80, metadata={"Software": None})
    pyplot.close(figure)


def _row(field: Any, *_: Any) -> None:
    field.set_axis_off()


def _stat(
    field: Any, panel: Any, source: prometheus.Prometheus, _: float
) -> None:
    """Print the number, in the colour of its threshold."""
    field.set(xticks=[], yticks=[])
    values = [each for _, each in _answers(panel, source)]
    defaults = panel["fieldConfig"]["defaults"]
    texts = {
        int(value): option["text"]
        for mapping in defaults.get("mappings", ())
        for value, option in mapping["options"].items()
    }
    for value in values[:1]:
        steps = defaults["thresholds"]["steps"]
        reached = [e for e in steps if (e["value"] or 0) <= value]
        field.text(
            *(0.5, 0.5, texts.get(int(value), f"{value:g}")),
            color=_RED if reached[-1]["color"] == "red" else _GREEN,
            fontsize=28,
            ha="center",
            va="center",
        )


def _table(
    field: Any, panel: Any, source: prometheus.Prometheus, _: float
) -> None:
    field.set(xticks=[], yticks=[])
    lines = [
        "   ".join(v for k, v in sorted(labels.items()) if k not in _HIDDEN)
        for labels, _ in _answers(panel, source)
    ]
    text = "\n".join(lines) or "No data"
    field.text(0.04, 0.85, text, fontsize=8, va="top")


def _bars(
    field: Any, panel: Any, source: prometheus.Prometheus, _: float
) -> None:
    answers = _answers(panel, source)
    names = [" ".join(labels.values()) for labels, _ in answers]
    bars = field.barh(names, [v for _, v in answers], color=_GREEN)
    field.bar_label(bars, fontsize=8)
    field.tick_params(labelsize=7)


def _curves(
    field: Any, panel: Any, source: prometheus.Prometheus, seconds: float
) -> None:
    now = time.time()
    for target in panel["targets"]:
        for each in source.history(target["expr"], now - seconds, now):
            labels = {**each["metric"], "process": ""}
            name = target["legendFormat"]
            for label, value in labels.items():
                name = name.replace(f"{{{{{label}}}}}", value)
            times, values = zip(*each["values"], strict=True)
            minutes = [(t - now + seconds) / 60 for t in times]
            field.plot(minutes, list(map(float, values)), label=_plain(name))
    field.tick_params(labelsize=7)
    field.set_ylim(bottom=0)
    if field.get_legend_handles_labels()[0]:
        field.legend(fontsize=7, loc="upper left")


def _plain(name: str) -> str:
    return " ".join(e for e in name.split() if "{{" not in e) or "all"


def _answers(
    panel: Any, source: prometheus.Prometheus
) -> list[tuple[dict[str, str], float]]:
    """Return labels and value of each series of a panel."""
    found = source.query(panel["targets"][0]["expr"])
    return [(each["metric"], float(each["value"][1])) for each in found]


_WAYS = {
    "row": _row,
    "stat": _stat,
    "table": _table,
    "bargauge": _bars,
    "timeseries": _curves,
}
