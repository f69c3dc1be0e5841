# SPDX-License-Identifier: Apache-2.0

"""Expressions of alerts and dashboard: asks promtool and the own parser."""

from __future__ import annotations

from collections.abc import Iterator
import json
import pathlib
import re
import shutil
import subprocess
from typing import Any

from prometheus_client import parser

from magnum_capi_helm import metrics

_TIMEOUT = 60

#: As a parser finds a metric: its name, and its samples as text.
Found = dict[str, list[str]]


def run(case: Any, *arguments: str, text: str = "") -> str:
    """Run promtool; what it says. It must be content."""
    program = shutil.which("promtool") or ""
    if not program:
        case.skipTest(
            "no promtool on the PATH: it is in Debian's package prometheus"
        )
    done = subprocess.run(
        [program, *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    said: str = done.stdout + done.stderr
    case.assertEqual(0, done.returncode, said)
    return said


def parsed(text: str) -> Found:
    """What Prometheus' parser makes of metrics: the samples of each."""
    return {
        family.name: [
            f"{each.name}{each.labels} {each.value}" for each in family.samples
        ]
        for family in parser.text_string_to_metric_families(text)
    }


def root() -> pathlib.Path:
    """The checkout that these tests are in."""
    return pathlib.Path(__file__).parents[4]


PATH = root() / "etc" / "grafana" / "magnum-capi-helm.json"
#: Prometheus adds this label to each series.
_OF_PROMETHEUS = {"instance"}
_NAME = re.compile(r"\bmagnum_capi_helm_\w+")
_SELECTOR = re.compile(r"\{([^{}]*)\}")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|on|group_left)\s*\(([^()]*)\)")
_LEGEND = re.compile(r"\{\{(\w+)\}\}")


def content() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(PATH.read_text())
    return result


def panels() -> list[dict[str, Any]]:
    """Return the panels that show something; rows are headings."""
    return [each for each in content()["panels"] if each["type"] != "row"]


def targets() -> Iterator[tuple[str, str]]:
    """Yield expression and legend of each query."""
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"], target.get("legendFormat", "")


def declared() -> dict[str, set[str]]:
    """Return the labels of each series that the driver exports."""
    return {
        f"{each.name}{suffix}": set(each.labels)
        for each in (*metrics.OF_CLOUD, *metrics.OF_PROCESS)
        for suffix in (("_sum", "_count") if each.summary else ("",))
    }


def unknown_names(expression: str) -> set[str]:
    """Return the metrics that the driver does not export."""
    return set(_NAME.findall(expression)) - declared().keys()


def unknown_labels(expression: str, legend: str = "") -> set[str]:
    """Return the labels that no metric of the expression has."""
    series = declared()
    allowed = set(_OF_PROMETHEUS)
    for name in _NAME.findall(expression):
        allowed |= series.get(name, set())
    used = set(_LEGEND.findall(legend))
    for selector in _SELECTOR.findall(expression):
        used |= set(_MATCHER.findall(selector))
    for group in _GROUPING.findall(expression):
        used |= {each.strip() for each in group.split(",")}
    return used - allowed
