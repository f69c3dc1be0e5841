# SPDX-License-Identifier: Apache-2.0

"""What became of each test of a run: a table, and what the failed ones say."""

from collections.abc import Iterable, Mapping
import csv
import dataclasses
import pathlib
import re
from xml.etree import ElementTree

import yaml

#: Tests of ten parts of Kubernetes that end within a minute.
SMOKE = "smoke.yaml"
#: Tests that can't pass here: words of the test -> the reason.
EXPLAINED = "explained.yaml"
_HERE = pathlib.Path(__file__).parent
_MARK = "[Conformance]"
#: Ginkgo's word before a name, and the labels behind it.
_LABELS = re.compile(r"^\[It\] |( \[[^]]*\])+$")
_SHOWN = 600


@dataclasses.dataclass(frozen=True)
class Row:
    """One test.

    :param result: ``passed``, ``failed`` or ``skipped``
    :param message: what a test that failed says
    """

    name: str
    result: str
    seconds: float
    message: str = ""


def smoke() -> list[str]:
    """Return the names of the tests of a short run."""
    return [*yaml.safe_load((_HERE / SMOKE).read_text())]


def explained() -> dict[str, str]:
    """Return the tests that can't pass here, with reasons."""
    return yaml.safe_load((_HERE / EXPLAINED).read_text()) or {}


def read(report: str, wanted: Iterable[str] | None = None) -> list[Row]:
    """Return the conformance tests of a run by name.

    :param report: in JUnit's format, as Ginkgo writes it
    :param wanted: names of the tests that ran; without it, all did
    """
    found = []
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314
        if _MARK not in case.get("name", ""):
            continue
        name = _LABELS.sub("", case.get("name", ""))
        if wanted is not None and name not in {*wanted}:
            continue
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        said = "" if failure is None else failure.get("message", "")
        found.append(
            Row(
                name,
                _result(case.get("status", "")),
                float(case.get("time", 0)),
                " ".join(said.split())[:_SHOWN],
            )
        )
    return sorted(found, key=lambda each: each.name)


def _result(status: str) -> str:
    return status if status in {"passed", "skipped"} else "failed"


def unexplained(rows: Iterable[Row], reasons: Mapping[str, str]) -> list[Row]:
    """Return the tests that failed without a known reason."""
    return [
        each
        for each in rows
        if each.result != "passed" and each.name not in reasons
    ]


def summary(rows: Iterable[Row], reasons: Mapping[str, str]) -> str:
    """Return each test that did not pass with its reason, and counts.

    The counts look like those of stestr, which ``lab test`` adds up.
    """
    rows = [*rows]
    lines = []
    for each in rows:
        if each.result != "passed":
            why = reasons.get(each.name, each.message)
            lines.append(f"{each.result}: {each.name}\n    {why}")
    for word in ("passed", "failed", "skipped"):
        number = sum(each.result == word for each in rows)
        lines.append(f" - {word.title()}: {number}")
    return "\n".join(lines)


def write(rows: Iterable[Row], target: pathlib.Path) -> None:
    """Write the table."""
    with target.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("result", "seconds", "test"))
        table.writerows(
            (each.result, f"{each.seconds:.0f}", each.name) for each in rows
        )
