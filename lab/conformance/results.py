# SPDX-License-Identifier: Apache-2.0

"""How each test of a run ended, and the words of those that failed."""

from collections.abc import Iterable
import dataclasses
import pathlib
import re
from xml.etree import ElementTree

import yaml

#: Tests of ten parts of Kubernetes that end within a minute.
SMOKE = pathlib.Path(__file__).with_name("smoke.yaml")
#: Ginkgo's word before a name, and the labels behind it.
_LABELS = re.compile(r"^\[It\] |( \[[^]]*\])+$")
_SHOWN = 600


@dataclasses.dataclass(frozen=True)
class Row:
    """One test.

    :param message: of a test that failed
    """

    name: str
    passed: bool
    message: str = ""


def wanted() -> list[str]:
    """Return the names of the tests."""
    return [*yaml.safe_load(SMOKE.read_text())]


def read(report: str, names: Iterable[str]) -> list[Row]:
    """Return the tests of a run by name.

    :param report: in JUnit's format, as Ginkgo writes it
    :param names: of the tests that ran; the report has all others as well
    """
    names, found = {*names}, []
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314
        name = _LABELS.sub("", case.get("name", ""))
        if name in names:
            said = [case.find("failure"), case.find("error")]
            text = " ".join(
                e.get("message", "") for e in said if e is not None
            )
            passed = case.get("status") == "passed"
            found.append(Row(name, passed, " ".join(text.split())[:_SHOWN]))
    return sorted(found, key=lambda each: each.name)


def summary(rows: Iterable[Row]) -> str:
    """Return each test that did not pass, and counts.

    The counts look like those of stestr, which ``lab test`` adds up.
    """
    rows = [*rows]
    bad = [each for each in rows if not each.passed]
    lines = [f"failed: {each.name}\n    {each.message}" for each in bad]
    lines.append(f" - Passed: {len(rows) - len(bad)}")
    lines.append(f" - Failed: {len(bad)}")
    return "\n".join(lines)
