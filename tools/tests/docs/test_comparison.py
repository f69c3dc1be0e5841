# SPDX-License-Identifier: Apache-2.0

"""The comparison with other drivers names real labels and real tests."""

from __future__ import annotations

from collections.abc import Iterator
import csv
import json
import re

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.features import rows
from tools import archives

_TABLE = archives.CHECKOUT / "doc" / "source" / "reference" / "comparison.csv"
_TESTS = archives.CHECKOUT / archives.PACKAGE / "tests"
#: Feature without a label -> its test, below ``magnum_capi_helm/tests``.
_TESTED: dict[str, str] = json.loads(
    (_TESTS / "data" / "comparison.json").read_text("utf-8")
)
_COLUMNS = ["Feature", "V", "M", "H", "Here", "Notes"]
_VALUES = {"yes", "partly", "no"}
_OPTION = re.compile(r"``\[capi_helm\] (\w+)``")
_LABEL = re.compile(r"``([a-z0-9]+(?:_[a-z0-9]+)+)``")
_LABELS = {label.name for label in features.LABELS}
_OPTIONS = {each.name for _, group in conf.list_opts() for each in group}


def _problems(row: dict[str, str]) -> Iterator[str]:
    """Yield the faults of a row."""
    values = [row[column] for column in _COLUMNS[1:-1]]
    if not set(values) <= _VALUES:
        yield f"values {values}"
    if row["Here"] != "yes" and "yes" in values and not row["Notes"]:
        yield "no reason"
    for label in set(_LABEL.findall(row["Notes"])) - _LABELS:
        yield f"label {label}"
    for option in set(_OPTION.findall(row["Notes"])) - _OPTIONS:
        yield f"option {option}"


class ComparisonTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        with _TABLE.open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines, strict=True)
            # Others begin a topic.
            self.rows = [
                row for row in reader if not row["Feature"].startswith("**")
            ]
        self.assertEqual(_COLUMNS, reader.fieldnames)

    def test_no_row_has_a_fault(self) -> None:
        faults = {
            row["Feature"]: problems
            for row in self.rows
            if (problems := list(_problems(row)))
        }
        self.assertEqual({}, faults)

    def test_each_feature_is_there_once(self) -> None:
        names = [row["Feature"] for row in self.rows]
        self.assertGreater(len(names), 100)
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_each_yes_has_a_test(self) -> None:
        """A label has a row in ``features/rows.py``; others have a file."""
        without_label = [
            row["Feature"]
            for row in self.rows
            if row["Here"] == "yes"
            and not set(_LABEL.findall(row["Notes"])) & set(rows.CHANGES)
        ]
        self.assertEqual(sorted(without_label), sorted(_TESTED))
        missing = [
            path for path in _TESTED.values() if not (_TESTS / path).exists()
        ]
        self.assertEqual([], missing)
