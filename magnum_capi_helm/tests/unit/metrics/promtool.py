# SPDX-License-Identifier: Apache-2.0

"""Asks promtool, where there is one, and Prometheus' own parser, always."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from typing import Any

from prometheus_client import parser

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
