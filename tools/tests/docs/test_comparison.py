# SPDX-License-Identifier: Apache-2.0

"""The comparison with other drivers names real labels and real tests."""

from __future__ import annotations

from collections.abc import Iterator
import csv
import json
import pathlib
import re

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.features import rows

_ROOT = pathlib.Path(__file__).parents[3]
_TABLE = _ROOT / "doc" / "source" / "reference" / "comparison.csv"
_TESTS = _ROOT / "magnum_capi_helm" / "tests"
#: Feature without a label -> its test, below ``magnum_capi_helm/tests``.
_TESTED: dict[str, str] = json.loads(
    (_TESTS / "data" / "comparison.json").read_text("utf-8")
)
_COLUMNS = ["Feature", "V", "M", "H", "Here", "Notes"]
_OTHERS = ("V", "M", "H")
_VALUES = ("yes", "partly", "no")
_OPTION = re.compile(r"``\[capi_helm\] (\w+)``")
_LABEL = re.compile(r"``([a-z0-9]+(?:_[a-z0-9]+)+)``")
_LABELS = frozenset(label.name for label in features.LABELS)
_OPTIONS = frozenset(
    option.name for _, options in conf.list_opts() for option in options
)


def _problems(row: dict[str, str]) -> Iterator[str]:
    """Yield the faults of a row."""
    values = [row[column] for column in (*_OTHERS, "Here")]
    if not set(values) <= set(_VALUES):
        yield f"values {values}"
    behind = row["Here"] != "yes" and "yes" in values
    if behind and not row["Notes"]:
        yield "no reason"
    for label in set(_LABEL.findall(row["Notes"])) - _LABELS:
        yield f"label {label}"
    for option in set(_OPTION.findall(row["Notes"])) - _OPTIONS:
        yield f"option {option}"


def _table() -> list[dict[str, str]]:
    """Return the rows with values, without those that begin a topic."""
    with _TABLE.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines, strict=True)
        found = list(reader)
    if reader.fieldnames != _COLUMNS:
        raise ValueError(f"columns {reader.fieldnames}")
    return [row for row in found if not row["Feature"].startswith("**")]


class RowTest(base.BaseTestCase):
    def test_faults_of_a_row(self) -> None:
        cases: tuple[tuple[tuple[str, ...], list[str]], ...] = (
            (("no", "no", "no", "yes", ""), []),
            (("yes", "no", "no", "partly", "charts have none"), []),
            (("no", "partly", "no", "no", ""), []),
            (("no", "yes", "no", "no", ""), ["no reason"]),
            (
                ("Y", "no", "no", "yes", ""),
                ["values ['Y', 'no', 'no', 'yes']"],
            ),
            (("no", "no", "no", "yes", "``pods_cidr``"), []),
            (("no", "no", "no", "yes", "``pods_cird``"), ["label pods_cird"]),
            (("no", "no", "no", "yes", "``[capi_helm] cleanup``"), []),
            (
                ("no", "no", "no", "yes", "``[capi_helm] tidy_up``"),
                ["option tidy_up"],
            ),
        )
        for cells, expected in cases:
            row = dict(zip(_COLUMNS, ("Feature", *cells), strict=True))
            self.assertEqual(expected, list(_problems(row)), str(cells))


class ComparisonTest(base.BaseTestCase):
    def test_no_row_has_a_fault(self) -> None:
        faults = {
            row["Feature"]: problems
            for row in _table()
            if (problems := list(_problems(row)))
        }
        self.assertEqual({}, faults)

    def test_each_feature_is_there_once(self) -> None:
        names = [row["Feature"] for row in _table()]
        self.assertGreater(len(names), 100)
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_each_yes_has_a_test(self) -> None:
        """A label has a row in ``features/rows.py``; others have a file."""
        tested = rows.CHANGES
        without_label = [
            row["Feature"]
            for row in _table()
            if row["Here"] == "yes"
            and not set(_LABEL.findall(row["Notes"])) & set(tested)
        ]
        self.assertEqual(sorted(without_label), sorted(_TESTED))
        missing = [
            path for path in _TESTED.values() if not (_TESTS / path).exists()
        ]
        self.assertEqual([], missing)
